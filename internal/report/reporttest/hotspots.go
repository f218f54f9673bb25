package reporttest

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// HotSpots returns hot spots of a small web shop with everything that a report can show: overloads,
// native code, the JVM, the kernel, stacks that could not be walked, and waiting threads.
func HotSpots() *hotspots.Result {
	const period = 10 * time.Millisecond
	began := time.Date(2026, 11, 15, 8, 20, 11, 0, time.UTC)
	frame := func(kind jfr.FrameKind, class, name, descriptor string, line int) jfr.Frame {
		return jfr.Frame{Method: &jfr.Method{Class: class, Name: name, Descriptor: descriptor}, Kind: kind, Line: line}
	}
	all := hotspots.NewCollection()
	take := func(n int, s jfr.Sample, frames ...jfr.Frame) {
		s.At, s.Stack = began.Add(time.Second), &jfr.Stack{Frames: frames, Broken: len(frames) == 0}
		for range n {
			all.Add(began, []jfr.Sample{s}, period, nil)
		}
	}
	worker := jfr.Sample{Source: jfr.CPUTime, Thread: &jfr.Thread{JavaID: 31, OSID: 101, Name: "http-1"}}
	virtual := jfr.Sample{Source: jfr.CPUTime, Thread: jfr.VirtualThreads}
	run := frame(jfr.Interpreted, "java/lang/Thread", "run", "()V", 1583)
	pay := frame(jfr.C2, "com/example/shop/Checkout", "pay", "(I)V", 42)
	total := frame(jfr.C2, "com/example/shop/Cart", "total", "()J", 17)
	take(300, worker, frame(jfr.C2, "com/example/shop/pricing/Tree", "find", "(I)Ljava/lang/Object;", 88), total, pay, run)
	take(100, worker, frame(jfr.C1, "com/example/shop/pricing/Tree", "find", "(I)Ljava/lang/Object;", 91), total, pay, run)
	take(120, virtual, frame(jfr.Inlined, "com/example/shop/pricing/Tree", "find", "(Ljava/lang/String;I)Ljava/lang/Object;", 99), total, pay, run)
	write := frame(jfr.Native, "java/io/FileOutputStream", "writeBytes", "([BII)V", 0)
	take(90, worker, frame(jfr.Kernel, "kernel", "vfs_write", "", 0), frame(jfr.Library, "libc.so.6", "write", "", 0), write, pay, run)
	take(60, worker, frame(jfr.Library, "libc.so.6", "memcpy", "", 0), write, pay, run)
	take(50, worker, frame(jfr.Stub, "stub", "jbyte_arraycopy", "", 0), pay, run)
	take(40, worker, frame(jfr.VM, "libjvm.so", "", "", 0), pay, run)
	take(20, worker)
	gc := jfr.Sample{Source: jfr.CPUTime}
	for i, n := range []int{110, 60} {
		gc.Thread = &jfr.Thread{OSID: int64(201 + i), Name: "GC Thread#" + string(rune('0'+i))}
		take(n, gc, frame(jfr.VM, "libjvm.so", "", "", 0))
	}
	take(50, jfr.Sample{Source: jfr.CPUTime, Thread: &jfr.Thread{OSID: 301, Name: "C2 CompilerThread0"}}, frame(jfr.VM, "libjvm.so", "", "", 0))
	wait := jfr.Sample{Source: jfr.WallClock, Period: 100 * time.Millisecond}
	park := frame(jfr.Native, "jdk/internal/misc/Unsafe", "park", "(ZJ)V", 0)
	wait.Thread, wait.Wait = worker.Thread, jfr.Parked
	take(20, wait, park, frame(jfr.C2, "com/example/shop/Checkout", "lock", "()V", 12), pay, run)
	wait.Thread, wait.Wait = &jfr.Thread{JavaID: 32, OSID: 102, Name: "http-2"}, jfr.Monitor
	wait.Lock = &jfr.Lock{Class: "com/example/shop/Stock", Held: &jfr.Stack{Frames: []jfr.Frame{write, pay, run}}}
	take(90, wait, frame(jfr.C2, "com/example/shop/Stock", "reserve", "()V", 12), pay, run)
	wait.Lock = &jfr.Lock{Class: "java/lang/Object"}
	take(10, wait, frame(jfr.C2, "com/example/shop/Stock", "reserve", "()V", 12), pay, run)
	all.Add(began.Add(10*time.Second), nil, period, nil)
	return &hotspots.Result{
		Table: all.Table(began.Add(10 * time.Second)), Target: cct.Target{PID: 4711, Command: "shop.jar", JDK: "17.0.15"}, Source: "kernel",
		Notes: []string{"12 samples were lost"},
	}
}
