package hotspot

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// A Thread is a Java thread, as the JVM describes it.
type Thread struct {
	ID     int    // in the JVM's PID namespace
	Name   string // "" if it cannot be read
	JavaID int64  // 0 if it cannot be read
	// Allocated is how many bytes of objects it has allocated; 0 if the JVM does not publish that.
	Allocated uint64

	address uint64
	object  uint64 // its object, or the handle of it
	pending uint64 // the monitor that it waits to enter
	claim   claim
	anchor  anchor
}

// A ThreadKey distinguishes a thread from those that had its number before.
type ThreadKey struct {
	id      int
	java    int64
	address uint64
}

// Key returns what distinguishes the thread.
func (t *Thread) Key() ThreadKey { return ThreadKey{t.ID, t.JavaID, t.address} }

// IsContended reports whether the thread waits to enter a monitor.
func (t *Thread) IsContended() bool { return t.pending != 0 }

// An anchor says where the Java frames of a thread begin that is not in Java code. It is zero while
// the thread is.
type anchor struct{ sp, fp, pc uint64 }

const mostThreads = 50_000

// Threads lists the Java threads. The list is not a snapshot: threads come and go meanwhile.
func (w *Walker) Threads() (all []Thread) {
	l := w.layout
	w.rounds.pass++          // for WalkWaiting
	w.objects.fieldsOf = nil // classes may be unloaded
	if l.threads == nil {
		if l.threadList == nil || l.threadNext == nil {
			return nil
		}
		next, _ := w.memory.u64(l.threadList.address)
		seen := map[uint64]bool{}
		for len(all) < mostThreads && next != 0 && !seen[next] {
			seen[next] = true
			t, r := w.thread(next)
			if r == nil {
				break
			}
			all = append(all, t)
			next = r.u(l.threadNext)
		}
		return all
	}
	if l.threadsLength == nil || l.threadsEntries == nil {
		return nil
	}
	list, _ := w.memory.u64(l.threads.address)
	length, _ := w.memory.u32(list + l.threadsLength.offset)
	entries, ok := w.memory.u64(list + l.threadsEntries.offset)
	if !ok || length > mostThreads {
		return nil
	}
	addresses := w.memory.bytes(entries, int(length)*8)
	for ; len(addresses) >= 8; addresses = addresses[8:] {
		if t, r := w.thread(binary.LittleEndian.Uint64(addresses)); r != nil {
			all = append(all, t)
		}
	}
	return all
}

// thread reads one thread; nil if it cannot.
func (w *Walker) thread(address uint64) (Thread, record) {
	l := w.layout
	r := record(w.memory.bytes(address, int(l.sizeOfThread)))
	if r == nil {
		return Thread{}, nil
	}
	id, ok := w.memory.u32(r.u(l.threadOS) + l.osID.offset)
	if !ok || id == 0 {
		return Thread{}, nil
	}
	t := Thread{
		ID: int(id), address: address, object: r.u(l.threadObject), pending: r.u(l.threadPending), claim: l.claim(r),
	}
	t.Allocated = l.allocated(r)
	at := l.threadAnchor.offset
	if at+24 <= uint64(len(r)) {
		t.anchor.sp = r[at:].u(l.anchorSP)
		t.anchor.pc = r[at:].u(l.anchorPC)
		t.anchor.fp = r[at:].u(l.anchorFP)
	}
	w.objects.describe(&t, t.object)
	return t, r
}

// mostBuffered bounds what a thread has in its buffer for new objects.
const mostBuffered = 1 << 30

// allocated returns how many bytes a thread has allocated: those that it has counted, and those in its buffer.
func (l *layout) allocated(r record) uint64 {
	all := r.u(l.threadAllocated)
	if l.threadAllocated == nil || l.threadBuffer == nil || l.threadBuffer.offset > uint64(len(r)) {
		return all
	}
	buffer := r[l.threadBuffer.offset:]
	if begin, top := buffer.u(l.bufferStart), buffer.u(l.bufferTop); begin != 0 && top > begin && top-begin < mostBuffered {
		all += top - begin
	}
	return all
}

// Reread reads a thread again; false if it has ended.
func (w *Walker) Reread(t *Thread) bool {
	now, r := w.thread(t.address)
	if r == nil || now.ID != t.ID {
		return false
	}
	*t = now
	return true
}

// A described is what is known of a thread's object.
type described struct {
	thread int    // its number
	object uint64 // its object, or the handle of it
	name   string
	id     int64
	uses   int
}

// mostUses bounds how often a name is used before it is read again. Threads can be renamed.
const mostUses = 5

