package sampler

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// TestOutsideWait: only a native method waits for I/O. A method that the JVM has stopped, or that waits for the JVM, does not.
func TestOutsideWait(t *testing.T) {
	frame := func(kind jfr.FrameKind, class, method string) jfr.Frame {
		return jfr.Frame{Method: &jfr.Method{Class: class, Name: method}, Kind: kind}
	}
	futex := frame(jfr.Library, "libc.so.6", "pthread_cond_wait")
	for _, tt := range []struct {
		frames []jfr.Frame
		want   jfr.Wait
	}{
		{[]jfr.Frame{futex, frame(jfr.Native, "sun/nio/ch/Net", "read0"), frame(jfr.C2, "a/Shop", "pay")}, jfr.IO},
		{[]jfr.Frame{frame(jfr.Native, "a/Driver", "fetch"), frame(jfr.C2, "a/Shop", "pay")}, jfr.IO},
		{[]jfr.Frame{futex, frame(jfr.Native, "java/lang/Thread", "start0"), frame(jfr.Interpreted, "a/Shop", "pay")}, jfr.InJVM},
		{[]jfr.Frame{futex, frame(jfr.Inlined, "java/util/ArrayList", "grow"), frame(jfr.C2, "a/Shop", "pay")}, jfr.InJVM},
		{[]jfr.Frame{futex}, jfr.UnknownWait},
	} {
		if got := outsideWait(&jfr.Stack{Frames: tt.frames}); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.frames, got, tt.want)
		}
	}
}
