// Package jfr reads samples and traced calls from flight recordings, also while the JVM
// writes them.
//
// A recording consists of chunks. A chunk begins with a header, followed by events. Each event starts with its size and
// the number of its type. Two types are part of the format: metadata, which declares all
// other types with their fields, and checkpoints, which hold the values that events refer
// to by a key. Both may follow the events that need them. A flush appends pending
// events, metadata and checkpoints, then updates the size in the header: everything up to that size is complete,
// and nothing after it is read.
package jfr

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
)

// A Sample is one observation of one thread.
type Sample struct {
	At     time.Time
	Source Source
	Period time.Duration // time that the sample stands for; 0 if it has the usual period of its source
	State  string        // such as STATE_RUNNABLE
	Wait   Wait          // what the thread waits for; Running if that is not known to be a wait
	Thread *Thread
	Stack  *Stack // without frames if it could not be walked
	Lock   *Lock  // what the thread waits for; nil if it does not wait, or that is not known
}

// A Lock is an object that a thread waits for: to enter its monitor, to be notified, or for java.util.concurrent.
type Lock struct {
	Class  string  // of the object; "" if it is not known
	Holder *Thread // that has it; nil if there is none, or that is not known
	Held   *Stack  // of the holder, about then; nil if it is not known
}

// A Source is what made the JVM, or the kernel, take a sample.
type Source uint8

// The recorder samples Java threads that run bytecode and those in native code separately,
// each at a rate of its own. Only newer JVMs sample by processor time.
const (
	Execution  Source = iota // jdk.ExecutionSample: running Java, by the clock
	NativeCode               // jdk.NativeMethodSample: in native code, running or waiting
	CPUTime                  // jdk.CPUTimeSample, or a sample of the kernel: by processor time
	WallClock                // a look at a waiting thread, by the clock
	Accounted                // no stack: the kernel accounted its Period of processor time to the thread
)

// A Stack is the call stack of a thread, innermost frame first. Samples of one chunk share
// their stacks.
type Stack struct {
	Frames    []Frame
	Truncated bool // the outermost frames are missing because the stack was too deep
	Broken    bool // the outermost frames are missing because the stack could not be walked further
}

// A Frame is a method on a stack, or other code, and the position in it.
type Frame struct {
	Method *Method
	Line   int // 0 if the class file has no line numbers
	BCI    int
	Kind   FrameKind
}

// IsJava reports whether a frame is that of a method of a class, possibly a native one. Only
// such a method can get a hook.
func (f Frame) IsJava() bool { return f.Method != nil && f.Method.Class != "" && f.Kind.IsJava() }

// A Method is a method on a stack. Frames of one chunk share their methods.
//
// In a frame that is not of Java, Class is the library or the part of the JVM, such as
// libc.so.6, Name the function, "" if it is unknown, and Descriptor is empty.
type Method struct {
	Class      string // as class files have it, such as java/util/HashMap
	Name       string
	Descriptor string
	Modifiers  int // access flags
}

// Ref returns the method's class, name and descriptor. Chunks of a recording have their own
// pointers to the same method; refs can be compared.
func (m *Method) Ref() classfile.MethodRef {
	return classfile.MethodRef{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}
}

// A FrameKind is how a frame ran when it was sampled.
type FrameKind string

// The kinds of frames of Java methods. The recorder does not distinguish the compilers.
const (
	UnknownKind FrameKind = ""
	Interpreted FrameKind = "interpreted"
	Compiled    FrameKind = "compiled" // by any compiler
	C1          FrameKind = "C1"       // compiled by C1
	C2          FrameKind = "C2"       // compiled by C2, or another compiler of the last tier
	Inlined     FrameKind = "inlined"
	Native      FrameKind = "native" // a native method of a class; its C function is a frame of the kind Library
)

// The kinds of frames of other code. Only the kernel's samples have them.
const (
	Library FrameKind = "library" // a native library
	VM      FrameKind = "VM"      // the JVM itself: libjvm.so
	Stub    FrameKind = "stub"    // code that the JVM has generated for itself, such as code that copies arrays
	Kernel  FrameKind = "kernel"
)

// IsJava reports whether frames of a kind have a method of a class.
func (k FrameKind) IsJava() bool { return k != Library && k != VM && k != Stub && k != Kernel }

func (k FrameKind) String() string { return cmp.Or(string(k), "unknown") }

// A Defect is the reason why something could not be read.
type Defect string

// The defects.
const (
	Truncated    Defect = "truncated"               // the file ends before its chunk does
	Corrupt      Defect = "corrupt"                 // the content contradicts itself
	NoMetadata   Defect = "without metadata"        // there is no description of the events
	Unresolved   Defect = "unresolved"              // an event refers to a stack or thread that the chunk does not hold
	LostByJVM    Defect = "lost by the JVM"         // the JVM reports that it had no room for events
	LostSamples  Defect = "samples lost by the JVM" // the same for samples of processor time
	TooLarge     Defect = "too large"               // there is more than is read at once
	OtherVersion Defect = "of another version"      // the chunk has a version that is not read
)

// A Loss is a part of a recording that could not be read.
type Loss struct {
	Defect Defect
	File   string // base name
	Offset int64  // where it begins in the file
	Count  int64  // number of bytes, or of events and samples
	Detail string
}

func (l Loss) Error() string {
	where := ""
	if l.File != "" {
		where = l.File + ": "
	}
	switch l.Defect {
	case LostByJVM, LostSamples, OtherVersion, Unresolved:
		return where + l.Detail
	}
	return fmt.Sprintf("%s%d bytes at %d %s: %s", where, l.Count, l.Offset, l.Defect, l.Detail)
}
