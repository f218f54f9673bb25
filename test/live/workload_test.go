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
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { test(t, jdk) })
	}
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Threads)
		const stays = "threads/Main.staysInside(Ljava/util/concurrent/CountDownLatch;Ljava/util/concurrent/CountDownLatch;)V"
		p.Block(5_000)
		if n := p.Counts()[stays].Entered; n != 5_000 {
			t.Errorf("%d entered, want 5000", n)
		}
		if n := p.Footprint().Threads; n < 5_000 {
			t.Errorf("%d threads, want 5000 at least", n)
		}
		p.Unblock()
	})
}

func TestHammerTellsItsRate(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Reflected)
		before := p.Reflect()
		p.Run(1)
		if after := p.Reflect(); after != before {
			t.Error("reflection told something else the second time")
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
				t.Errorf("reflection does not tell %q", part)
			}
		}
	})
}

func TestAnotherUsersProgram(t *testing.T) {
	wrap := jvmtest.AsNobody(t)
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Door{Name: "nobody", Wrap: wrap}, Construction, Loading)
		p.Run(1)
		checkCounts(t, p)
	})
}
