package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// onEachJDK runs a test on each JDK there is.
func onEachJDK(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.JDKs(t), test)
}

// onOneJDK is like onEachJDK for programs that run alike on each.
func onOneJDK(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.OneJDK(t), test)
}

// checkCounts demands that the program counted what its rounds amount to.
func checkCounts(t *testing.T, p *Program) {
	t.Helper()
	counts := p.Counts()
	if len(counts) == 0 {
		t.Error("the program counts nothing")
	}
	for _, line := range p.Expected().Diff(counts) {
		t.Error("by its rounds " + line)
	}
}

func TestWorkloadsCountWhatTheirRoundsAmountTo(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, append(slices.Clone(Everyday), Hammer)...)
		p.Run(2)
		first := p.Check()
		p.StartLoad(3)
		p.Run(1)
		p.StopLoad()
		if again := p.Check(); again != first {
			t.Errorf("check %s, then %s", first, again)
		}
		checkCounts(t, p)
	})
}

func TestModularWorkload(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Modular)
		p.Run(3)
		p.Check()
		checkCounts(t, p)
		if p.Rounds() != 4 {
			t.Errorf("%d rounds, want 4", p.Rounds())
		}
	})
}

func TestVirtualWorkload(t *testing.T) {
	jdk := jvmtest.Need(t, 25)
	p := Start(t, jdk, Attach, Virtual)
	p.Run(3)
	p.StartLoad(2)
	p.StopLoad()
	p.Check()
	checkCounts(t, p)
	const parked = "virtual/Main.parkedInnermost(Ljava/util/concurrent/CountDownLatch;Ljava/util/concurrent/CountDownLatch;)V"
	p.Block(20_000)
	if n := p.Counts()[parked].Entered; n != 20_000 {
		t.Errorf("%d entered, want 20000", n)
	}
	p.Unblock()
}

func TestBlockedMethodsHaveBeenEntered(t *testing.T) {
	const latches = "(Ljava/util/concurrent/CountDownLatch;Ljava/util/concurrent/CountDownLatch;)"
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Blocking)
		p.Run(1)
		before := p.Counts()
		p.Block(3)
		want := Counts{
			"blocking/Main.outermost" + latches + "I":                 {3, 0, Exact},
			"blocking/Main.recursiveMiddle(I" + latches[1:] + "I":     {12, 0, Exact},
			"blocking/Main.catchesWhenLetGo" + latches + "I":          {3, 0, Exact},
			"blocking/Main$Gate.holdsMonitorAndWaits" + latches + "V": {3, 0, Exact},
			"blocking/Main.afterwards()I":                             {0, 0, Exact},
		}
		for _, line := range want.Diff(p.Counts().Minus(before)) {
			t.Error(line)
		}
		p.Unblock()
		want["blocking/Main$Gate.holdsMonitorAndWaits"+latches+"V"] = Count{3, 3, Exact}
		want["blocking/Main.afterwards()I"] = Count{3, 0, Exact}
		for _, line := range want.Diff(p.Counts().Minus(before)) {
			t.Error(line)
		}
	})
}

func TestThousandsOfThreads(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Threads)
		const stays = "threads/Main.staysInside(Ljava/util/concurrent/CountDownLatch;Ljava/util/concurrent/CountDownLatch;)V"
		many := jvmtest.Times(2500, 5000)
		p.Block(many)
		if n := p.Counts()[stays].Entered; n != int64(many) {
			t.Errorf("%d entered, want %d", n, many)
		}
		if n := p.Footprint().Threads; n < many {
			t.Errorf("%d threads, want %d at least", n, many)
		}
		p.Unblock()
	})
}

func TestHammerTellsItsRate(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach.With("-Xmx256m"), Hammer)
		p.Run(2)
		operations, from := p.Rate()
		p.Run(3)
		after, to := p.Rate()
		if after-operations != 30_000 || to <= from {
			t.Errorf("%d operations from %d to %d, want 30000 in some time", after-operations, from, to)
		}
	})
}

func TestReflectTellsTheSameTwice(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Reflected)
		before := p.Reflect()
		p.Run(1)
		if after := p.Reflect(); after != before {
			t.Error("reflection returned something else the second time")
		}
		for _, part := range []string{
			"parameter 0: is: final T first 16 true",
			"component 1: type: java.util.List<@reflected.Marks.Use(6) T>",
			"component 2: annotation: @reflected.Marks.Runtimes(",
			"receiver: @reflected.Marks.Use(15) reflected.Main",
			"throws: [@reflected.Marks.Use(11) java.io.IOException]",
			"permits: [class reflected.Main.Shelf]",
		} {
			// JDKs differ in how they spell nested annotations.
			if !strings.Contains(strings.ReplaceAll(before, "$", "."), part) {
				t.Errorf("reflection does not return %q", part)
			}
		}
	})
}

