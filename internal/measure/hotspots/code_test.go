package hotspots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func frame(kind jfr.FrameKind, class, name string) jfr.Frame {
	m := &jfr.Method{Class: class, Name: name}
	if kind.IsJava() && class != "" {
		m.Descriptor = "()V"
	}
	return jfr.Frame{Method: m, Kind: kind}
}

// take adds n samples of a thread by processor time.
func (s *scene) take(n int, thread *jfr.Thread, stack jfr.Stack) {
	for i := range n {
		s.samples = append(s.samples, jfr.Sample{At: began.Add(time.Duration(i+1) * period), Source: jfr.CPUTime, Thread: thread, Stack: &stack})
	}
}

// mixed are samples as the kernel takes them: of Java, native code, the JVM, and what could not be walked.
func mixed() *scene {
	s := &scene{}
	run, copies := frame(jfr.C2, "a/Main", "run"), frame(jfr.Native, "a/Main", "copy")
	main := &jfr.Thread{JavaID: 1, OSID: 11, Name: "main"}
	s.take(40, main, jfr.Stack{Frames: []jfr.Frame{frame(jfr.Inlined, "a/Main", "work"), run}})
	s.take(20, main, jfr.Stack{Frames: []jfr.Frame{frame(jfr.Library, "libc.so.6", "memcpy"), copies, run}})
	s.take(5, main, jfr.Stack{Frames: []jfr.Frame{frame(jfr.Kernel, "", "copy_user"), frame(jfr.Library, "libc.so.6", ""), copies, run}})
	s.take(5, main, jfr.Stack{Frames: []jfr.Frame{frame(jfr.Stub, "", "jlong_arraycopy"), run}})
	s.take(4, main, jfr.Stack{Frames: []jfr.Frame{frame(jfr.VM, "libjvm.so", ""), run}, Broken: true})
	s.take(6, main, jfr.Stack{Broken: true})
	s.take(8, &jfr.Thread{OSID: 21, Name: "GC Thread#0"}, jfr.Stack{Frames: []jfr.Frame{frame(jfr.VM, "libjvm.so", "")}})
	s.take(7, &jfr.Thread{OSID: 22, Name: "GC Thread#1"}, jfr.Stack{Frames: []jfr.Frame{frame(jfr.Kernel, "", "page_fault"), frame(jfr.VM, "libjvm.so", "")}})
	s.take(5, &jfr.Thread{OSID: 23, Name: "C2 CompilerThre"}, jfr.Stack{})
	return s
}

func TestCodeThatIsNotOfJava(t *testing.T) {
	table := mixed().table(nil)
	want := map[Code]float64{Java: 0.4, Native: 0.2, VM: 0.29, Kernel: 0.05, Unknown: 0.06}
	for code, part := range want {
		if got := table.Code[code].Part; !near(got, part) {
			t.Errorf("%s has %v, want %v", code, got, part)
		}
	}
	if table.Samples != 100 || table.Incomplete != 4 {
		t.Errorf("%d samples, %d incomplete; want 100 and 4", table.Samples, table.Incomplete)
	}
	rows := map[string]float64{}
	for _, m := range table.Methods {
		if m.Self.Part > 0 {
			rows[m.Label.String()] = m.Self.Part
		}
	}
	for name, part := range map[string]float64{
		"a.Main.work": 0.4, "libc.so.6 memcpy": 0.2, "kernel copy_user": 0.05, "stub jlong_arraycopy": 0.05, "libjvm.so": 0.04, "(unknown)": 0.06,
		"GC": 0.15, "JIT compiler": 0.05,
	} {
		if !near(rows[name], part) {
			t.Errorf("%s has %v, want %v: %v", name, rows[name], part, rows)
		}
	}
	if len(rows) != 8 {
		t.Errorf("rows %v, want eight", rows)
	}
}

func TestThreadsOfTheJVMAreGrouped(t *testing.T) {
	var names []string
	for _, th := range mixed().table(map[int64]time.Duration{-79: time.Second}).Threads {
		names = append(names, th.Name)
		if th.Name == "GC" && (th.Group != jfr.GCThread || th.Count != 2 || th.Samples != 15 || !near(th.CPU, 0.1)) {
			t.Errorf("%+v", th)
		}
	}
	if !slices.Equal(names, []string{"main", "GC", "JIT compiler"}) {
		t.Errorf("threads %v", names)
	}
}

