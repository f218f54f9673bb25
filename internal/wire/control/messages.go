package control

import "time"

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// maxHello bounds the bytes read from a caller that has not proven itself.
const maxHello = 4 << 10

// A Hello is the description that an agent gives of itself.
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

// milliseconds converts a lease, which becomes neither 0 nor too large for the field.
func milliseconds(lease time.Duration) uint32 {
	return uint32(max(1, min(lease.Milliseconds(), 1<<32-1)))
}

// A message: text string. REFUSED, FAILED and NOTICE are messages.
type message string

func (m message) append(dst []byte) []byte { return appendText(dst, string(m)) }
func (m *message) read(c *cursor)          { *m = message(c.text()) }

// nothing is the body of frames without fields.
type nothing struct{}

func (nothing) append(dst []byte) []byte { return dst }
func (*nothing) read(*cursor)            {}

// ClassFlags are properties of a class.
type ClassFlags uint8

// The flags of a class.
const (
	Modifiable ClassFlags = 1 << iota // the JVM lets it be retransformed
	Interface
)

// A Class is a loaded class: handle u32, loader u32, flags u8, name string.
type Class struct {
	Handle uint32 // never 0; valid throughout the session
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

// An original: handle u32, found u8, bytes (the class file, or the reason why there is none).
type original struct {
	handle uint32
	found  bool
	bytes  []byte
}

func (o *original) read(c *cursor) { o.handle, o.found, o.bytes = c.u32(), c.flag(), c.bytes() }

// seen: n u32 × (handle u32, reason string).
type seen []sight

type sight struct {
	handle uint32
	reason string // empty if the class sees the hooks
}

func (s *seen) read(c *cursor) {
	*s = readList(c, 4+textSize, func(c *cursor) sight { return sight{c.u32(), c.text()} })
}

// Installed is the result of a retransformation: nanos u64, gone n u32 × handle u32, error string.
type Installed struct {
	Nanos uint64
	Gone  []uint32 // classes that were unloaded before it
	Err   string   // empty if it succeeded
}

func (i *Installed) read(c *cursor) {
	i.Nanos = c.u64()
	(*handles)(&i.Gone).read(c)
	i.Err = c.text()
}

// Restored is the result of a restoration: nanos u64, classes u32, unmapped u8, n u32 × remark string.
type Restored struct {
	Nanos    uint64
	Classes  uint32
	Unmapped bool     // false if the arena is still mapped because a thread is in a hook
	Remarks  []string // classes that could not be restored, one line each
}

func (r *Restored) read(c *cursor) {
	r.Nanos, r.Classes, r.Unmapped = c.u64(), c.u32(), c.flag()
	r.Remarks = readList(c, textSize, (*cursor).text)
}

// Restoring is the progress of a restoration: done u32, all u32.
type Restoring struct {
	Done, All uint32 // classes
}

func (r *Restoring) read(c *cursor) { r.Done, r.All = c.u32(), c.u32() }

// A Transform is a class that the JVM is about to define or redefine: handle u32, loader u32,
// name string, bytes.
type Transform struct {
	Handle uint32 // 0 while the class is being loaded
	Loader uint32 // 0 is the boot loader
	Name   string // with slashes
	Bytes  []byte
}

func (t *Transform) read(c *cursor) {
	t.Handle, t.Loader, t.Name, t.Bytes = c.u32(), c.u32(), c.text(), c.bytes()
}

// Woven is the answer to a Transform: new bytes, original bytes.
type Woven struct {
	New      []byte // empty to leave the class unchanged
	Original []byte // for the restoration; empty if the JVM's own bytes suffice
}

func (w Woven) append(dst []byte) []byte { return appendText(appendText(dst, w.New), w.Original) }

// A mapping: path string, length u64, epoch u32.
type mapping struct {
	path   string
	length uint64
	epoch  uint32
}

func (m mapping) append(dst []byte) []byte {
	return appendU32(appendU64(appendText(dst, m.path), m.length), m.epoch)
}

// words: n u32 × u64.
type words []uint64

func (w words) append(dst []byte) []byte { return appendList(dst, w, appendU64) }

// A Filter selects classes by name: prefix string, suffix string.
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

// A choice: on u8.
type choice bool

func (o choice) append(dst []byte) []byte { return appendFlag(dst, bool(o)) }

// A Thread is a thread of the JVM: tid u64, name string.
type Thread struct {
	ID   uint64 // the ID of the Java thread
	Name string
}

// threads: n u32 × thread.
type threads []Thread

func (s *threads) read(c *cursor) {
	*s = readList(c, 8+textSize, func(c *cursor) Thread { return Thread{c.u64(), c.text()} })
}

// The bodies of the methods that hooks are calibrated with.
const (
	BodyEmpty       uint8 = iota
	BodyDependent         // a chain of steps that continues the chain of the call before
	BodyIndependent       // the same steps, but a processor may start a call before the last one ends
	BodyNested            // a chain of steps, then a call of BodyDependent; the outer calls are measured
)

// A Calibration requests calls with and without hooks: rounds u32, setting u32, body u8, steps u32.
type Calibration struct {
	Rounds  uint32 // calls of each kind in a run
	Setting uint32 // of the hooks, from arena.Probe.Setting
	Body    uint8
	Steps   uint32 // of the body; one takes about two nanoseconds
}

func (k Calibration) append(dst []byte) []byte {
	dst = append(appendU32(appendU32(dst, k.Rounds), k.Setting), k.Body)
	return appendU32(dst, k.Steps)
}

// A Run is the time that the calls of one run took, in nanoseconds: plain u64, hooked u64,
// measured u64, timed u64.
type Run struct {
	Plain    uint64 // without hooks
	Hooked   uint64 // with hooks
	Measured uint64 // self time as measured by the hooks
	Timed    uint64 // number of calls in Measured
}

const runSize = 4 * 8

// runs: n u32 × run.
type runs []Run

func (r *runs) read(c *cursor) {
	*r = readList(c, runSize, func(c *cursor) Run { return Run{c.u64(), c.u64(), c.u64(), c.u64()} })
}

// Watches are the settings of the spots, anchors and tag points of a JVM: fresh u8, n u32 × u64,
// n u32 × anchor, n u32 × bridge string.
type Watches struct {
	Table   []uint64 // from arena.WatchTable; empty switches all of them off
	Anchors []Anchor // elements that must be called directly by others
	Bridges []string // methods, written as Anchor.Member, that do not count as callers
	Fresh   bool     // positions have new meanings, so the path of every thread starts over
}

// An Anchor is a method that is an element of sequences: member string, positions u32.
type Anchor struct {
	Member    string // a/b/C.name(descriptor)
	Positions uint32 // bit set of its positions in sequences
}

func (w Watches) append(dst []byte) []byte {
	dst = words(w.Table).append(appendFlag(dst, w.Fresh))
	dst = appendList(dst, w.Anchors, func(dst []byte, one Anchor) []byte { return appendU32(appendText(dst, one.Member), one.Positions) })
	return appendList(dst, w.Bridges, appendText[string])
}
