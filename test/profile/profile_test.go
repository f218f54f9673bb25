package profile_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// A behaviour is one kind of call, in a program that counts.
type behaviour struct {
	name    string
	roots   []string // patterns; Main.root where none are given
	threads int      // on which it runs at once; 1 where none are given
	since   int      // the first JDK that has it
}

// behaviours are all but the wide hierarchy. None has run when its profile
// begins, so each loads classes inside its root.
var behaviours = []behaviour{
	{name: "kinds", threads: 3},   // static, special, virtual, interface; default methods, bridges, synchronized
	{name: "late"},                // overriding classes that load inside the root
	{name: "lambdas", threads: 2}, // lambdas and references, made inside the root and before
	{name: "callbacks"},           // what only the JDK calls: streams, comparators, keys of maps
	{name: "reflection"},          // Method.invoke and Constructor.newInstance, made inside the root and before
	{name: "handles"},             // method handles, made inside the root and before
	{name: "natives"},             // methods without a body, at their call sites
	{name: "constructors"},        // chains of super and this, exceptions behind super and through it
	{name: "initialisers"},        // static initialisers that first run inside the root
	{name: "recursion"},           // direct, mutual, deep, ended by exceptions
	{name: "exceptions"},          // through frames with hooks and without
	{name: "shapes"},              // inner, local, anonymous, enum, record; switches on strings and enums
	{name: "outside", threads: 2}, // the same methods on other threads, outside the root
	{name: "reroot", threads: 2},  // a root below itself
	{name: "roots", roots: []string{"roots.Main.firstRoot", "roots.Main.secondRoot"}},
	{name: "loaders"},             // one class, loaded by several loaders
	{name: "patterns", since: 25}, // switches on types and records
	{name: "virtuals", since: 25}, // virtual threads that change their carrier inside the root
}

const rounds = 5

// bySchemes runs a test on each JDK with each scheme, all at once.
func bySchemes(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, scheme profile.Scheme)) {
	t.Helper()
	for _, jdk := range jvmtest.JDKs(t) {
		for _, scheme := range []profile.Scheme{profile.Lazy, profile.Eager} {
			t.Run(fmt.Sprintf("jdk%d %s", jdk.Major, scheme), func(t *testing.T) {
				t.Parallel()
				test(t, jdk, scheme)
			})
		}
	}
}

// TestCountsAreExact: in each calling context below the root a profile has as
// many calls and exceptions as the program itself counted. Outside a soak each
// behaviour meets one scheme, on one JDK: hooks do the same in both, which differ in when they are installed.
func TestCountsAreExact(t *testing.T) {
	bySchemes(t, func(t *testing.T, jdk jvmtest.JDK, scheme profile.Scheme) {
		var names []string
		var some []behaviour
		for i, b := range behaviours {
			isTurn := jvmtest.Soak() || (scheme == profile.Eager) == (i/2%2 == 1)
			if isTurn && b.since <= jdk.Major && (b.since > 0 || jvmtest.Turn(t, jdk, i, len(behaviours))) {
				some = append(some, b)
				names = append(names, b.name)
			}
		}
		p := start(t, jdk, doorFor(t, jdk, scheme), names...)
		for _, b := range some {
			t.Run(b.name, func(t *testing.T) {
				b.profile(t, &program{p.Running, t}, scheme)
			})
		}
	})
}

func (b behaviour) profile(t *testing.T, p *program, scheme profile.Scheme) {
	options := profile.Options{Roots: b.roots, Scheme: scheme, Timing: cct.Exact, Whole: true}
	if options.Roots == nil {
		options.Roots = []string{b.name + ".Main.root"}
	}
	p.forget()
	result := p.profiled(options, func() { p.turn(b.name, rounds, max(b.threads, 1)) })
	truth := p.contexts()
	known := truth.methods()
	merged := contextsOf(result, result.Merged, known)
	for _, line := range truth.diff(merged) {
		t.Error(line)
	}
	byThread := make(contexts)
	for _, thread := range result.Threads {
		byThread.add(contextsOf(result, thread.Top, known))
	}
	if !maps.Equal(merged, byThread) {
		t.Errorf("over all threads there are %v, merged %v", byThread, merged)
	}
	sound(t, result)
	if t.Failed() {
		t.Logf("left alone: %v\nnotes: %q\nstderr: %s", result.LeftAlone, result.Notes, p.Stderr())
	}
}