// TestPathsHaveOnlyJava checks that callers which look for classes never get other code.
func TestPathsHaveOnlyJava(t *testing.T) {
	for _, p := range mixed().table(nil).Stacks() {
		for _, m := range p.Methods {
			if m.Class != "a/Main" {
				t.Errorf("%v is on a path", m)
			}
		}
	}
}

func TestTreeOfAllCode(t *testing.T) {
	tree := mixed().table(nil).Tree(false)
	var tops []string
	for _, n := range tree.Top.Children {
		tops = append(tops, tree.Methods[n.Method].String())
	}
	if !slices.Equal(tops, []string{"a.Main.run", "GC", "(unknown)", "JIT compiler"}) {
		t.Errorf("the tree begins with %v", tops)
	}
	if sum := tree.Top.Total.Nanos; !near(sum, 100*float64(period)) || tree.Top.Calls != 100 {
		t.Errorf("%v in %d samples", sum, tree.Top.Calls)
	}
}

// waiting are a running thread, looks at waiting threads, and the processor time of a thread of the JVM.
func waitingScene() *scene {
	s := &scene{}
	s.add(100, 1, jfr.Execution, jfr.Compiled, "A.main>A.work")
	look := func(n int, name string, wait jfr.Wait, frames ...jfr.Frame) {
		for i := range n {
			s.samples = append(s.samples, jfr.Sample{
				At: began.Add(time.Duration(i+1) * 100 * time.Millisecond), Source: jfr.WallClock, Period: 100 * time.Millisecond, Wait: wait,
				Thread: &jfr.Thread{JavaID: int64(len(name)), Name: name}, Stack: &jfr.Stack{Frames: frames},
			})
		}
	}
	park := []jfr.Frame{frame(jfr.Native, "jdk/internal/misc/Unsafe", "park"), frame(jfr.C2, "java/util/concurrent/locks/LockSupport", "park")}
	look(100, "pool", jfr.Parked, append(park, frame(jfr.C2, "java/util/concurrent/LinkedBlockingQueue", "take"), frame(jfr.C2, "java/lang/Thread", "run"))...)
	look(50, "worker", jfr.Parked, append(park, frame(jfr.C2, "a/Shop", "pay"))...)
	look(20, "worker", jfr.Monitor, frame(jfr.C2, "a/Shop", "pay"))
	for i := range s.samples[len(s.samples)-20:] {
		lock := &jfr.Lock{Class: "a/Account"}
		if i < 15 {
			lock.Held = &jfr.Stack{Frames: []jfr.Frame{frame(jfr.Native, "java/io/FileOutputStream", "writeBytes"), frame(jfr.C2, "a/Archive", "write")}}
		}
		s.samples[len(s.samples)-20+i].Lock = lock
	}
	look(100, "Finalizer", jfr.Notification, frame(jfr.Native, "java/lang/Object", "wait"))
	s.samples = append(s.samples, jfr.Sample{At: began.Add(time.Second), Source: jfr.Accounted, Period: 50 * period, Thread: &jfr.Thread{OSID: 5, Name: "VM Thread"}, Stack: &jfr.Stack{}})
	return s
}

