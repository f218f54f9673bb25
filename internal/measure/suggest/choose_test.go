package suggest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

func ref(class, name, descriptor string) classfile.MethodRef {
	return classfile.MethodRef{Class: class, Name: name, Descriptor: descriptor}
}

// m is a method of a made-up program, by one name.
func m(name string) classfile.MethodRef { return ref("shop/"+name, "run", "()V") }

// path is a made-up stack, the leaf first.
func path(weight float64, names ...string) hotspots.Path {
	p := hotspots.Path{Weight: weight}
	for _, name := range names {
		p.Methods = append(p.Methods, m(name))
	}
	return p
}

// called is a candidate that is called so often, and whose probe costs a millionth of
// the program's time for each call a second, or half of that if few calls are timed.
func called(name string, perSecond float64) *Candidate {
	return &Candidate{
		MethodRef: m(name), Pattern: m(name).QualifiedName(), PerSecond: perSecond, Ended: uint64(perSecond * 5), Measured: true, Cost: perSecond * 1e-6, Thin: perSecond * 0.5e-6,
	}
}

func names(choices []Choice) (all []string) {
	for _, c := range choices {
		all = append(all, fmt.Sprintf("%s %s", c.Why, c.Class[len("shop/"):]))
	}
	return all
}

// A served program has a loop that never ends, a handler of requests, and two things
// that those do.
var served = []hotspots.Path{
	path(50, "Hash", "Search", "Handler", "Loop"),
	path(30, "Read", "Rows", "Dao", "Handler", "Loop"),
	path(15, "Parse", "Handler", "Loop"),
	path(5, "Tick", "Timer"),
}

func TestWhatNeverEndsCoversNothing(t *testing.T) {
	loop := called("Loop", 0.2) // entered once in five seconds
	chosen := choose(served, []*Candidate{loop, called("Handler", 100)}, Limits{Budget: 0.02, Most: 40})
	if got := names(chosen); !slices.Equal(got, []string{"covers Handler"}) {
		t.Errorf("%v", got)
	}
	covers := func(one classfile.MethodRef) bool { return one == m("Handler") }
	if got, _ := cover(served, covers); got != 0.95 {
		t.Errorf("covers %v", got)
	}
}

