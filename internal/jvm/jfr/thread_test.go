package jfr

import "testing"

func TestKindsOfThreads(t *testing.T) {
	for name, want := range map[string]ThreadKind{
		"GC Thread#3": GCThread, "G1 Conc#0": GCThread, "G1 Concurrent Refinement Thread#0": GCThread, "ZWorkerYoung#1": GCThread, "Concurrent Mark": GCThread,
		"C2 CompilerThread0": CompilerThread, "C1 CompilerThre": CompilerThread, "VM Thread": VMThread, "VM Periodic Tas": VMThread,
		"main": ProgramThread, "": ProgramThread, "Finalizer": ProgramThread, "Zookeeper": ProgramThread,
	} {
		if got := (&Thread{Name: name}).Kind(); got != want {
			t.Errorf("%q is of kind %q, want %q", name, got, want)
		}
	}
}

func TestWaitsOfStacks(t *testing.T) {
	for _, one := range []struct {
		class, method string
		want          Wait
	}{
		{"org/acme/shaded/io/netty/channel/epoll/Native", "epollWait", IO},
		{"io/netty/channel/epoll/Native", "write", Running},
		{"java/lang/Object", "wait0", Notification},
		{"jdk/internal/misc/Unsafe", "park", Parked},
	} {
		stack := Stack{Frames: []Frame{
			{Method: &Method{Class: "libc.so.6", Name: "futex"}, Kind: Library},
			{Method: &Method{Class: one.class, Name: one.method}, Kind: Native},
			{Method: &Method{Class: "java/lang/Object", Name: "wait0"}},
		}}
		if got := stack.WaitIn(); got != one.want {
			t.Errorf("%s.%s waits for %q, want %q", one.class, one.method, got, one.want)
		}
	}
}

func TestFramesOfJava(t *testing.T) {
	method := &Method{Class: "a/B", Name: "c"}
	for kind, want := range map[FrameKind]bool{
		UnknownKind: true, Interpreted: true, Compiled: true, C1: true, C2: true, Inlined: true, Native: true,
		Library: false, VM: false, Stub: false, Kernel: false,
	} {
		if got := (Frame{Method: method, Kind: kind}).IsJava(); got != want {
			t.Errorf("a frame of the kind %s is of Java: %t, want %t", kind, got, want)
		}
	}
	if (Frame{}).IsJava() {
		t.Error("a frame without a method is of Java")
	}
}
