package control

import (
	"time"
)

// Protocol is the number of the protocol that this package speaks.
const Protocol = 1

// maxHello bounds what is read of a caller before it has proven itself.
const maxHello = 4 << 10

// A Hello is what an agent says of itself.
type Hello struct {
	Protocol  uint16
	Build     string // of the agent
	Java      string // the JVM's version
	HookClass string // the class that holds the hooks
}

// A hello: protocol u16, token string, build string, java string, hook class string.
type hello struct {
	Hello
	token string
}

func (h hello) append(dst []byte) []byte {
	dst = appendText(appendU16(dst, h.Protocol), h.token)
	return appendText(appendText(appendText(dst, h.Build), h.Java), h.HookClass)
}

func (h *hello) read(c *cursor) {
	h.Protocol, h.token = c.u16(), c.text()
	h.Build, h.Java, h.HookClass = c.text(), c.text(), c.text()
}

// A welcome: proof string, lease u32 in milliseconds.
type welcome struct {
	proof string
	lease uint32
}

func (w welcome) append(dst []byte) []byte { return appendU32(appendText(dst, w.proof), w.lease) }
func (w *welcome) read(c *cursor)          { w.proof, w.lease = c.text(), c.u32() }

// milliseconds never makes a lease nothing, nor one that does not fit.
func milliseconds(lease time.Duration) uint32 {
	return uint32(max(1, min(lease.Milliseconds(), 1<<32-1)))
}

// A message: text string. REFUSED, FAILED and NOTICE are messages.
type message string

func (m message) append(dst []byte) []byte { return appendText(dst, string(m)) }
func (m *message) read(c *cursor)          { *m = message(c.text()) }

// nothing is the body of frames whose kind says all.
type nothing struct{}

func (nothing) append(dst []byte) []byte { return dst }
func (*nothing) read(*cursor)            {}

// ClassFlags say what kind of class a Class is.
type ClassFlags uint8

// The flags of a class.
const (
	Modifiable ClassFlags = 1 << iota // the JVM lets it be retransformed
	Interface
)

// A Class is one that is loaded in the JVM: handle u32, loader u32, flags u8,
// name string.
type Class struct {
	Handle uint32 // never 0; keeps its meaning for the length of the session
	Loader uint32 // 0 is the boot loader
	Flags  ClassFlags
	Name   string // with dots
}

const classSize = 4 + 4 + 1 + textSize

// classes: last u8, n u32 × class.
type classes struct {
	last bool
	list []Class
}

func (s classes) append(dst []byte) []byte {
	return appendList(appendFlag(dst, s.last), s.list, func(dst []byte, class Class) []byte {
		dst = append(appendU32(appendU32(dst, class.Handle), class.Loader), byte(class.Flags))
		return appendText(dst, class.Name)
	})
}

func (s *classes) read(c *cursor) {
	s.last = c.flag()
	s.list = readList(c, classSize, func(c *cursor) Class {
		class := Class{c.u32(), c.u32(), ClassFlags(c.u8()), c.text()}
		if class.Handle == 0 {
			c.fail()
		}
		return class
	})
}

// handles: n u32 × handle u32.
type handles []uint32

func (h handles) append(dst []byte) []byte { return appendList(dst, h, appendU32) }
func (h *handles) read(c *cursor)          { *h = readList(c, 4, (*cursor).u32) }

// An original: handle u32, found u8, bytes (the class file, or text why not).
type original struct {
	handle uint32
	found  bool
	bytes  []byte
}

func (o original) append(dst []byte) []byte {
	return appendText(appendFlag(appendU32(dst, o.handle), o.found), o.bytes)
}

func (o *original) read(c *cursor) { o.handle, o.found, o.bytes = c.u32(), c.flag(), c.bytes() }

// seen: n u32 × (handle u32, reason string).
type seen []sight

type sight struct {
	handle uint32
	reason string // empty where the class sees the hooks
}

func (s seen) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one sight) []byte { return appendText(appendU32(dst, one.handle), one.reason) })
}