func TestPlacesOfWaitingThreads(t *testing.T) {
	table := waitingScene().table(nil)
	type row struct {
		name string
		wait jfr.Wait
	}
	got := map[row]float64{}
	for _, p := range table.Places() {
		got[row{p.Label.String(), p.Wait}] = p.Threads
		var locks []string
		for _, l := range p.Locks {
			locks = append(locks, fmt.Sprintf("%s held in %s: %.2f", l.Class, l.In, l.Part))
		}
		if want := []string{"a/Account held in a.Archive.write: 0.75", "a/Account held in : 0.25"}; p.Wait == jfr.Monitor && !slices.Equal(locks, want) {
			t.Errorf("locks %q, want %q", locks, want)
		} else if p.Wait != jfr.Monitor && locks != nil {
			t.Errorf("locks %q at %v", locks, p.Label)
		}
	}
	want := map[row]float64{
		{"java.util.concurrent.LinkedBlockingQueue.take", jfr.Parked}: 1, {"a.Shop.pay", jfr.Parked}: 0.5, {"a.Shop.pay", jfr.Monitor}: 0.2,
		{"A.work", jfr.Running}: 0.2, {"VM", jfr.Running}: 0.1,
	}
	for at, threads := range want {
		if math.Abs(got[at]-threads) > 0.001 {
			t.Errorf("%v threads at %v, want %v", got[at], at, threads)
		}
	}
	if len(got) != len(want) {
		t.Errorf("places %v, want %v", got, want)
	}
	// Waiting threads do not count as running.
	if table.Samples != 100 || table.Waiting != 0 || !near(find(table, "A.work").Self.Part, 2.0/3) {
		t.Errorf("%d samples, %d waiting, %+v", table.Samples, table.Waiting, find(table, "A.work"))
	}
	for _, th := range table.Threads {
		if th.Name == "worker" && (math.Abs(th.Waits[jfr.Parked]-0.5) > 0.001 || math.Abs(th.Waits[jfr.Monitor]-0.2) > 0.001) {
			t.Errorf("%+v", th)
		}
	}
}

