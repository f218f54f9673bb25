package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestSpotsCountExactly watches one method three ways, beside its own hook: each
// counts the calls it is to, and no others; switched, changed and taken out as well.
func TestSpotsCountExactly(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		all, within, chosen := methodOf("pay", instrument.Watches, "all"), methodOf("pay", instrument.Watches, "within"), methodOf("pay", instrument.Watches, "chosen")
		within.Below, chosen.Below = 2, 2
		chosen.Code = []weave.Lowered{p.conditionIn("Paths", "pay", condition.Entry, `$1.tier == "gold" && $2 > 100`)}
		spots := append(anchorsOf(), all, within, chosen)
		put(t, p.Look, arena.On|arena.Flat, "Paths.pay")
		plain := methodOf("pay", instrument.Watches, instrument.PlainKey)
		if installed := p.watch(Change{Add: Request{Spots: spots}}); len(installed.Batches) != 1 || len(p.LeftAlone()) != 0 {
			t.Fatalf("%d batches; left alone: %v", len(installed.Batches), p.LeftAlone())
		}
		want := tally{}
		check := func(when string, more tally) {
			t.Helper()
			want = tally{want.all + more.all, want.inOrder + more.inOrder, want.chosen + more.chosen}
			if have := (tally{p.calls(all), p.calls(within), p.calls(chosen)}); have != want {
				t.Errorf("%s: %+v, want %+v", when, have, want)
			}
		}
		done := p.order("run")
		check("on", done)
		p.isDescribed(chosen, "Paths.pay"+payment)
		if err := p.SwitchSpots(t.Context(), map[uint32]arena.Probe{p.SpotID(all): {}, p.SpotID(within): {}}); err != nil {
			t.Fatal(err)
		}
		check("two are off", tally{chosen: p.order("run").chosen})
		installed := p.watch(Change{Remove: Request{Spots: []instrument.Spot{chosen}}, Add: Request{Spots: []instrument.Spot{within}}})
		if len(installed.Batches) != 1 || installed.Batches[0].Classes != 1 {
			t.Errorf("taking one spot out of one class took %+v", installed.Batches)
		}
		check("one is out", tally{inOrder: p.order("run").inOrder})
		if live := p.calls(plain); live != 3*done.all {
			t.Errorf("the hook of pay itself has counted %d calls of %d", live, 3*done.all)
		}
		if _, err := p.Update(t.Context(), Change{Remove: Request{Spots: spots}}); err != nil {
			t.Fatal(err)
		}
		p.order("run")
		check("all are out", tally{})
		if live := p.calls(plain); live != 4*done.all || len(p.Spots()) != 1 {
			t.Errorf("the hook of pay itself has counted %d calls of %d; left are %v", live, 4*done.all, p.Spots())
		}
	})
}