// objects reads the few things of the Java heap that a name of a thread needs.
type objects struct {
	memory     space
	layout     *layout
	usable     bool
	compressed bool
	base       uint64
	shift      uint
	length     uint64 // of an array
	data       uint64
	direct     bool // a thread refers to its object, not to a handle

	// Where an object has its class.
	compact, narrow bool
	classBase       uint64
	classShift      uint
	fieldsOf        map[uint64]map[string]uint64 // offsets of fields, by the address of their class

	name, id, value, coder uint64                // offsets of fields; 0 if there is no such field
	blocker                uint64                // the field of a thread that refers to what it waits for
	known                  map[uint64]*described // by the address of the thread
}

const longestThreadName = 1024

// prepare finds the fields. Collectors that keep other things in references are not read.
func (o *objects) prepare(t *tables) {
	flags := o.flags(t)
	if flags["UseZGC"] {
		return
	}
	o.compressed = flags["UseCompressedOops"]
	if o.compressed {
		o.base, o.shift = o.encoding(t, "CompressedOops::_", "CompressedOops::_narrow_oop._", "Universe::_narrow_oop._")
	}
	switch {
	case flags["UseCompactObjectHeaders"]:
		o.length, o.data = 8, 12
	case flags["UseCompressedClassPointers"]:
		o.length, o.data = 12, 16
	case o.layout.release >= 23:
		o.length, o.data = 16, 20
	default:
		o.length, o.data = 16, 24
	}
	o.compact, o.narrow = flags["UseCompactObjectHeaders"], flags["UseCompressedClassPointers"]
	o.classBase, o.classShift = o.encoding(t, "CompressedKlassPointers::_", "CompressedKlassPointers::_narrow_klass._", "Universe::_narrow_klass._")
	for name, f := range t.fields {
		if f.address == 0 {
			continue
		}
		class, _ := o.memory.u64(f.address)
		switch {
		case strings.HasSuffix(strings.TrimRight(name, ")]"), "::Thread_klass_knum"):
			fields := o.fields(class)
			o.name, o.id, o.blocker = fields["name"], fields["tid"], fields["parkBlocker"]
			if o.id == 0 {
				o.id = fields["id"]
			}
		case strings.HasSuffix(strings.TrimRight(name, ")]"), "::String_klass_knum"):
			fields := o.fields(class)
			o.value, o.coder = fields["value"], fields["coder"]
		}
	}
	_, handles := t.fields["OopHandle::_obj"]
	o.direct = !handles
	o.usable = o.name != 0 && o.value != 0
}

// encoding reads how references of 32 bits are made of addresses. Its name differs between releases.
func (o *objects) encoding(t *tables, prefixes ...string) (base uint64, shift uint) {
	for _, prefix := range prefixes {
		at, ok := t.fields[prefix+"base"]
		bits, has := t.fields[prefix+"shift"]
		if ok && has {
			base, _ = o.memory.u64(at.address)
			n, _ := o.memory.u32(bits.address)
			return base, uint(n & 15)
		}
	}
	return 0, 0
}

// flags returns the switches of the JVM that are on.
func (o *objects) flags(t *tables) map[string]bool {
	on := map[string]bool{}
	class := "JVMFlag"
	if _, ok := t.fields["JVMFlag::flags"]; !ok {
		class = "Flag"
	}
	at, _ := o.memory.u64(t.fields[class+"::flags"].address)
	count, ok := o.memory.u64(t.fields[class+"::numFlags"].address)
	size := t.sizes[class]
	if !ok || count > 10_000 || size > 256 {
		return on
	}
	for i := range count {
		flag := at + i*size
		nameAt, _ := o.memory.u64(flag + t.fields[class+"::_name"].offset)
		name, ok := o.memory.text(nameAt)
		if !ok || !strings.HasPrefix(name, "Use") {
			continue
		}
		valueAt, _ := o.memory.u64(flag + t.fields[class+"::_addr"].offset)
		if o.memory.u8(valueAt) == 1 {
			on[name] = true
		}
	}
	return on
}

const mostFields = 1000

