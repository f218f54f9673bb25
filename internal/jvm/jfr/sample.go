package jfr

import "time"

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