// TestProfilesBesideAnotherLook: profiles of a JVM in which another look counts and times the
// same methods all the while are as exact as alone, one after the other, and so are the counts of
// the other look.
func TestProfilesBesideAnotherLook(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := start(t, jdk, live.Attach, "kinds", "recursion", "exceptions")
			var shared session.Sessions
			other, err := session.Open(t.Context(), p.PID, session.Settings{Command: "sonde count", In: &shared})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if _, err := other.Close(context.Background()); err != nil {
					t.Error(err)
				}
				_ = other.Release()
			}()
			methods, err := pattern.ParseSet("kinds.**", "recursion.**", "exceptions.**")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Instrument(t.Context(), session.Wanted{Methods: methods, Flags: arena.Flat | arena.Timed | arena.Spreads}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"kinds", "recursion", "exceptions", "kinds"} {
				for _, scheme := range []profile.Scheme{profile.Lazy, profile.Eager} {
					before := callsOf(t, other)
					p.forget()
					options := profile.Options{Roots: []string{name + ".Main.root"}, Scheme: scheme, Timing: cct.Exact, Whole: true}
					options.In = &shared
					result := p.profiled(options, func() { p.turn(name, rounds, 2) })
					truth := p.contexts()
					for _, line := range truth.diff(contextsOf(result, result.Merged, truth.methods())) {
						t.Errorf("%s %s: %s", name, scheme, line)
					}
					sound(t, result)
					after, want := callsOf(t, other), make(map[string]int64)
					for path, count := range truth {
						words := strings.Fields(path)
						want[words[len(words)-1]] += count.entered
					}
					for method, calls := range want {
						if have := int64(after[method] - before[method]); have != calls {
							t.Errorf("%s %s: the other look counted %d calls of %s, the program %d", name, scheme, have, method, calls)
						}
					}
				}
			}
		})
	}
}

// callsOf returns the calls that a look has counted, by method.
func callsOf(t *testing.T, l *session.Look) map[string]uint64 {
	t.Helper()
	sum, err := l.Sum()
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]uint64)
	for _, m := range l.Methods() {
		if totals := sum.Methods[m.ID]; totals != nil {
			calls[m.Class+"."+m.Member()] += totals.Calls
		}
	}
	return calls
}

// A count is of one method in one calling context.
type count struct {
	entered, threw int64 // threw is unknown where the program cannot count it
}

// unknown stands for a number of exceptions that the program itself cannot know.
const unknown = -1

// contexts are counts by calling context: the names of methods from the root on,
// with blanks between them.
type contexts map[string]count

// methods are all that occur in contexts.
func (c contexts) methods() map[string]bool {
	methods := make(map[string]bool)
	for path := range c {
		for _, method := range strings.Fields(path) {
			methods[method] = true
		}
	}
	return methods
}

// diff returns a line for each context in which a profile differs.
func (c contexts) diff(other contexts) []string {
	all := maps.Clone(other)
	maps.Copy(all, c)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		own, theirs := c[path], other[path]
		if own.entered == theirs.entered && (own.threw == theirs.threw || own.threw == unknown) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: the program counted %d entries, %d exceptions; the profile %d, %d",
			short(path), own.entered, own.threw, theirs.entered, theirs.threw))
	}
	return lines
}

// short is a context for people: without packages and parameters, and of deep ones
// the root and the end.
func short(path string) string {
	const most = 6
	names := strings.Fields(path)
	for i, name := range names {
		name, _, _ = strings.Cut(name, "(")
		names[i] = name[strings.LastIndexByte(name, '/')+1:]
	}
	if deep := len(names) - most; deep > 0 {
		names = slices.Concat(names[:1], []string{fmt.Sprintf("(%d more)", deep)}, names[deep+1:])
	}
	return strings.Join(names, " → ")
}

// nameOf is a method's name as the programs have it.
func nameOf(m cct.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// contextsOf is what a tree says about some methods. What stands between them,
// such as a bridge, is left out of the paths.
func contextsOf(p *cct.Profile, top *cct.Node, known map[string]bool) contexts {
	found := make(contexts)
	var walk func(node *cct.Node, path string)
	walk = func(node *cct.Node, path string) {
		if node.Method >= 0 && known[nameOf(p.Methods[node.Method])] {
			path = strings.TrimSpace(path + " " + nameOf(p.Methods[node.Method]))
			sum := found[path]
			sum.entered += int64(node.Calls)
			sum.threw += int64(node.Threw)
			found[path] = sum
		}
		for _, child := range node.Children {
			walk(child, path)
		}
	}
	walk(top, "")
	return found
}

// add sums counts of several trees.
func (c contexts) add(other contexts) {
	for path, count := range other {
		sum := c[path]
		sum.entered += count.entered
		sum.threw += count.threw
		c[path] = sum
	}
}

// TestLazyInstrumentsAThirdOfEager: of a wide hierarchy, of which the root uses
// little, lazy puts hooks into at most a third of the methods that eager does.
func TestLazyInstrumentsAThirdOfEager(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			t.Parallel()
			hooks := make(map[profile.Scheme]int)
			for _, scheme := range []profile.Scheme{profile.Lazy, profile.Eager} {
				p := start(t, jdk, doorFor(t, jdk, scheme), "wide")
				result := p.profiled(profile.Options{Roots: []string{"wide.Main.root"}, Scheme: scheme, Timing: cct.Exact},
					func() { p.turn("wide", rounds, 1) })
				truth := p.contexts()
				for _, line := range truth.diff(contextsOf(result, result.Merged, truth.methods())) {
					t.Errorf("%s: %s", scheme, line)
				}
				sound(t, result)
				hooks[scheme] = result.Cost.Hooks
			}
			lazy, eager := hooks[profile.Lazy], hooks[profile.Eager]
			t.Logf("methods with hooks: lazy %d, eager %d (%.2f)", lazy, eager, float64(lazy)/float64(eager))
			if least := wideClasses * (wideHelpers + 1); eager < least {
				t.Errorf("eager put hooks into %d methods; %d can be reached", eager, least)
			}
			if 3*lazy > eager {
				t.Errorf("lazy put hooks into %d methods, more than a third of the %d of eager", lazy, eager)
			}
		})
	}
}