// fields returns the offsets of the fields of a class.
func (o *objects) fields(klass uint64) map[string]uint64 {
	l, all := o.layout, map[string]uint64{}
	pool, ok := o.memory.u64(klass + l.klassPool.offset)
	if !ok {
		return all
	}
	if l.klassFields != nil {
		list, _ := o.memory.u64(klass + l.klassFields.offset)
		count, _ := o.memory.u32(list)
		data := o.memory.bytes(list+4, int(min(count, mostFields*6))*2)
		for ; len(data) >= 12; data = data[12:] {
			offset := binary.LittleEndian.Uint32(data[8:])
			if name, ok := o.constant(pool, uint64(binary.LittleEndian.Uint16(data[2:]))); ok && offset&1 != 0 {
				all[name] = uint64(offset >> 2)
			}
		}
		return all
	}
	if l.klassFieldStream == nil {
		return all
	}
	list, _ := o.memory.u64(klass + l.klassFieldStream.offset)
	length, _ := o.memory.u32(list)
	in := stream{data: o.memory.bytes(list+4, int(min(length, mostFields*16))), noZero: true}
	count := min(in.next(), mostFields)
	in.next() // fields that the JVM has added
	for range count {
		name, _, offset := in.next(), in.next(), in.next()
		in.next() // access flags
		flags := in.next()
		for _, more := range []uint32{1 << 0, 1 << 2, 1 << 4} { // an initial value, a generic signature, a group of contended fields
			if flags&more != 0 {
				in.next()
			}
		}
		if in.failed {
			break
		}
		if name, ok := o.constant(pool, uint64(name)); ok {
			all[name] = uint64(offset)
		}
	}
	return all
}

// constant reads a name from a constant pool.
func (o *objects) constant(pool, index uint64) (string, bool) {
	r := reading{memory: o.memory, layout: o.layout}
	name := r.constant(pool, index)
	return name, !r.failed
}

// reference reads a field that refers to an object.
func (o *objects) reference(at uint64) uint64 {
	if !o.compressed {
		v, _ := o.memory.u64(at)
		return v
	}
	v, _ := o.memory.u32(at)
	if v == 0 {
		return 0
	}
	return o.base + uint64(v)<<o.shift
}

// describe adds the name and the number of a thread. The collector may move the object while it is read, so
// the name is read twice.
func (o *objects) describe(t *Thread, object uint64) {
	if !o.usable || object == 0 {
		return
	}
	known := o.known[t.address]
	if known == nil || known.thread != t.ID || known.object != object || known.uses == mostUses {
		known = &described{thread: t.ID, object: object}
		o.read(known)
		if o.known == nil || len(o.known) > 2*mostThreads {
			o.known = map[uint64]*described{}
		}
		o.known[t.address] = known
	}
	known.uses++
	t.Name, t.JavaID = known.name, known.id
}

func (o *objects) read(d *described) {
	for range 3 {
		at := o.deref(d.object)
		first, second := o.text(o.reference(at+o.name)), o.text(o.reference(at+o.name))
		if first == second {
			d.name = first
			if o.id != 0 {
				id, _ := o.memory.u64(at + o.id)
				d.id = int64(id)
			}
			return
		}
	}
}

// text reads a string of the Java heap; "" if it cannot.
func (o *objects) text(object uint64) string {
	if object == 0 {
		return ""
	}
	array := o.reference(object + o.value)
	length, ok := o.memory.u32(array + o.length)
	if !ok || array == 0 || length == 0 {
		return ""
	}
	wide := true
	if o.coder != 0 {
		coder := o.memory.u8(object + o.coder)
		wide = coder != 0
	} else {
		length *= 2 // of characters
	}
	if length > longestThreadName {
		return ""
	}
	data := o.memory.bytes(array+o.data, int(length))
	if data == nil {
		return ""
	}
	var units []uint16
	for i := 0; i < len(data); i++ {
		if !wide {
			units = append(units, uint16(data[i]))
		} else if i+1 < len(data) {
			units = append(units, binary.LittleEndian.Uint16(data[i:]))
			i++
		}
	}
	return string(utf16.Decode(units))
}

// WalkWaiting returns the frames of a thread that is not in Java code, such as a waiting thread, from
// its innermost Java method on. The caller must know that the thread has not run since it was read.
func (w *Walker) WalkWaiting(t *Thread) ([]jfr.Frame, End) {
	a := t.anchor
	if a.sp < 8 {
		return nil, UnknownCode
	}
	// The return address is below the frame.
	stack := Stack{Begin: a.sp - 8, Bytes: w.memory.prefix(a.sp-8, 4<<10)}
	if a.pc == 0 {
		a.pc, _ = stack.word(a.sp - 8)
	}
	var regs unwind.Registers
	regs.Set(w.machine.pc, a.pc)
	regs.Set(w.machine.sp, a.sp)
	regs.Set(w.machine.fp, a.fp)
	w.rounds.live = true
	defer func() { w.rounds.live = false }()
	v := &walk{Walker: w, stack: stack, live: true, regs: regs}
	return v.all()
}
