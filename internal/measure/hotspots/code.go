package hotspots

import (
	"cmp"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Code is a kind of code that a thread runs.
type Code string

// The kinds of code, in the order in which they are shown. Threads of the JVM count as VM,
// whatever they run.
const (
	Java    Code = "Java"
	Native  Code = "native" // a library, or a native method
	VM      Code = "VM"     // the JVM itself, its threads, and the code that it generates for itself
	Kernel  Code = "kernel"
	Unknown Code = "unknown" // the stack could not be walked
)

// Codes are all kinds of code.
var Codes = []Code{Java, Native, VM, Kernel, Unknown}

// codeOf returns what the thread of a sample runs.
func codeOf(s *jfr.Sample, kind jfr.ThreadKind) Code {
	if kind != jfr.ProgramThread {
		return VM
	}
	if len(s.Stack.Frames) == 0 {
		return Unknown
	}
	switch top := s.Stack.Frames[0]; top.Kind {
	case jfr.Library, jfr.Native:
		return Native
	case jfr.VM, jfr.Stub:
		return VM
	case jfr.Kernel:
		return Kernel
	default:
		if !top.IsJava() {
			return Unknown
		}
		return Java
	}
}

// unknown is the frame of code that is not known.
var unknown = jfr.Frame{Method: &jfr.Method{}, Kind: jfr.UnknownKind}

// vmFrames are the frames that stand for all code of the threads of the JVM.
var vmFrames = map[jfr.ThreadKind]jfr.Frame{
	jfr.GCThread:       {Method: &jfr.Method{Name: string(jfr.GCThread)}, Kind: jfr.VM},
	jfr.CompilerThread: {Method: &jfr.Method{Name: string(jfr.CompilerThread)}, Kind: jfr.VM},
	jfr.VMThread:       {Method: &jfr.Method{Name: string(jfr.VMThread)}, Kind: jfr.VM},
}

// waitFrame returns the innermost frame of a thread that waits.
func waitFrame(wait jfr.Wait) jfr.Frame {
	return jfr.Frame{Method: &jfr.Method{Name: WaitText(wait)}, Kind: "waits"}
}

// WaitText says what a thread does, in a word or two.
func WaitText(wait jfr.Wait) string {
	switch wait {
	case jfr.Running:
		return "runs"
	case jfr.UnknownWait:
		return "waits"
	}
	return "waits: " + string(wait)
}

// Label returns the method of a frame as reports have it: hidden classes without their addresses. Other code has no class; its name is that of the
// library and the function.
func Label(f jfr.Frame) cct.Method {
	m := f.Method
	switch {
	case f.IsJava():
		return cct.Method{Class: withoutAddress(m.Class), Name: m.Name, Descriptor: m.Descriptor}
	case m == nil || *m == jfr.Method{} && f.Kind.IsJava():
		return cct.Method{Name: "(unknown)"}
	case m.Class == "" && (f.Kind == jfr.Library || f.Kind == jfr.Stub || f.Kind == jfr.Kernel):
		return cct.Method{Name: strings.TrimSpace(f.Kind.String() + " " + m.Name)}
	}
	return cct.Method{Name: strings.TrimSpace(m.Class + " " + m.Name)}
}

// withoutAddress removes the address that the JVM adds to names of hidden classes.
func withoutAddress(class string) string {
	for _, mark := range []string{"/0x", "+0x"} {
		if at := strings.LastIndex(class, mark); at > 0 {
			class = class[:at]
		}
	}
	return class
}

// methodOf returns a frame's method, that of unknown code if it has none.
func methodOf(f jfr.Frame) *jfr.Method { return cmp.Or(f.Method, unknown.Method) }