// TestSpotsOfAllForms has the JVM verify and run each template with code: a tag that is
// set further out, conditions at exits, values, and a constructor.
func TestSpotsOfAllForms(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		tag := methodOf("web", instrument.Tags, "tier")
		tag.Tag, tag.Code = 1, []weave.Lowered{p.valueIn("Paths", "web", condition.Entry, "$1.tier")}
		tagged := methodOf("pay", instrument.Watches, "tagged")
		tagged.Code = []weave.Lowered{p.conditionIn("Paths", "pay", condition.Entry, `tx.tier == "gold"`)}
		late := methodOf("pay", instrument.Watches, "late")
		late.Form, late.Flags = instrument.Late, late.Flags|arena.Late
		late.Code = []weave.Lowered{nil, p.conditionIn("Paths", "pay", condition.Exit, "$return >= 500")}
		capturing := methodOf("pay", instrument.Watches, "capturing")
		capturing.Form, capturing.Code = instrument.Capturing, make([]weave.Lowered, 7)
		capturing.Code[2] = p.valueIn("Paths", "pay", condition.Entry, "$1.tier")
		capturing.Code[6] = p.valueIn("Paths", "pay", condition.Exit, "$return")
		made := instrument.Spot{MethodRef: classfile.MethodRef{Class: "Paths$Order", Name: "<init>", Descriptor: "(Ljava/lang/String;)V"}, Key: "made", Flags: arena.On | arena.Flat}
		made.Code = []weave.Lowered{p.conditionIn("Paths$Order", "<init>", condition.Entry, `$1 == "gold"`)}
		p.watch(Change{Add: Request{Spots: []instrument.Spot{tag, tagged, late, capturing, made}}})
		if left := p.LeftAlone(); len(left) != 0 {
			t.Fatalf("left alone: %v", left)
		}
		done := p.order("run")
		var golden, great, orders uint64
		for amount := range int(done.all) {
			isGold, length := amount%3 == 0, len("silver")
			if isGold {
				length = len("gold")
				orders++
			}
			if isGold && amount%2 == 0 {
				golden++ // web
				orders++ // and once more to count it, where it is more than 100 or not
			}
			if amount%50 != 49 && length+amount >= 500 {
				great++
			}
		}
		for _, test := range []struct {
			spot instrument.Spot
			want uint64
		}{{tagged, golden}, {late, great}, {capturing, done.all}, {made, orders}} {
			if have := p.calls(test.spot); have != test.want || have == 0 {
				t.Errorf("%s: %d calls, want %d", test.spot.Key, have, test.want)
			}
		}
	})
}

// TestSpotsGoInAsClassesLoad has a class watched from its first call, and everything
// inactive at the end.
func TestSpotsGoInAsClassesLoad(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		late := instrument.Spot{MethodRef: classfile.MethodRef{Class: "Late", Name: "pay", Descriptor: payment}, Key: "late", Below: 1, Flags: arena.On | arena.Flat}
		err := p.Follow(t.Context(), Follower{Excludes: []string{"java/", "jdk/"}, Loading: func(class string, _ []byte) (request Request) {
			if class == "Late" {
				request.Spots = []instrument.Spot{late}
			}
			return request
		}})
		if err != nil {
			t.Fatal(err)
		}
		p.watch(Change{Add: Request{Spots: anchorsOf()}})
		if done := p.order("late"); p.calls(late) != done.all || done.all == 0 {
			t.Errorf("%d calls of %d in a class that has loaded", p.calls(late), done.all)
		}
		farewell, err := p.Close(t.Context())
		if err != nil || farewell.Restored.Classes != 2 || !farewell.Restored.Unmapped || len(farewell.Remarks) != 0 {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		p.order("late") // goes on without hooks
	})
}

// TestTasksCarryTheirContext pays orders in other threads, which carry the
// context of the one that handed them over.
func TestTasksCarryTheirContext(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		within := methodOf("pay", instrument.Watches, "within")
		within.Below = 2
		spots := append(anchorsOf(), within)
		p.watch(Change{Add: Request{Spots: spots}})
		if p.order("hand"); p.calls(within) != 0 {
			t.Errorf("%d calls have a context that nobody carries", p.calls(within))
		}
		p.watch(Change{HandOff: true})
		if len(p.notices) != 0 {
			t.Errorf("not followed: %q", p.notices)
		}
		for _, way := range []string{"hand", "stages"} {
			before := p.calls(within)
			if done := p.order(way); p.calls(within)-before != done.inOrder || done.inOrder == 0 {
				t.Errorf("%s: %d calls of %d have the context they were handed", way, p.calls(within)-before, done.inOrder)
			}
		}
		if _, err := p.Update(t.Context(), Change{Remove: Request{Spots: spots}}); err != nil {
			t.Fatal(err)
		}
		farewell, err := p.Close(t.Context())
		if err != nil || farewell.Restored.Classes != 0 || len(farewell.Remarks) != 0 {
			t.Errorf("classes are still to be put back: %+v, %v", farewell, err)
		}
		p.order("hand")
	})
}

