package profile

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// thread has a root call that began at 1,000 and a callee that began at 1,600, and
// before that callees of 200 in all.
func thread() arena.Thread {
	return arena.Thread{
		Root: 1,
		Nodes: []arena.Node{
			{Ref: 2, Parent: 1, ID: 10, Calls: 1},
			{Ref: 3, Parent: 2, ID: 11, Calls: 3, Timed: 2, Nanos: 200, Self: 200},
		},
		Stack: []arena.Frame{{ID: 10, Node: 2, Start: 1000, Child: 200}, {ID: 11, Node: 3, Start: 1600}},
	}
}

func TestUnderWay(t *testing.T) {
	have := underWay(thread(), 2000)
	if want := map[uint32]int64{2: 400, 3: 400}; !maps.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
}

// TestAWindowLeavesOutWhatWasBefore checks a root that goes on all the time: in the
// window it is one call, with its time since.
func TestAWindowLeavesOutWhatWasBefore(t *testing.T) {
	w := window{}
	w.at = 2000
	w.keep([]arena.Thread{thread()})
	later := thread()
	later.Nodes[1] = arena.Node{Ref: 3, Parent: 2, ID: 11, Calls: 5, Timed: 5, Nanos: 1500, Self: 1500}
	later.Nodes = append(later.Nodes, arena.Node{Ref: 4, Parent: 2, ID: 12, Calls: 7, Timed: 7, Self: 70})
	later.Stack = []arena.Frame{{ID: 10, Node: 2, Start: 1000, Child: 1570}}
	threads := []arena.Thread{later}
	w.subtract(threads)
	soFar := underWay(later, 4000)
	root, callee, fresh := threads[0].Nodes[0], threads[0].Nodes[1], threads[0].Nodes[2]
	// The root itself has run for 4,000-1,000-1,570, of which 400 were before 2,000.
	if got, want := root.Self+soFar[2], int64(1430-400); root.Calls != 1 || got != want {
		t.Errorf("the root: %d calls, self %d; want 1, %d", root.Calls, got, want)
	}
	// One call was under way, two came since; 400 of the first were before.
	if callee.Calls != 3 || callee.Timed != 3 || callee.Self != 1500-200-400 {
		t.Errorf("the callee: %+v", callee)
	}
	if fresh.Calls != 7 || fresh.Self != 70 {
		t.Errorf("a node that is new: %+v", fresh)
	}
}

// TestEarlyCalls checks whether calls that ran when the window began still run.
func TestEarlyCalls(t *testing.T) {
	running := func(start int64) arena.Thread {
		th := thread()
		th.Stack[0].Start = start
		return th
	}
	ended, untimed, other := running(0), running(0), running(1000)
	ended.Stack, other.Root = nil, 7
	w := window{early: outermostCalls([]arena.Thread{running(1000), untimed})}
	for name, tt := range map[string]struct {
		now  []arena.Thread
		want bool
	}{
		"it goes on":                {[]arena.Thread{running(1000)}, true},
		"it has ended":              {[]arena.Thread{ended}, false},
		"the next one runs":         {[]arena.Thread{running(1700)}, false},
		"an untimed one runs":       {[]arena.Thread{untimed}, false},
		"its thread has ended":      {nil, false},
		"another thread runs one":   {[]arena.Thread{other}, false},
		"another one ended earlier": {[]arena.Thread{other, running(1000)}, true},
	} {
		if got := w.hasEarly(tt.now); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestAViewIsWhatFiguresCover checks that a view begins and ends with the window, not with
// the run.
func TestAViewIsWhatFiguresCover(t *testing.T) {
	read := time.Now()
	before := func(d time.Duration) time.Time { return read.Add(-d) }
	r := &run{began: before(12500 * time.Millisecond)}
	w := window{began: before(10 * time.Second), at: 2000, threads: map[uint32]map[uint32]arena.Node{}}
	v := w.narrow(r, nil, read)
	if v.began != w.began || v.took() != 10*time.Second || v.since != 2000 || !strings.HasPrefix(v.note, "figures cover the last 10.0 s, ") || !strings.HasSuffix(v.note, "the first 2.50 s are left out") {
		t.Errorf("%+v", v)
	}
	w.early = outermostCalls([]arena.Thread{thread()})
	if v := w.narrow(r, nil, read); !strings.HasSuffix(v.note, "the first 2.50 s are left out"+earlyNote) {
		t.Errorf("with calls that began before the window: %q", v.note)
	}
	w.early = nil
	ended := thread()
	ended.Stack = nil
	w.keep([]arena.Thread{ended})
	if v := w.narrow(r, []arena.Thread{ended}, read); v.began != r.began || v.note != "" || ended.Nodes[1].Calls != 3 {
		t.Errorf("a window without calls: %+v, %+v; want the whole run, with 3 calls", v, ended.Nodes[1])
	}
	w.threads = map[uint32]map[uint32]arena.Node{}
	w.began = before(minWindow / 2)
	if v := w.narrow(r, nil, read); v.began != r.began || v.took() != 12500*time.Millisecond || v.note != "" {
		t.Errorf("a window that is not wide enough: %+v", v)
	}
}

// TestAWindowMayBeEnough checks from when on late hooks do not begin the window again.
func TestAWindowMayBeEnough(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		open, run time.Duration
		isOpen    bool
		want      bool
	}{
		{10 * time.Second, 20 * time.Second, true, true},
		{10 * time.Second, 20 * time.Second, false, false},
		{time.Second, 2 * time.Second, true, false}, // shorter than minWindow
		{4 * time.Second, 20 * time.Second, true, false},
		{5 * time.Second, 20 * time.Second, true, true},
	} {
		w := window{began: now.Add(-tt.open)}
		if tt.isOpen {
			w.threads = map[uint32]map[uint32]arena.Node{}
		}
		if got := w.isEnough(now.Add(-tt.run), now); got != tt.want {
			t.Errorf("open for %v of %v: %v, want %v", tt.open, tt.run, got, tt.want)
		}
	}
}

// TestOffIsNotZeroCalls checks that hooks that were off, on for a part, or never tried are
// named, and those that were on throughout are not.
func TestOffIsNotZeroCalls(t *testing.T) {
	read := time.Now()
	before := func(seconds int) time.Time { return read.Add(-time.Duration(seconds) * time.Second) }
	g, hooks := hooksOf("root", "on", "late", "off", "cut", "untried")
	hooks[1].onAt = before(12)
	hooks[2].onAt = before(3)
	hooks[3].onAt, hooks[3].offAt, hooks[3].mode, hooks[3].reason = before(20), before(15), off, "dear"
	hooks[4].onAt, hooks[4].offAt, hooks[4].mode, hooks[4].reason = before(20), before(6), off, "dear"
	hooks[5].mode = untried
	p := &cct.Profile{Took: 10 * time.Second, Methods: []cct.Method{{Class: "a/B", Name: "root", Descriptor: "()V"}}}
	(&budget{run: &run{}, governor: g}).explain(p, view{began: before(10), read: read})
	if len(p.Methods) != len(hooks) {
		t.Fatalf("methods with hooks are missing: %v", p.Methods)
	}
	partly := map[string]time.Duration{}
	for method, on := range p.Partly() {
		partly[p.Methods[method].Name] = on
	}
	want := map[string]time.Duration{"late": 3 * time.Second, "off": 0, "cut": 4 * time.Second, "untried": 0}
	if !maps.Equal(partly, want) {
		t.Errorf("%v, want %v", partly, want)
	}
}
