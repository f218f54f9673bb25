package hotspot

import "encoding/binary"

// A Lock is what a thread waits for: a monitor, or an object of java.util.concurrent.
type Lock struct {
	Class  string  // of the object; "" if it cannot be read
	Holder *Thread // that has it; nil if there is none, or none that is known
}

// A claim is how a thread is known as the holder of monitors.
type claim struct {
	id          uint64   // since JDK 24: of the thread, or of the virtual thread that it runs
	begin, size uint64   // of its stack: before, a monitor may refer to a place there
	fast        []uint64 // objects that it has locked without a monitor of the JVM
}

// mostFast bounds the objects that HotSpot remembers for a thread.
const mostFast = 8

// claim reads how a thread is known as a holder.
func (l *layout) claim(r record) (c claim) {
	c.id = r.u(l.threadMonitorID)
	c.size = r.u(l.threadStackSize)
	c.begin = r.u(l.threadStackBase) - c.size
	if l.threadLocks == nil || l.locksTop == nil || l.locksBase == nil {
		return c
	}
	at, base := l.threadLocks.offset, l.threadLocks.offset+l.locksBase.offset
	if at+l.locksTop.offset+4 > uint64(len(r)) {
		return c
	}
	top := uint64(binary.LittleEndian.Uint32(r[at+l.locksTop.offset:]))
	for ; base+8 <= min(top, uint64(len(r))) && len(c.fast) < mostFast; base += 8 {
		c.fast = append(c.fast, binary.LittleEndian.Uint64(r[base:]))
	}
	return c
}

// Values of the owner of a monitor that are no threads.
const (
	noOwner        = 0
	anonymousOwner = 1 // a thread that has locked the object without a monitor of the JVM
)

// LockOf returns what a thread waits for. The holder is looked for among the given threads. The caller must know that
// the thread has not run since it was read.
func (w *Walker) LockOf(t *Thread, threads []Thread) Lock {
	if t.pending != 0 {
		return w.monitor(t.pending, threads)
	}
	o := &w.objects
	if !o.usable || o.blocker == 0 {
		return Lock{}
	}
	thread := o.deref(t.object)
	blocker := o.reference(thread + o.blocker)
	class := o.class(blocker)
	if class == 0 {
		return Lock{}
	}
	lock := Lock{Class: o.className(class)}
	owner := uint64(0)
	if at := o.field(class, "exclusiveOwnerThread"); at != 0 {
		owner = o.reference(blocker + at)
	}
	// If the collector has moved something meanwhile, all of it is in doubt.
	if o.deref(t.object) != thread || o.reference(thread+o.blocker) != blocker || o.class(blocker) != class {
		return Lock{}
	}
	for i := range threads {
		if owner != 0 && threads[i].object != 0 && o.deref(threads[i].object) == owner {
			lock.Holder = &threads[i]
		}
	}
	return lock
}

// monitor returns a lock that is a monitor of the JVM.
func (w *Walker) monitor(at uint64, threads []Thread) (lock Lock) {
	l, o := w.layout, &w.objects
	if l.monitorOwner == nil || l.monitorObject == nil {
		return lock
	}
	owner, _ := w.memory.u64(at + l.monitorOwner.offset)
	object := uint64(0)
	if o.usable {
		handle, _ := w.memory.u64(at + l.monitorObject.offset)
		object = o.deref(handle)
		class := o.class(object)
		lock.Class = o.className(class)
		if o.deref(handle) != object || o.class(object) != class {
			lock.Class, object = "", 0
		}
	}
	if owner == noOwner {
		return lock
	}
	for i := range threads {
		t := &threads[i]
		is := false
		switch {
		case owner == anonymousOwner:
			for _, locked := range t.claim.fast {
				is = is || object != 0 && locked == object
			}
		case l.threadMonitorID != nil:
			is = t.claim.id == owner
		default:
			is = owner == t.address || owner-t.claim.begin < t.claim.size
		}
		if is {
			lock.Holder = t
			return lock
		}
	}
	return lock
}

// deref returns the object that a thread or a monitor refers to, by itself or by a handle.
func (o *objects) deref(reference uint64) uint64 {
	if o.direct {
		return reference
	}
	object, _ := o.memory.u64(reference)
	return object
}

// class returns the address of an object's class; 0 if it cannot be read.
func (o *objects) class(object uint64) uint64 {
	if object == 0 {
		return 0
	}
	var narrow uint64
	switch {
	case o.compact:
		mark, _ := o.memory.u64(object)
		narrow = mark >> compactShift
	case o.narrow:
		n, _ := o.memory.u32(object + 8)
		narrow = uint64(n)
	default:
		class, _ := o.memory.u64(object + 8)
		return class
	}
	if narrow == 0 {
		return 0
	}
	return o.classBase + narrow<<o.classShift
}

// compactShift is where the class begins in the only word of a compact header.
const compactShift = 42

// className returns the name of a class; "" if it cannot be read.
func (o *objects) className(class uint64) string {
	if class == 0 {
		return ""
	}
	r := reading{memory: o.memory, layout: o.layout}
	name := r.symbol(r.field(class, o.layout.klassName))
	if r.failed {
		return ""
	}
	return name
}

// mostSupers bounds the classes above a class.
const mostSupers = 64

// field returns the offset of a field of a class or a class above it; 0 if there is none.
func (o *objects) field(class uint64, name string) uint64 {
	for range mostSupers {
		if class == 0 || o.layout.klassSuper == nil {
			break
		}
		fields, known := o.fieldsOf[class]
		if !known {
			fields = o.fields(class)
			if o.fieldsOf == nil || len(o.fieldsOf) > mostFields {
				o.fieldsOf = map[uint64]map[string]uint64{}
			}
			o.fieldsOf[class] = fields
		}
		if at := fields[name]; at != 0 {
			return at
		}
		class, _ = o.memory.u64(class + o.layout.klassSuper.offset)
	}
	return 0
}