// spotsIn are an anchor and a spot in each method of a class.
func spotsIn(class string, file []byte) (spots []instrument.Spot) {
	c, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	for i := range c.Methods {
		name, descriptor, err := c.MemberName(&c.Methods[i])
		if err != nil {
			return nil
		}
		p := instrument.Spot{MethodRef: classfile.MethodRef{Class: class, Name: string(name), Descriptor: string(descriptor)}, Key: "watch", Below: 1, Flags: arena.On}
		spots = append(spots, p)
		p.Kind, p.Key, p.First, p.Below = instrument.Anchors, "anchor", 1, 0
		spots = append(spots, p)
	}
	return spots
}

// TestSpotsComeAndGoUnderLoad puts spots in and takes them out while threads run what
// is watched, and load classes that are to be: the program's results stay the same,
// and nothing is left.
func TestSpotsComeAndGoUnderLoad(t *testing.T) {
	const cycles = 3
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls, live.Exceptions, live.Loading)
		p.Run(1)
		s := open(t, p)
		var loaded atomic.Int64
		err := s.Follow(t.Context(), Follower{Excludes: []string{"java/", "jdk/", "sun/"}, Loading: func(class string, file []byte) Request {
			loaded.Add(1)
			return Request{Spots: spotsIn(class, file)}
		}})
		if err != nil {
			t.Fatal(err)
		}
		isOurs := patterns(t, "calls.**", "exceptions.**").MatchClass
		classes, err := s.Prefetch(t.Context(), isOurs, isOurs)
		if err != nil {
			t.Fatal(err)
		}
		var spots []instrument.Spot
		for _, c := range classes {
			spots = append(spots, spotsIn(c.Name, c.File)...)
		}
		p.StartLoad(2)
		for range cycles {
			if _, err := s.Update(t.Context(), Change{Add: Request{Spots: spots}, HandOff: true}); err != nil {
				t.Fatal(err)
			}
			for rounds := p.Rounds(); p.Rounds() < rounds+4; {
				continue // asks the program each time
			}
			if _, err := s.Update(t.Context(), Change{Remove: Request{Spots: spots}}); err != nil {
				t.Fatal(err)
			}
		}
		p.StopLoad()
		p.Check()
		sum, err := s.Sum()
		if err != nil || loaded.Load() == 0 {
			t.Fatalf("%d classes have loaded: %v", loaded.Load(), err)
		}
		var calls uint64
		for _, one := range spots {
			if totals := sum.Methods[s.SpotID(one)]; totals != nil {
				calls += totals.Calls
			}
		}
		if calls == 0 || sum.Dropped != 0 {
			t.Errorf("%d calls, %d lost", calls, sum.Dropped)
		}
		if farewell, err := s.Close(t.Context()); err != nil || !farewell.Restored.Unmapped || len(farewell.Remarks) != 0 {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		p.Check()
	})
}

// paths is testdata/Paths.java while it runs, and a session with it.
type paths struct {
	*Look
	t       *testing.T
	running *jvmtest.Running
	notices []string
}

// A tally is what the program says it did: calls of pay, those below web and order,
// and of those the ones the condition holds for.
type tally struct{ all, inOrder, chosen uint64 }

func openPaths(t *testing.T, jdk jvmtest.JDK) *paths {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Paths.java")}})
	p := &paths{t: t, running: jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "Paths"}})}
	var err error
	p.Look, err = Open(t.Context(), p.running.PID, Settings{
		Command: "sonde test", Notice: func(text string) { p.notices = append(p.notices, text) },
	})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, p.running.Stderr())
	}
	t.Cleanup(func() {
		_, _ = p.Close(context.Background())
		_ = p.Release()
	})
	if _, err := p.Survey(t.Context(), func(class string) bool { return !strings.Contains(class, "/") }); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *paths) order(order string) (done tally) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.running.Stdin, order); err != nil {
		p.t.Fatal(err)
	}
	answer := strings.TrimSpace(p.running.Await(p.t, "done"))
	if _, err := fmt.Sscanf(answer, "done %d %d %d", &done.all, &done.inOrder, &done.chosen); err != nil {
		p.t.Fatalf("%q: %v", answer, err)
	}
	return done
}