func TestAnotherUsersProgram(t *testing.T) {
	wrap := jvmtest.AsNobody(t)
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Door{Name: "nobody", Wrap: wrap}, Construction, Loading)
		p.Run(1)
		checkCounts(t, p)
	})
}

func TestDiffTrustsAsFarAsItMay(t *testing.T) {
	own := Counts{
		"exact":   {5, 2, Exact},
		"entries": {5, 2, Entries},
		"about":   {5, 2, About},
		"hidden":  {5, 2, Hidden},
	}
	for _, test := range []struct {
		name  string
		other Counts
		lines int
	}{
		{"the same", own, 0},
		{"more than the program knows", Counts{"exact": {5, 2, ""}, "entries": {5, 9, ""}, "more": {1, 0, ""}}, 0},
		{"an exception missed", Counts{"exact": {5, 1, ""}, "entries": {5, 2, ""}}, 1},
		{"entries missed", Counts{"exact": {4, 2, ""}, "entries": {4, 2, ""}, "about": {4, 2, ""}}, 2},
		{"nothing", nil, 2},
	} {
		if lines := own.Diff(test.other); len(lines) != test.lines {
			t.Errorf("%s: %q, want %d lines", test.name, lines, test.lines)
		}
	}
}

func TestMinusKeepsTrust(t *testing.T) {
	since := Counts{"a": {5, 2, Exact}, "b": {1, 0, About}}.Minus(Counts{"a": {3, 2, Exact}})
	if since["a"] != (Count{2, 0, Exact}) || since["b"] != (Count{1, 0, About}) {
		t.Errorf("got %v", since)
	}
}

func TestSnapshotsAreComparedAsMultisets(t *testing.T) {
	one := Method{Class: "a.B", Loader: "boot", Name: "m", Descriptor: "()V", Code: "code=1", Meaning: "meaning=1"}
	other := one
	other.Code = "code=2"
	if lines := (Snapshot{one, one}).Diff(Snapshot{one}); len(lines) != 1 {
		t.Errorf("one less: %q", lines)
	}
	if lines := (Snapshot{one}).Diff(Snapshot{other}); len(lines) != 2 {
		t.Errorf("other bytes: %q", lines)
	}
	if lines := (Snapshot{one}).DiffMeaning(Snapshot{other}); len(lines) != 0 {
		t.Errorf("the same meaning: %q", lines)
	}
}

func TestOtherAgentFromTheStart(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		agent := OtherAgent(t, jdk)
		for order, lasts := range map[string]bool{"change": true, "change-once": false} {
			t.Run(order, func(t *testing.T) {
				p := Start(t, jdk, JavaAgent(agent+"="+order+" neighbour.Spoken original-word changed"), Neighbour)
				if word, _ := p.Say(); word != "changed" {
					t.Fatalf("after the start it says %s", word)
				}
				// What a transformer did that takes no part in retransformation is kept by the JVM.
				p.Order(agent, "retransform neighbour.Spoken")
				if word, _ := p.Say(); word != "changed" {
					t.Errorf("after a retransformation it says %s", word)
				}
				p.Order(agent, "forget;retransform neighbour.Spoken")
				if word, _ := p.Say(); (word == "changed") == lasts {
					t.Errorf("after a retransformation without the agent it says %s", word)
				}
				p.Run(1)
			})
		}
	})
}

// TestReflectSeesWhatRetransformationLoses shows that the dump reveals it: JDK 17
// before 17.0.20 loses parameter names whenever a class is retransformed.
func TestReflectSeesWhatRetransformationLoses(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	p := Start(t, jdk, Attach, Reflected)
	p.Run(1)
	before := p.Reflect()
	p.Order(OtherAgent(t, jdk), "retransform reflected.Main")
	if lost := p.Reflect() != before; lost != losesParameterNames(t, jdk) {
		t.Errorf("JDK %s: something is lost: %v", jdk.Version, lost)
	}
}

func losesParameterNames(t *testing.T, jdk jvmtest.JDK) bool {
	t.Helper()
	var patch int
	if _, err := fmt.Sscanf(jdk.Version, "17.0.%d", &patch); err != nil {
		t.Fatalf("version %s: %v", jdk.Version, err)
	}
	return patch < 20
}

func TestFootprintIsStable(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Calls)
		p.Run(10)
		p.Footprint()
		first, second := p.Footprint(), p.Footprint()
		if len(first.Descriptors) != len(second.Descriptors) || first.Metaspace == 0 {
			t.Errorf("footprint %v, then %v", first, second)
		}
	})
}