func TestContended(t *testing.T) {
	samples := waitingScene().samples
	held := slices.IndexFunc(samples, func(s jfr.Sample) bool { return s.Wait == jfr.Parked && s.Thread.Name == "worker" })
	samples[held].Lock = &jfr.Lock{Class: "a/Gate", Holder: &jfr.Thread{Name: "keeper"}}
	samples[held+1].Lock = &jfr.Lock{Class: "a/Queue"} // nobody has it
	got := map[jfr.Wait]int{}
	for _, s := range Contended(samples) {
		got[s.Wait]++
	}
	if want := (map[jfr.Wait]int{jfr.Monitor: 20, jfr.Parked: 1}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTreeOfWaitingThreads(t *testing.T) {
	table := waitingScene().table(nil)
	running, all := table.Tree(false).Top.Total.Nanos, table.Tree(true).Top.Total.Nanos
	if !near(running, 150*float64(period)) || math.Abs(all-running-17e9) > 1e6 {
		t.Errorf("%v running, %v with waiting threads; want 3 s, and 17 s more", time.Duration(running), time.Duration(all))
	}
	waits := map[string]float64{}
	tree := table.Tree(true)
	for n := range tree.Top.All() {
		if len(n.Children) == 0 && n.Method >= 0 {
			waits[tree.Methods[n.Method].String()] += n.Self.Nanos
		}
	}
	if math.Abs(waits["waits: park"]-15e9) > 1e6 || math.Abs(waits["waits: monitor"]-2e9) > 1e6 {
		t.Errorf("%v", waits)
	}
}

// TestOneClockCounts checks that processor time which two sources report counts once.
func TestOneClockCounts(t *testing.T) {
	s := &scene{}
	s.add(100, 1, jfr.Execution, jfr.Compiled, "A.main")
	s.add(100, 2, jfr.NativeCode, jfr.Native, "N.read")
	s.take(50, thread(1), jfr.Stack{Frames: []jfr.Frame{frame(jfr.Compiled, "A", "main")}})
	if table := s.table(nil); table.Samples != 50 || table.Waiting != 0 || len(table.Methods) != 1 {
		t.Errorf("%d samples, %d waiting, %+v", table.Samples, table.Waiting, table.Methods)
	}
	s = &scene{}
	s.add(50, 1, jfr.Execution, jfr.Compiled, "A.main")
	attach := &jfr.Thread{OSID: 7, Name: "Attach Listener"}
	s.samples = append(s.samples, jfr.Sample{At: began.Add(time.Second), Source: jfr.Execution, Thread: attach, Stack: s.samples[0].Stack})
	s.samples = append(s.samples, jfr.Sample{At: began.Add(time.Second), Source: jfr.Accounted, Period: 50 * period, Thread: attach, Stack: &jfr.Stack{}})
	if table := s.table(nil); table.Samples != 50 || !near(table.Code[VM].Part, 0.5) {
		t.Errorf("%d samples, %+v", table.Samples, table.Code)
	}
}

// TestCollectionCountsLikeAWindow adds the same samples to both.
func TestCollectionCountsLikeAWindow(t *testing.T) {
	for name, s := range map[string]*scene{"mixed": mixed(), "waiting": waitingScene()} {
		want := s.table(nil)
		c := NewCollection()
		c.Add(began, nil, period, nil)
		for at := 0; at < len(s.samples); at += 7 {
			c.Add(time.Time{}, s.samples[at:min(at+7, len(s.samples))], period, nil)
		}
		got := c.Table(began.Add(10 * time.Second))
		if got.Samples != want.Samples || len(got.Methods) != len(want.Methods) || len(got.Threads) != len(want.Threads) || c.Cut() != 0 {
			t.Fatalf("%s: %+v, want %+v", name, got, want)
		}
		for i, m := range got.Methods {
			if w := want.Methods[i]; m.Label != w.Label || math.Abs(m.Self.Part-w.Self.Part) > 1e-9 || math.Abs(m.Self.High-w.Self.High) > 1e-9 || m.Samples != w.Samples {
				t.Errorf("%s: %+v, want %+v", name, m, w)
			}
		}
		if len(c.groups) > 20 {
			t.Errorf("%s: %d groups of %d samples", name, len(c.groups), len(s.samples))
		}
	}
}

func TestCollectionIsBounded(t *testing.T) {
	c := NewCollection()
	known := frame(jfr.C2, "a/A", "a")
	c.Add(began, []jfr.Sample{{At: began, Thread: thread(1), Stack: &jfr.Stack{Frames: []jfr.Frame{known}}}}, period, nil)
	c.size = maxCollected + 1
	for i := range 3 {
		stack := &jfr.Stack{Frames: []jfr.Frame{known, frame(jfr.C2, "a/B", string(rune('a'+i)))}}
		strange := &jfr.Stack{Frames: []jfr.Frame{frame(jfr.C2, "a/C", string(rune('a'+i)))}}
		c.Add(began, []jfr.Sample{{At: began, Thread: thread(1), Stack: stack}, {At: began, Thread: thread(1), Stack: strange}}, period, nil)
	}
	table := c.Table(began.Add(time.Second))
	if len(c.methods) != 1 || c.Cut() != 6 || table.Samples != 7 || len(table.Methods) != 2 || find(table, "a/A.a").Samples != 4 || !near(table.Code[Unknown].Part, 3.0/7) {
		t.Errorf("%d methods, %d cut, %+v", len(c.methods), c.Cut(), table)
	}
	for i := range maxThreads + 10 {
		c.Add(began, []jfr.Sample{{At: began, Thread: &jfr.Thread{JavaID: int64(i + 10), Virtual: true}, Stack: &jfr.Stack{Frames: []jfr.Frame{known}}}}, period, nil)
	}
	if len(c.threads) != maxThreads {
		t.Errorf("%d threads, want %d", len(c.threads), maxThreads)
	}
}

func TestNamesOfOtherCode(t *testing.T) {
	for _, test := range []struct {
		frame jfr.Frame
		want  cct.Method
	}{
		{frame(jfr.Library, "libc.so.6", "memcpy"), cct.Method{Name: "libc.so.6 memcpy"}},
		{frame(jfr.Library, "libc.so.6", ""), cct.Method{Name: "libc.so.6"}},
		{frame(jfr.VM, "libjvm.so", "JVM_Clone"), cct.Method{Name: "libjvm.so JVM_Clone"}},
		{frame(jfr.Kernel, "", ""), cct.Method{Name: "kernel"}},
		{frame(jfr.Stub, "", "checkcast"), cct.Method{Name: "stub checkcast"}},
		{frame(jfr.C1, "a/B$$Lambda+0x0000700b/0x123", "run"), cct.Method{Class: "a/B$$Lambda", Name: "run", Descriptor: "()V"}},
		{jfr.Frame{}, cct.Method{Name: "(unknown)"}},
	} {
		if got := Label(test.frame); got != test.want {
			t.Errorf("%+v is named %+v, want %+v", test.frame, got, test.want)
		}
	}
}