// calls are those that a spot has counted.
func (p *paths) calls(spot instrument.Spot) uint64 {
	p.t.Helper()
	sum, err := p.Sum()
	if err != nil {
		p.t.Fatal(err)
	}
	if totals := sum.Methods[p.SpotID(spot)]; totals != nil {
		return totals.Calls
	}
	return 0
}

const payment = "(LPaths$Order;I)J"

// methodOf is a spot in a method of Paths.
func methodOf(name string, kind instrument.SpotKind, key string) instrument.Spot {
	return instrument.Spot{MethodRef: classfile.MethodRef{Class: "Paths", Name: name, Descriptor: payment}, Kind: kind, Key: key, Flags: arena.On | arena.Flat}
}

// anchorsOf are the elements of web >> order: all four that begin it count as web.
func anchorsOf() []instrument.Spot {
	web, soon, later, order := methodOf("web", instrument.Anchors, "anchor"), methodOf("webSoon", instrument.Anchors, "anchor"),
		methodOf("webLater", instrument.Anchors, "anchor"), methodOf("order", instrument.Anchors, "anchor")
	later.Descriptor = "(Ljava/util/concurrent/ExecutorService;I)Ljava/util/List;"
	web.First, soon.First, later.First, order.Below = 1, 1, 1, 2
	stages := later
	stages.Name = "webStages"
	return []instrument.Spot{web, soon, later, stages, order}
}

// conditionIn checks a condition in a method, by the files that the session has.
func (p *paths) conditionIn(class, method string, moment condition.Moment, text string) weave.Lowered {
	p.t.Helper()
	expression, scope := p.parse(class, method, moment, text)
	checked, err := condition.Check(expression, scope)
	if err != nil {
		p.t.Fatal(err)
	}
	return checked
}

// valueIn is conditionIn for a value.
func (p *paths) valueIn(class, method string, moment condition.Moment, text string) weave.Lowered {
	p.t.Helper()
	expression, scope := p.parse(class, method, moment, text)
	checked, err := condition.CheckValue(expression, scope)
	if err != nil {
		p.t.Fatal(err)
	}
	return checked
}

// Find returns the known classes of a name.
func (s *Session) Find(name string) (all []LoadedClass) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	if n := s.state.classes.names[name]; n != nil {
		for _, c := range n.known {
			all = append(all, c.export())
		}
	}
	return all
}

func (p *paths) parse(class, method string, moment condition.Moment, text string) (*expr.Expr, condition.Scope) {
	p.t.Helper()
	lookup := func(name string) *condition.Class {
		for _, c := range p.Find(name) {
			if file, err := classfile.Parse(c.File); err == nil {
				return &condition.Class{File: file, Loader: int(c.Loader)}
			}
		}
		return nil
	}
	home := lookup(class)
	i := slices.IndexFunc(home.File.Methods, func(m classfile.Member) bool {
		name, _, err := home.File.MemberName(&m)
		return err == nil && string(name) == method
	})
	expression, err := expr.Parse(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return expression, condition.Scope{
		Class: home, Method: &home.File.Methods[i], Moment: moment, Lookup: lookup,
		Tags: map[string]int32{"tier": 1}, TagCall: condition.TagCall{Class: instrument.TagsClass(), Method: "tagged"},
	}
}

func (p *paths) watch(change Change) *Installation {
	p.t.Helper()
	installation, err := p.Update(p.t.Context(), change)
	if err != nil {
		p.t.Fatal(err)
	}
	return installation
}

// isDescribed demands that who reads the arena alone knows a spot by its method's name.
func (p *paths) isDescribed(spot instrument.Spot, name string) {
	p.t.Helper()
	methods, err := p.Arena.Methods()
	isIt := func(m arena.Method) bool { return m.ID == p.SpotID(spot) && m.Name == name && !m.LowerBound }
	if err != nil || !slices.ContainsFunc(methods, isIt) {
		p.t.Errorf("the arena has %v: %v", methods, err)
	}
}