func (s *seen) read(c *cursor) {
	*s = readList(c, 4+textSize, func(c *cursor) sight { return sight{c.u32(), c.text()} })
}

// Installed is what a retransformation took and what became of it: nanos u64,
// gone n u32 × handle u32, error string.
type Installed struct {
	Nanos uint64
	Gone  []uint32 // classes that were unloaded meanwhile
	Err   string   // empty where all went in
}

func (i Installed) append(dst []byte) []byte {
	return appendText(handles(i.Gone).append(appendU64(dst, i.Nanos)), i.Err)
}

func (i *Installed) read(c *cursor) {
	i.Nanos = c.u64()
	(*handles)(&i.Gone).read(c)
	i.Err = c.text()
}

// Restored is what was put back: nanos u64, classes u32, unmapped u8, n u32 ×
// remark string.
type Restored struct {
	Nanos    uint64
	Classes  uint32
	Unmapped bool     // the arena; it stays mapped where a thread is still in a hook
	Remarks  []string // what could not be put back, one line each
}

func (r Restored) append(dst []byte) []byte {
	dst = appendFlag(appendU32(appendU64(dst, r.Nanos), r.Classes), r.Unmapped)
	return appendList(dst, r.Remarks, appendText[string])
}

func (r *Restored) read(c *cursor) {
	r.Nanos, r.Classes, r.Unmapped = c.u64(), c.u32(), c.flag()
	r.Remarks = readList(c, textSize, (*cursor).text)
}

// Restoring is how far a restoration is: done u32, all u32.
type Restoring struct {
	Done, All uint32 // classes
}

func (r Restoring) append(dst []byte) []byte { return appendU32(appendU32(dst, r.Done), r.All) }
func (r *Restoring) read(c *cursor)          { r.Done, r.All = c.u32(), c.u32() }

// A Transform is a class the JVM is about to define or to redefine: handle u32,
// loader u32, name string, bytes.
type Transform struct {
	Handle uint32 // 0 while the class is being loaded
	Loader uint32 // 0 is the boot loader
	Name   string // with slashes
	Bytes  []byte
}

func (t Transform) append(dst []byte) []byte {
	return appendText(appendText(appendU32(appendU32(dst, t.Handle), t.Loader), t.Name), t.Bytes)
}

func (t *Transform) read(c *cursor) {
	t.Handle, t.Loader, t.Name, t.Bytes = c.u32(), c.u32(), c.text(), c.bytes()
}

// Woven is what a Transform became: new bytes, original bytes.
type Woven struct {
	New      []byte // empty leaves the class alone
	Original []byte // what undo puts back; empty where the JVM's own will do
}

func (w Woven) append(dst []byte) []byte { return appendText(appendText(dst, w.New), w.Original) }
func (w *Woven) read(c *cursor)          { w.New, w.Original = c.bytes(), c.bytes() }

// A mapping: path string, length u64, epoch u32.
type mapping struct {
	path   string
	length uint64
	epoch  uint32
}

func (m mapping) append(dst []byte) []byte {
	return appendU32(appendU64(appendText(dst, m.path), m.length), m.epoch)
}

func (m *mapping) read(c *cursor) { m.path, m.length, m.epoch = c.text(), c.u64(), c.u32() }

// words: n u32 × u64.
type words []uint64

func (w words) append(dst []byte) []byte { return appendList(dst, w, appendU64) }
func (w *words) read(c *cursor)          { *w = readList(c, 8, (*cursor).u64) }

// A Filter lets a class through by its name: prefix string, suffix string.
type Filter struct {
	Prefix, Suffix string
}

// A view: n u32 × filter, n u32 × exclude string.
type view struct {
	filters  []Filter
	excludes []string
}

func (v view) append(dst []byte) []byte {
	dst = appendList(dst, v.filters, func(dst []byte, one Filter) []byte { return appendText(appendText(dst, one.Prefix), one.Suffix) })
	return appendList(dst, v.excludes, appendText[string])
}

func (v *view) read(c *cursor) {
	v.filters = readList(c, 2*textSize, func(c *cursor) Filter { return Filter{c.text(), c.text()} })
	v.excludes = readList(c, textSize, (*cursor).text)
}