// TestDurationIsOfTheFigures profiles a program that rests, until the figures leave out
// the time in which its compilers were busy: then the profile's beginning and duration
// are those of the rest.
func TestDurationIsOfTheFigures(t *testing.T) {
	const beginning = "figures cover the last "
	lastOf := func(p *cct.Profile) string {
		for _, note := range p.Notes {
			if rest, is := strings.CutPrefix(note, beginning); is {
				last, _, _ := strings.Cut(rest, ",")
				return last
			}
		}
		return ""
	}
	p := start(t, jvmtest.OneJDK(t)[0], live.Attach, "wide")
	narrowed := make(chan struct{})
	var reported bool
	options := profile.Options{Roots: []string{"wide.Main.root"}, Timing: cct.Exact, Progress: func(progress profile.Progress) {
		if reported || progress.Tree == nil {
			return
		}
		if tree, err := progress.Tree(); err == nil && lastOf(tree) != "" {
			reported = true
			close(narrowed)
		}
	}}
	var on time.Time
	result := p.profiled(options, func() {
		on = time.Now()
		p.turn("wide", 1, 1) // no hook comes after it
		select {
		case <-narrowed:
		case <-time.After(jvmtest.RunLimit / 6):
			t.Fatal("the figures never left anything out")
		}
		p.turn("wide", 1, 1)
	})
	if last, took := lastOf(result), format.Duration(result.Took); last != took {
		t.Errorf("the figures cover the last %q, the profile says %q", last, took)
	}
	if !result.Began.After(on) {
		t.Errorf("the figures begin at %v, hooks were on before %v", result.Began, on)
	}
}

// tolerance is what sums of nanoseconds may differ by, as a part of them, for
// they are added up in another order.
const tolerance = 1e-6

// sound demands what holds of every exact profile of a program at rest.
func sound(t *testing.T, p *cct.Profile) {
	t.Helper()
	for _, root := range p.Merged.Children {
		if sum := selfBelow(root); !near(sum, root.Total.Nanos) {
			t.Errorf("self times of %s and all below it are %g ns, its total %g ns", label(p, root), sum, root.Total.Nanos)
		}
	}
	everyNode(p.Merged, func(node *cct.Node) {
		if node.Method < 0 {
			return
		}
		switch {
		case node.Missed != 0 || node.Late:
			t.Errorf("%s: hooks came too late for some calls: %d missed, late: %v", label(p, node), node.Missed, node.Late)
		case node.Running != 0:
			t.Errorf("%s: %d calls run, the program is at rest", label(p, node), node.Running)
		case node.Timed != node.Calls && p.Methods[node.Method].Name != "<init>":
			// No handler stands around a call of super: what ends there is not timed.
			t.Errorf("%s: %d of %d calls were timed", label(p, node), node.Timed, node.Calls)
		}
		for _, time := range []cct.Time{node.Self, node.Total} {
			if !(time.Low <= time.Nanos && time.Nanos <= time.High) {
				t.Errorf("%s: %g ns are not within %g and %g", label(p, node), time.Nanos, time.Low, time.High)
			}
		}
	})
}

func everyNode(node *cct.Node, visit func(*cct.Node)) {
	visit(node)
	for _, child := range node.Children {
		everyNode(child, visit)
	}
}

func selfBelow(node *cct.Node) float64 {
	var sum float64
	everyNode(node, func(n *cct.Node) { sum += n.Self.Nanos })
	return sum
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

func label(p *cct.Profile, node *cct.Node) string { return nameOf(p.Methods[node.Method]) }
