package control

import "time"

// The bodies of frames are structs, or strings, numbers and lists of them, which encode writes
// in the order of their fields. REFUSED, FAILED and NOTICE are strings. docs/formats/control.md
// lists all of them.

// Protocol is the version of the protocol that this package speaks.
const Protocol = 2

// maxHello bounds the bytes read from a caller that has not proven itself.
const maxHello = 4 << 10

// A Hello is the description that an agent gives of itself.
type Hello struct {
	Protocol  uint16
	Build     string // of the agent
	Java      string // the JVM's version
	HookClass string // the class that holds the hooks
}

// hello is a Hello with the token, which is not passed on.
type hello struct {
	Protocol                      uint16
	Token, Build, Java, HookClass string
}

type welcome struct {
	Proof string
	Lease uint32 // in milliseconds
}

// milliseconds converts a lease, which becomes neither 0 nor too large for the field.
func milliseconds(lease time.Duration) uint32 {
	return uint32(max(1, min(lease.Milliseconds(), 1<<32-1)))
}

// nothing is the body of frames without fields.
type nothing struct{}

// ClassFlags are properties of a class.
type ClassFlags uint8

// The flags of a class.
const (
	Modifiable ClassFlags = 1 << iota // the JVM lets it be retransformed
	Interface
)

// A Class is a loaded class.
type Class struct {
	Handle uint32 // never 0; valid throughout the session
	Loader uint32 // 0 is the boot loader
	Flags  ClassFlags
	Name   string // with dots
}

type classes struct {
	Last bool
	List []Class
}

type original struct {
	Handle uint32
	Found  bool
	Bytes  []byte // the class file, or the reason why there is none
	Supers []string
}

type sight struct {
	Handle uint32
	Reason string // empty if the class sees the hooks
}

// Installed is the result of a retransformation.
type Installed struct {
	Nanos uint64
	Gone  []uint32 // classes that were unloaded before it
	Err   string   // empty if it succeeded
}

// Restored is the result of a restoration.
type Restored struct {
	Nanos    uint64
	Classes  uint32
	Unmapped bool     // false if the arena is still mapped because a thread is in a hook
	Remarks  []string // classes that could not be restored, one line each
}

// Restoring is the progress of a restoration.
type Restoring struct {
	Done, All uint32 // classes
}

// A Transform is a class that the JVM is about to define or redefine.
type Transform struct {
	Handle uint32 // 0 while the class is being loaded
	Loader uint32 // 0 is the boot loader
	Name   string // with slashes
	Bytes  []byte
}

// Woven is the answer to a Transform.
type Woven struct {
	New      []byte // empty to leave the class unchanged
	Original []byte // for the restoration; empty if the JVM's own bytes suffice
}

type mapping struct {
	Path   string
	Length uint64
	Epoch  uint32
}

// A Filter selects classes by name.
type Filter struct {
	Prefix, Suffix string
}

type view struct {
	Filters  []Filter
	Excludes []string
}

// A Thread is a thread of the JVM.
type Thread struct {
	ID   uint64 // the ID of the Java thread
	Name string
}

// The bodies of the methods that hooks are calibrated with.
const (
	BodyEmpty       uint8 = iota
	BodyDependent         // a chain of steps that continues the chain of the call before
	BodyIndependent       // the same steps, but a processor may start a call before the last one ends
	BodyNested            // a chain of steps, then a call of BodyDependent; the outer calls are measured
)

// A Calibration requests calls with and without hooks.
type Calibration struct {
	Rounds  uint32 // calls of each kind in a run
	Setting uint32 // of the hooks, from arena.Probe.Setting
	Body    uint8
	Steps   uint32 // of the body; one takes about two nanoseconds
}

// A Run is the time that the calls of one run took, in nanoseconds.
type Run struct {
	Plain    uint64 // without hooks
	Hooked   uint64 // with hooks
	Measured uint64 // self time as measured by the hooks
	Timed    uint64 // number of calls in Measured
}

// Watches are the settings of the spots, anchors and tag points of a JVM.
type Watches struct {
	Fresh   bool     // positions have new meanings, so the path of every thread starts over
	Bare    bool     // tasks carry no contexts to other threads, only the times at which they were submitted
	Table   []uint64 // from arena.WatchTable; empty switches all of them off
	Anchors []Anchor // elements that must be called directly by others
	Bridges []string // methods, written as Anchor.Member, that do not count as callers
}

// An Anchor is a method that is an element of sequences.
type Anchor struct {
	Member    string // a/b/C.name(descriptor)
	Positions uint32 // bit set of its positions in sequences
}