// A choice: on u8.
type choice bool

func (o choice) append(dst []byte) []byte { return appendFlag(dst, bool(o)) }
func (o *choice) read(c *cursor)          { *o = choice(c.flag()) }

// A Thread is one of the JVM's: tid u64, name string.
type Thread struct {
	ID   uint64 // Java's, not the system's
	Name string
}

// threads: n u32 × thread.
type threads []Thread

func (s threads) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one Thread) []byte { return appendText(appendU64(dst, one.ID), one.Name) })
}

func (s *threads) read(c *cursor) {
	*s = readList(c, 8+textSize, func(c *cursor) Thread { return Thread{c.u64(), c.text()} })
}

// What the calls do that hooks are calibrated by.
const (
	BodyEmpty       uint8 = iota
	BodyDependent         // a chain of steps, each call's going on from the one before
	BodyIndependent       // the same steps, but a processor may begin a call before the last has ended
	BodyNested            // a chain of steps, then one call of BodyDependent; the outer calls are measured
)

// A Calibration asks for calls with hooks and without: rounds u32, setting u32,
// body u8, steps u32.
type Calibration struct {
	Rounds  uint32 // calls of each kind in a run
	Setting uint32 // of the hooks, as arena.Probe.Setting gives it
	Body    uint8
	Steps   uint32 // of the body; one takes about two nanoseconds
}

func (k Calibration) append(dst []byte) []byte {
	dst = append(appendU32(appendU32(dst, k.Rounds), k.Setting), k.Body)
	return appendU32(dst, k.Steps)
}

func (k *Calibration) read(c *cursor) {
	k.Rounds, k.Setting, k.Body, k.Steps = c.u32(), c.u32(), c.u8(), c.u32()
	if k.Body > BodyNested {
		c.fail()
	}
}

// A Run is what the calls of one run took, in nanoseconds: plain u64, hooked
// u64, measured u64, timed u64.
type Run struct {
	Plain    uint64 // without hooks
	Hooked   uint64 // with them
	Measured uint64 // self time by the hooks' own account
	Timed    uint64 // calls that are in Measured
}

const runSize = 4 * 8

// runs: n u32 × run.
type runs []Run

func (r runs) append(dst []byte) []byte {
	return appendList(dst, r, func(dst []byte, one Run) []byte {
		return appendU64(appendU64(appendU64(appendU64(dst, one.Plain), one.Hooked), one.Measured), one.Timed)
	})
}

func (r *runs) read(c *cursor) {
	*r = readList(c, runSize, func(c *cursor) Run { return Run{c.u64(), c.u64(), c.u64(), c.u64()} })
}

// Watches are the spots, anchors and tag points of a JVM, and what their hooks need
// beside: fresh u8, n u32 × u64, n u32 × anchor, n u32 × bridge string.
type Watches struct {
	Table   []uint64 // as arena.WatchTable makes it; empty switches all off
	Anchors []Anchor // for elements that are to be called directly by others
	Bridges []string // methods, as Anchor.Member, that are no callers
	Fresh   bool     // positions mean other elements than before: the path of every thread begins anew
}

// An Anchor is a method that is an element of sequences: member string, positions u32.
type Anchor struct {
	Member    string // a/b/C.name(descriptor)
	Positions uint32 // as which elements
}

func (w Watches) append(dst []byte) []byte {
	dst = words(w.Table).append(appendFlag(dst, w.Fresh))
	dst = appendList(dst, w.Anchors, func(dst []byte, one Anchor) []byte { return appendU32(appendText(dst, one.Member), one.Positions) })
	return appendList(dst, w.Bridges, appendText[string])
}

func (w *Watches) read(c *cursor) {
	w.Fresh = c.flag()
	(*words)(&w.Table).read(c)
	w.Anchors = readList(c, textSize+4, func(c *cursor) Anchor { return Anchor{c.text(), c.u32()} })
	w.Bridges = readList(c, textSize, (*cursor).text)
}
