// Package flight reads what the JVM's flight recorder writes: recordings in
// files, and the chunks of a repository while the JVM adds to them.
//
// A recording is a row of chunks. Each begins with a header, followed by events,
// one after the other, each with its size and the number of its type. Two types
// are part of the format: metadata, which declares all others with their fields,
// and checkpoints, which hold values that events only name by a key. Both may be
// behind the events that need them. A flush adds to a chunk what was not written
// yet of all three, and then moves the size in the header: up to there all is
// whole, and behind it nothing is read.
package jfr

import (
	"errors"
	"fmt"
	"time"
)

// A FrameKind is how the JVM ran a frame when it was sampled.
type FrameKind uint8

// The kinds of frames, as the recorder tells them apart.
const (
	UnknownKind FrameKind = iota
	Interpreted
	Compiled
	Inlined
	Native
)

var kindNames = [...]string{"unknown", "interpreted", "compiled", "inlined", "native"}

func (k FrameKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[UnknownKind]
}

// A Method is one that was met on a stack. Methods are shared: two frames of one
// chunk in the same method have the same pointer.
type Method struct {
	Class      string // as class files have it, such as java/util/HashMap
	Name       string
	Descriptor string
	Modifiers  int  // access flags
	Hidden     bool // the JVM leaves it out of stack traces
}

// A Frame is one method of a stack, and where it was.
type Frame struct {
	Method *Method
	Line   int // 0 where the class file has none
	BCI    int
	Kind   FrameKind
}

// A Stack is what a thread was in, the innermost frame first. Stacks are shared
// as methods are.
type Stack struct {
	Frames    []Frame
	Truncated bool // the outermost frames are missing: it was deeper than the recorder goes
}

// A Thread is one of the JVM.
type Thread struct {
	JavaID  int64 // 0 where it is no thread of Java
	OSID    int64
	Name    string
	Virtual bool
}

// A Source is what took a sample.
type Source uint8

// Java threads that run bytecode and those in native code are sampled apart, and
// at rates of their own; only newer JVMs sample by processor time.
const (
	Execution  Source = iota // jdk.ExecutionSample: running Java, by the clock
	NativeCode               // jdk.NativeMethodSample: in native code, running or waiting
	CPUTime                  // jdk.CPUTimeSample: by processor time
)

// A Sample is one look at one thread.
type Sample struct {
	At     time.Time
	Source Source
	State  string // such as STATE_RUNNABLE
	Thread *Thread
	Stack  *Stack
}

// ErrNoRecording is returned for what does not begin as a flight recording does.
var ErrNoRecording = errors.New("not a flight recording: it does not begin with FLR")

// A VersionError is returned for recordings of a format older or newer than
// what OpenJDK 8u and all since 11 write.
type VersionError struct{ Major, Minor uint16 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("flight recording of version %d.%d: only version 2 is read, which OpenJDK 8u and JDK 11 or newer write",
		e.Major, e.Minor)
}

// A Defect is why something could not be read.
type Defect uint8

// The defects.
const (
	Truncated    Defect = iota // the file ends before its chunk does
	Unfinished                 // the JVM did not finish the chunk: it was killed, or still writes
	Corrupt                    // what is there contradicts itself
	NoMetadata                 // nothing tells how events are laid out
	Unresolved                 // an event names a stack or thread that the chunk does not hold
	LostByJVM                  // the JVM says that it had no room for events
	LostSamples                // the JVM says that it had no room for samples of processor time
	OtherVersion               // the chunk is of a version that is not read
)

var defectNames = [...]string{
	"truncated", "unfinished", "corrupt", "without metadata", "unresolved", "lost by the JVM", "samples lost by the JVM", "of another version",
}

func (d Defect) String() string {
	if int(d) < len(defectNames) {
		return defectNames[d]
	}
	return "unreadable"
}

// A Loss is something of a recording that was not read, in one line.
type Loss struct {
	Defect Defect
	File   string // base name, where known
	Offset int64  // in the file, where it begins
	Count  int64  // of bytes; for events and samples, how many of them
	Detail string
}

func (l Loss) Error() string {
	where := ""
	if l.File != "" {
		where = l.File + ": "
	}
	switch l.Defect {
	case LostByJVM, LostSamples, OtherVersion:
		return fmt.Sprintf("%s%s", where, l.Detail)
	case Unresolved:
		return fmt.Sprintf("%s%d events unresolved: %s", where, l.Count, l.Detail)
	}
	return fmt.Sprintf("%s%d bytes at %d %s: %s", where, l.Count, l.Offset, l.Defect, l.Detail)
}
