package cost

import (
	"testing"
	"time"
)

const ms = time.Millisecond

var all = Known{Pauses: true, Compiles: true, Compilers: true, VMThread: true, Process: true}

func TestUntil(t *testing.T) {
	now := time.Now()
	stays, ends, begins := threadKey{1, 10}, threadKey{2, 10}, threadKey{2, 20}
	before := Reading{
		At: now, Known: all, process: 1000 * ms,
		counters: counters{safepoints: 10, pause: 100 * ms, sync: 4 * ms, compiles: 500, compileTime: 900 * ms},
		threads: map[threadKey]thread{
			stays: {compiler, 300 * ms, 7 * ms}, ends: {compiler, 50 * ms, 0}, {3, 1}: {vmThread, 20 * ms, 0},
		},
	}
	after := Reading{
		At: now.Add(2 * time.Second), Known: all, process: 3000 * ms,
		counters: counters{safepoints: 12, pause: 130 * ms, sync: 5 * ms, compiles: 600, compileTime: 1500 * ms},
		threads: map[threadKey]thread{
			stays: {compiler, 700 * ms, 9 * ms}, begins: {compiler, 30 * ms, ms}, {3, 1}: {vmThread, 25 * ms, ms},
		},
	}
	want := Cost{
		Known: all, Elapsed: 2 * time.Second,
		Safepoints: 2, Pause: 30 * ms, PauseSync: ms, LongestAtLeast: 15 * ms, LongestAtMost: 30 * ms,
		Compilations: 100, CompileTime: 600 * ms,
		CompileCPU: 430 * ms, CompileWait: 3 * ms, VMThread: 5 * ms, Rest: 1565 * ms, Ended: 1,
	}
	if got := before.Until(after); got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if worked, known := after.Compiled(); worked != 730*ms || !known {
		t.Errorf("compilers have worked %v, known: %v", worked, known)
	}
	if got := before.Until(before); got != (Cost{Known: all}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestUntilKnowsOnlyWhatBothDo(t *testing.T) {
	known := Reading{Known: all, counters: counters{safepoints: 5, compiles: 7}, process: time.Second,
		threads: map[threadKey]thread{{1, 1}: {compiler, ms, 0}, {2, 1}: {vmThread, ms, 0}}}
	if got := (Reading{}).Until(known); got != (Cost{}) {
		t.Errorf("%+v", got)
	}
	if got := known.Until(Reading{}); got != (Cost{Ended: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestThen(t *testing.T) {
	first := Cost{Known: all, Elapsed: ms, Safepoints: 2, Pause: 10 * ms, LongestAtLeast: 5 * ms, LongestAtMost: 10 * ms, CompileCPU: 3 * ms}
	next := Cost{Known: Known{Pauses: true}, Elapsed: ms, Safepoints: 1, Pause: 8 * ms, LongestAtLeast: 8 * ms, LongestAtMost: 8 * ms}
	got := first.Then(next)
	want := Cost{Known: Known{Pauses: true}, Elapsed: 2 * ms, Safepoints: 3, Pause: 18 * ms,
		LongestAtLeast: 8 * ms, LongestAtMost: 10 * ms, CompileCPU: 3 * ms}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}