func TestTheLeafCoversNothing(t *testing.T) {
	paths := []hotspots.Path{path(3, "Hash", "Search"), path(1, "Search")}
	if got, _ := cover(paths, func(one classfile.MethodRef) bool { return one == m("Search") }); got != 0.75 {
		t.Errorf("covers %v", got)
	}
	if got, _ := cover(paths, func(one classfile.MethodRef) bool { return one == m("Hash") }); got != 0 {
		t.Errorf("the leaf alone covers %v", got)
	}
	if got, _ := cover(nil, func(classfile.MethodRef) bool { return true }); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestCheapCoverComesFirst: what is called less often covers for less; then what tells
// parts of it apart.
func TestCheapCoverComesFirst(t *testing.T) {
	candidates := []*Candidate{called("Handler", 100), called("Search", 80), called("Dao", 60), called("Rows", 900), called("Timer", 1)}
	chosen := choose(served, candidates, Limits{Budget: 0.02, Most: 40})
	got := names(chosen)
	if want := []string{"covers Handler", "covers Timer", "splits Search", "splits Dao"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if last := chosen[3]; last.Adds != 0 {
		t.Errorf("%+v", last)
	}
}

// TestASecondOfAChainIsNotChosen: a method that stands above the same samples as one
// that was chosen tells nothing.
func TestASecondOfAChainIsNotChosen(t *testing.T) {
	paths := []hotspots.Path{path(60, "a", "Servlet", "Valve", "Filter", "Host"), path(40, "b", "Servlet", "Valve", "Filter", "Host")}
	var candidates []*Candidate
	for _, name := range []string{"Servlet", "Valve", "Filter", "Host"} {
		candidates = append(candidates, called(name, 100))
	}
	candidates[0].Entry = "servlet"
	if got := names(choose(paths, candidates, Limits{Budget: 0.02, Most: 40})); !slices.Equal(got, []string{"covers Servlet"}) {
		t.Errorf("%v", got)
	}
}

// TestALeafTellsOfItself: it covers nothing, but its own time parts that of its caller.
func TestALeafTellsOfItself(t *testing.T) {
	paths := []hotspots.Path{path(60, "Sort", "Handler"), path(40, "Search", "Handler")}
	candidates := []*Candidate{called("Handler", 10), called("Sort", 6), called("Search", 4)}
	if got := names(choose(paths, candidates, Limits{Budget: 0.02, Most: 40})); !slices.Equal(got, []string{"covers Handler", "splits Search"}) {
		t.Errorf("%v", got)
	}
}

func TestBudgetIsKept(t *testing.T) {
	hot := called("Rows", 40_000) // 4 % by itself, 2 % if few calls are timed
	candidates := []*Candidate{hot, called("Search", 9_000), called("Dao", 3_000)}
	chosen := choose(served, candidates, Limits{Budget: 0.02, Most: 40})
	var cost float64
	for _, c := range chosen {
		cost += c.Cost
	}
	if cost > full*0.02 || slices.ContainsFunc(chosen, func(c Choice) bool { return c.Candidate == hot }) {
		t.Errorf("%v cost %v", names(chosen), cost)
	}
	if got := names(choose(served, []*Candidate{hot}, Limits{Budget: 0.02, Most: 40})); len(got) > 0 {
		t.Errorf("%v is beyond the budget", got)
	}
}

// TestFewCallsAreTimedToCoverMore: a server's handler and what waits for its sockets are
// called once a request each, and to time all calls of both is too much.
func TestFewCallsAreTimedToCoverMore(t *testing.T) {
	paths := []hotspots.Path{path(60, "Parse", "Handler"), path(30, "Write", "Handler"), path(10, "Select", "Poller")}
	handler, poller := called("Handler", 14_000), called("Poller", 13_000)
	thinned := func(candidates ...*Candidate) (all []string) {
		for _, c := range choose(paths, candidates, Limits{Budget: 0.02, Most: 40}) {
			all = append(all, fmt.Sprintf("%s %v", c.Class[len("shop/"):], c.Thins))
		}
		return all
	}
	if got := thinned(handler); !slices.Equal(got, []string{"Handler false"}) {
		t.Errorf("by itself it has room: %v", got)
	}
	if got := thinned(handler, poller); !slices.Equal(got, []string{"Handler true", "Poller true"}) {
		t.Errorf("%v", got)
	}
	if got := thinned(handler, called("Poller", 7_000)); !slices.Equal(got, []string{"Handler false", "Poller true"}) {
		t.Errorf("of one few suffice: %v", got)
	}
	if got := thinned(handler, called("Poller", 30_000)); !slices.Equal(got, []string{"Handler false"}) {
		t.Errorf("where that does not help all are timed: %v", got)
	}
	paths[2].Weight = 1
	if got := thinned(handler, poller); !slices.Equal(got, []string{"Handler false"}) {
		t.Errorf("for a percent nothing is timed less: %v", got)
	}
}

// TestWaitsAndDatabases: threads wait where samples of running threads show nothing, and
// what asks a database is taken rather than its neighbour.
func TestWaitsAndDatabases(t *testing.T) {
	blocked := called("Stock", 50)
	blocked.Blocked = 0.8
	dao, rows := called("Dao", 60), called("Rows", 60)
	dao.Uses = []Use{{Database, "java.sql.PreparedStatement.executeQuery"}}
	got := names(choose(served, []*Candidate{called("Handler", 100), dao, rows, blocked}, Limits{Budget: 0.02, Most: 40}))
	if want := []string{"covers Handler", "waits Stock", "nature Dao"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSoManyAtMost(t *testing.T) {
	candidates := []*Candidate{called("Handler", 100), called("Search", 80), called("Dao", 60), called("Timer", 1)}
	if got := choose(served, candidates, Limits{Budget: 0.02, Most: 2}); len(got) != 2 {
		t.Errorf("%v", names(got))
	}
}

// TestOrderDoesNotMatter: the same samples give the same choice, however they come.
func TestOrderDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	var paths []hotspots.Path
	var candidates []*Candidate
	for i := range 60 {
		candidates = append(candidates, called(fmt.Sprint(i), float64(1+random.IntN(2000))))
	}
	for range 300 {
		p := hotspots.Path{Weight: float64(1 + random.IntN(9))}
		for at := random.IntN(10); at < 60; at += 1 + random.IntN(20) {
			p.Methods = append(p.Methods, m(fmt.Sprint(at)))
		}
		paths = append(paths, p)
	}
	first := names(choose(paths, candidates, Limits{Budget: 0.02, Most: 40}))
	for range 5 {
		random.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
		if again := names(choose(paths, candidates, Limits{Budget: 0.02, Most: 40})); !slices.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
	}
	if len(first) == 0 || len(first) > 40 {
		t.Errorf("%d", len(first))
	}
}

func TestReasons(t *testing.T) {
	c := Choice{Candidate: called("Dao", 1234.4), Why: ToCover, Adds: 0.3}
	c.Share, c.Mean, c.Blocked = 0.3, 85_123*time.Nanosecond, 0.5
	c.Uses = []Use{{Database, "java.sql.Statement.execute"}, {Lock, "synchronized"}}
	const want = "covers: a caller in 30 % of the samples; 0.5 threads wait in it for a lock; database: calls java.sql.Statement.execute; synchronized; 1,234 calls/s of 85.1 µs; costs 0.12 %"
	if got := c.Reason(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// stack is a made-up path of classes, the leaf first.
func stack(weight float64, classes ...string) hotspots.Path {
	p := hotspots.Path{Weight: weight}
	for _, class := range classes {
		p.Methods = append(p.Methods, ref(class, "run", "()V"))
	}
	return p
}

func picked(l *look) (classes []string) {
	for _, c := range pick(l) {
		classes = append(classes, c.Class)
	}
	return classes
}

// TestWhatIsCounted: not the core of the JDK, nor what only carries calls; first where
// threads wait; last what is compiled into others or is the JDK's.
func TestWhatIsCounted(t *testing.T) {
	l := &look{inlining: make(inlining), queue: newQueue(), paths: []hotspots.Path{
		stack(60, "shop/Hash", "java/util/HashMap", "shop/Small", "shop/Handler", "sun/net/httpserver/Exchange", "java/lang/invoke/X", "java/lang/Thread"),
		stack(30, "shop/Sort", "shop/Handler", "sun/net/httpserver/Exchange", "java/lang/Thread"),
		stack(10, "java/util/Timer", "shop/Clock", "java/lang/Thread"),
		stack(0.1, "shop/Leaf", "shop/Rare", "java/lang/Thread"),
	}}
	for name, inlined := range map[string]int{"shop/Small": 9, "shop/Hash": 9, "shop/Handler": 0} {
		l.inlining[ref(name, "run", "()V")] = struct{ seen, inlined int }{10, inlined}
	}
	l.queue.dumps = 10
	l.queue.waits[ref("shop/Pool", "take", "")] = Waits{Blocked: 5}
	l.queue.waits[ref("shop/Seldom", "take", "")] = Waits{Files: 0.1}
	want := []string{"shop/Pool", "shop/Handler", "shop/Sort", "shop/Clock", "shop/Small", "sun/net/httpserver/Exchange"}
	if got := picked(l); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFewAreCounted: what is compiled into others is left alone where enough others stand
// above the same samples, and there is a bound.
func TestFewAreCounted(t *testing.T) {
	l := &look{inlining: make(inlining), queue: newQueue()}
	p := stack(1, "Leaf", "Inlined", "A", "B", "C")
	l.inlining[p.Methods[1]] = struct{ seen, inlined int }{10, 9}
	l.paths = []hotspots.Path{p}
	if got := picked(l); slices.Contains(got, "Inlined") {
		t.Errorf("%v", got)
	}
	l.paths = nil
	for i := range 5 {
		classes := []string{"java/lang/Math"}
		for j := range outermost {
			classes = append(classes, fmt.Sprintf("shop/C%d%02d", i, j))
		}
		l.paths = append(l.paths, stack(1, classes...))
	}
	if got := len(picked(l)); got != maxClasses {
		t.Errorf("%d classes of %d, want %d", got, 5*outermost, maxClasses)
	}
}
