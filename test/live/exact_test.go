package live_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// ofTheProgram is every method of a program but those that count for it.
var ofTheProgram = []string{"**", "!java.**", "!javax.**", "!jdk.**", "!sun.**", "!com.sun.**", "!harness.**"}

// byOneDoor runs a test on one JDK by one door, which its name decides. In a soak
// it runs on each JDK by each door, all at once.
func byOneDoor(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	t.Helper()
	byDoors(t, jvmtest.OneJDK(t), test)
}

// byDoors is like byOneDoor with these JDKs.
func byDoors(t *testing.T, jdks []jvmtest.JDK, test func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	t.Helper()
	for _, jdk := range jdks {
		for _, door := range jvmtest.OneOf(t, doors(t)) {
			t.Run(fmt.Sprintf("jdk%d by %s", jdk.Major, door.Name), func(t *testing.T) {
				t.Parallel()
				test(t, jdk, door)
			})
		}
	}
}

// A counting is a program under observation, with what it and Sonde counted
// when they were last compared.
type counting struct {
	*session.Look
	t       *testing.T
	p       *live.Program
	lock    sync.Mutex
	notices []string

	truth, reported live.Counts
}

// observe enters a program and puts hooks in. The program must be at rest.
func observe(t *testing.T, p *live.Program, flags arena.Flags, patterns ...string) *counting {
	t.Helper()
	c := enter(t, p)
	c.instrument(flags, patterns...)
	c.begin()
	return c
}

func enter(t *testing.T, p *live.Program) *counting {
	t.Helper()
	c := &counting{t: t, p: p}
	var err error
	c.Look, err = session.Open(t.Context(), p.PID, session.Settings{Command: "sonde test", Notice: c.notice})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
	t.Cleanup(func() {
		_, _ = c.Close(context.Background())
		_ = c.Release()
	})
	return c
}

func (c *counting) instrument(flags arena.Flags, patterns ...string) {
	c.t.Helper()
	wanted := session.Wanted{Methods: patternSet(c.t, patterns...), Flags: flags, Period: period}
	if _, err := c.Instrument(c.t.Context(), wanted); err != nil {
		c.t.Fatal(err)
	}
}

// period is of hooks that sample; prime, so that no loop of a program has it.
const period = 7

func (c *counting) toggle(flags arena.Flags) {
	c.t.Helper()
	if err := c.Switch(c.t.Context(), patternSet(c.t, "**"), flags, period); err != nil {
		c.t.Fatal(err)
	}
}

func patternSet(t *testing.T, patterns ...string) *pattern.Set {
	t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (c *counting) notice(text string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.notices = append(c.notices, text)
}

// begin notes a moment from which on both count. The program must be at rest.
func (c *counting) begin() {
	c.t.Helper()
	c.truth = c.p.Counts()
	c.reported = c.read()
}

// compare demands that Sonde counted since begin what the program counted, but
// for classes that it names as left alone. The program must be at rest.
func (c *counting) compare(when string) {
	c.t.Helper()
	reported := c.read()
	truth := c.p.Counts().Minus(c.truth)
	reported = reported.Minus(c.reported)
	for _, line := range truth.Diff(reported) {
		class, _, _ := strings.Cut(line, ".")
		if count := reported[methodOf(line)]; count.Entered != 0 || !c.mayBeLeft(class) {
			c.t.Errorf("%s: %s", when, line)
		}
	}
}

func methodOf(line string) string {
	method, _, _ := strings.Cut(line, ": ")
	return method
}

// read is what Sonde has counted.
func (c *counting) read() live.Counts {
	c.t.Helper()
	sum := c.sum()
	reported := make(live.Counts)
	for _, m := range c.Methods() {
		if totals := sum.Methods[m.ID]; totals != nil {
			reported[nameOf(m)] = live.Count{Entered: int64(totals.Calls), Threw: int64(totals.Threw)}
		}
	}
	return reported
}

func (c *counting) sum() *arena.Summary {
	c.t.Helper()
	sum, err := c.Sum()
	if err != nil {
		c.t.Fatal(err)
	}
	if sum.Dropped != 0 || c.Full() != nil {
		c.t.Errorf("%d calls were counted nowhere, the arena is full: %v", sum.Dropped, c.Full())
	}
	return sum
}

// nameOf is a method's name as programs that count have it.
func nameOf(m session.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// totals is what Sonde says about the methods whose names begin like this.
func (c *counting) totals(prefix string) arena.Totals {
	c.t.Helper()
	sum := c.sum()
	var all arena.Totals
	methods := slices.DeleteFunc(c.Methods(), func(m session.Method) bool { return !strings.HasPrefix(nameOf(m), prefix) })
	if len(methods) == 0 {
		c.t.Fatalf("no method %s has a hook", prefix)
	}
	for _, m := range methods {
		if one := sum.Methods[m.ID]; one != nil {
			all.Calls += one.Calls
			all.Timed += one.Timed
			all.Nanos += one.Nanos
			all.Self += one.Self
			all.Threw += one.Threw
			all.Active += one.Active
			all.Running += one.Running
			all.Untimed += one.Untimed
		}
	}
	return all
}

// atRest demands that no call is under way, as far as hooks know. Of calls that
// an exception ended before the constructor they began with was done with
// super(...), hooks learn by an end further out: there must be one.
func (c *counting) atRest(when string) {
	c.t.Helper()
	c.allEnded(when, c.Methods())
}

func (c *counting) allEnded(when string, methods []session.Method) {
	c.t.Helper()
	sum := c.sum()
	for _, m := range methods {
		if totals := sum.Methods[m.ID]; totals != nil && (totals.Active != 0 || totals.Running != 0) {
			c.t.Errorf("%s: %d calls of %s are under way for %d ns", when, totals.Active, m, totals.Running)
		}
	}
}

// settings are the modes of hooks, with a name for each.
var settings = []struct {
	name  string
	flags arena.Flags
}{
	{"timed, flat", arena.On | arena.Timed | arena.Flat},
	{"counted, flat", arena.On | arena.Flat},
	{"sampled, flat", arena.On | arena.Sampled | arena.Flat},
	{"timed, by context", arena.On | arena.Timed},
	{"counted, by context", arena.On},
	{"sampled, by context", arena.On | arena.Sampled},
}

// representatives are methods of the kinds that counts must be right for: each
// must have been called, or their rightness shows nothing.
var representatives = map[string]string{
	"calls/Guarded.staticSynchronized":            "a synchronized method",
	"calls/Guarded.throwsWhileHolding":            "one that throws",
	"construction/Chains$Leaf.<init>(I)V":         "a constructor",
	"construction/fresh/Sound.<clinit>":           "a static initialiser",
	"construction/fresh/Failing.<clinit>":         "one that fails",
	"dynamic/Lambdas.lambda$":                     "a lambda's body",
	"dynamic/Reflective.invokedByReflection":      "one called by reflection",
	"dynamic/Reflective.handledVirtual":           "one called by a handle",
	"dynamic/Generated$Handler.invoke":            "one called by a proxy",
	"exceptions/Through.withoutHandler":           "one an exception passes",
	"recursion/Main.deepThenThrows":               "a deep recursion",
	"threads/Main.tinyCall":                       "one of many threads",
	"loading/fresh/Isolated.step":                 "one of a loader that does not delegate",
	"shapes/":                                     "nested classes",
	"hammer/Main$Pair.<init>":                     "an object that compilers do without",
	"reflected/Main$Point.<init>(JLjava/util/Lis": "a record's constructor",
}

// TestCountsAreExact counts every workload by hooks of every kind, and expects the
// program's own results the same before, meanwhile and afterwards. It runs on each JDK.
func TestCountsAreExact(t *testing.T) {
	byDoors(t, jvmtest.JDKs(t), func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, append(slices.Clone(live.Everyday), live.Hammer)...)
		before := p.Check()
		c := observe(t, p, settings[0].flags, ofTheProgram...)
		for _, setting := range settings {
			c.toggle(setting.flags)
			c.begin()
			p.Run(1)
			if during := p.Check(); during != before {
				t.Errorf("%s: the program's results are %s, were %s", setting.name, during, before)
			}
			c.compare(setting.name)
			c.withoutConstructors(setting.name) // of calls that are sampled those further out often are not
			c.allCalled(setting.name)
		}
		c.checkLeftAlone()
		reported := c.read()
		if farewell, err := c.Close(t.Context()); err != nil || !farewell.Restored.Unmapped {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		if after := p.Check(); after != before {
			t.Errorf("afterwards the program's results are %s, were %s", after, before)
		}
		later := c.read()
		for _, line := range reported.Diff(later) {
			t.Errorf("afterwards %s", line)
		}
	})
}

func (c *counting) allCalled(when string) {
	c.t.Helper()
	reported := c.read()
	since := reported.Minus(c.reported)
	for prefix, kind := range representatives {
		called := false
		for method, count := range since {
			called = called || strings.HasPrefix(method, prefix) && count.Entered > 0
		}
		if !called {
			c.t.Errorf("%s: %s, %s, was not called", when, prefix, kind)
		}
	}
}

// TestCountsAreExactFromTheFirstLoad puts hooks in before any class of the
// workloads has run, so that most load through Sonde.
func TestCountsAreExactFromTheFirstLoad(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		c := observe(t, p, arena.On|arena.Timed, ofTheProgram...)
		p.Run(2)
		c.compare("hooks first")
		c.atRest("hooks first")
		c.checkLeftAlone()
		for _, left := range c.LeftAlone() {
			if strings.HasPrefix(left.Class, "construction/fresh/") {
				t.Errorf("%s was left alone: %s", left.Class, left.Reason)
			}
		}
	})
}

// TestCountsAreExactInANamedModule shows that hooks are seen from a module that
// reads nothing of Sonde.
func TestCountsAreExactInANamedModule(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Modular)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed|arena.Flat, "modular.**")
		p.Run(3)
		if during := p.Check(); during != before {
			t.Errorf("the program's results are %s, were %s", during, before)
		}
		c.compare("modular")
		if c.totals("modular/Main.virtualInModule").Calls != 40 {
			t.Errorf("virtualInModule was called %d times, want 40", c.totals("modular/Main.virtualInModule").Calls)
		}
	})
}

// expectedReasons are those for which classes of the programs may be without
// hooks: what their names hold, and what the reason must.
var expectedReasons = []struct {
	class, reason string
	counted       bool // the program counts calls of it
}{
	{"$$Lambda", "the JVM does not allow it to be changed", false},
	{"dynamic/Secret/", "the JVM does not allow it to be changed", false}, // a hidden class
	{"LambdaForm$", "the JVM does not allow it to be changed", false},
	{"loading/fresh/Confined", "its class loader cannot find Sonde's hook classes", true},
	// Its initialiser has failed, so it is of no use, and the JVM refuses to touch it. One
	// that is loaded later has hooks.
	{"construction/fresh/Failing", "the JVM refused it: java.lang.InternalError: class redefinition failed: invalid class", false},
	// Made in memory: there is no class file to take the names from that JDK 17 forgets.
	{"dynamic/$Proxy", "loses the parameter names", false},
}

// mayBeLeft reports whether a class is one that Sonde names as left alone, with
// the reason that is to be expected. One that loads later is named by a notice.
func (c *counting) mayBeLeft(class string) bool {
	for _, expected := range expectedReasons {
		if !expected.counted || !strings.Contains(class, expected.class) {
			continue
		}
		named := func(left session.LeftAlone) bool {
			return left.Class == class && strings.Contains(left.Reason, expected.reason)
		}
		inNotice := func(notice string) bool {
			return strings.HasPrefix(notice, class+" ") && strings.Contains(notice, expected.reason)
		}
		c.lock.Lock()
		defer c.lock.Unlock()
		return slices.ContainsFunc(c.LeftAlone(), named) || slices.ContainsFunc(c.notices, inNotice)
	}
	return false
}

// checkLeftAlone demands that nothing was left alone but what is to be
// expected.
func (c *counting) checkLeftAlone() {
	c.t.Helper()
	for _, left := range c.LeftAlone() {
		known := false
		for _, expected := range expectedReasons {
			known = known || strings.Contains(left.Class, expected.class) && strings.Contains(left.Reason, expected.reason)
		}
		if !known {
			c.t.Errorf("%s %s was left alone: %s", left.Class, left.Method, left.Reason)
		}
	}
}

// until asks again and again whether something has come about. It is bounded,
// so that a failure ends; how long it takes does not matter.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(jvmtest.RunLimit / 5); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// goesOn waits until the program's load has run more rounds.
func (c *counting) goesOn(rounds int64) {
	c.t.Helper()
	enough := c.p.Rounds() + rounds
	until(c.t, "another round", func() bool { return c.p.Rounds() >= enough })
}

// withoutConstructors is atRest where calls further out may have begun without
// hooks, or without being timed.
func (c *counting) withoutConstructors(when string) {
	c.t.Helper()
	c.allEnded(when, slices.DeleteFunc(c.Methods(), func(m session.Method) bool { return m.Name == "<init>" }))
}

// TestCountsAreExactThroughSwitchesUnderLoad puts hooks in, and changes what they
// do, in the middle of a program's work: from one moment of rest to another not a
// call is lost or counted twice.
func TestCountsAreExactThroughSwitchesUnderLoad(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, append(slices.Clone(live.Everyday), live.Hammer)...)
		before := p.Check()
		c := enter(t, p)
		p.StartLoad(2)
		c.goesOn(1)
		c.instrument(settings[0].flags, ofTheProgram...)
		c.goesOn(1)
		p.StopLoad()
		// Calls that were under way when hooks came in are counted by nobody.
		c.withoutConstructors("hooks put in under load")
		c.begin()
		p.StartLoad(2)
		for _, setting := range settings {
			c.toggle(setting.flags)
			c.goesOn(1)
		}
		p.StopLoad()
		c.compare("switched under load")
		c.withoutConstructors("switched under load")

		p.StartLoad(2)
		c.toggle(0)
		c.goesOn(1)
		p.StopLoad()
		c.withoutConstructors("switched off under load")
		reported := c.read()
		p.Run(1)
		off := c.read()
		for _, line := range reported.Diff(off) {
			t.Errorf("switched off: %s", line)
		}
		c.toggle(arena.On | arena.Timed)
		c.begin()
		p.Run(1)
		c.compare("switched on again")
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
	})
}

// libraryMethods are methods of the JDK that run everywhere: in the harness, in
// the JVM's own threads, in the agent.
var libraryMethods = []string{
	"java.util.HashMap.put", "java.util.ArrayList.add", "java.util.ArrayList.<init>", "java.lang.String.hashCode", "java.lang.Integer.parseInt",
}

// TestMethodsOfTheJDKAreCounted counts what a program calls of the JDK, on one
// thread and on many.
func TestMethodsOfTheJDKAreCounted(t *testing.T) {
	const rounds, times = 3, 1000
	calls := map[edge]uint64{
		{"library/Main.putsIntoMap()J", "java/util/HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"}: times,
		{"library/Main.addsToList()J", "java/util/ArrayList.add(Ljava/lang/Object;)Z"}:                                   times,
		{"library/Main.addsToList()J", "java/util/ArrayList.<init>()V"}:                                                  1,
		{"library/Main.makesLists()J", "java/util/ArrayList.<init>(I)V"}:                                                 times,
		{"library/Main.hashesStrings(Ljava/lang/String;)J", "java/lang/String.hashCode()I"}:                              times,
		{"library/Main.parsesNoNumbers()J", "java/lang/Integer.parseInt(Ljava/lang/String;)I"}:                           times,
	}
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Library)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed, append([]string{"library.**"}, libraryMethods...)...)
		p.Run(rounds)
		c.compare("one thread")
		edges := c.edges()
		for e, once := range calls {
			if edges[e] != rounds*once {
				t.Errorf("%d calls from %s to %s, want %d", edges[e], e.caller, e.callee, rounds*once)
			}
		}
		p.StartLoad(3)
		c.goesOn(20)
		p.StopLoad()
		c.compare("many threads")
		all := c.totals("library/Main.round").Calls
		edges = c.edges()
		for e, once := range calls {
			if edges[e] != all*once {
				t.Errorf("under load: %d calls from %s to %s, want %d", edges[e], e.caller, e.callee, all*once)
			}
		}
		parse := c.totals("java/lang/Integer.parseInt(Ljava/lang/String;I)I")
		if parse.Threw < all*times/4 || parse.Threw > parse.Calls*times/4 {
			t.Errorf("parseInt: %+v in %d rounds", parse, all)
		}
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
		for _, left := range c.LeftAlone() {
			t.Errorf("%s %s was left alone: %s", left.Class, left.Method, left.Reason)
		}
	})
}

// TestTheAgentsOwnCallsAreNotCounted makes the agent work hard while the program
// rests: of what the agent calls of the JDK nothing may show.
func TestTheAgentsOwnCallsAreNotCounted(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Library)
		p.Run(1)
		c := observe(t, p, arena.On, libraryMethods...)
		p.Run(1)
		before := c.sum()
		for range 20 {
			c.toggle(arena.On)
		}
		for _, pattern := range []string{"library.Main.putsIntoMap", "no.such.Class.method", "library.**"} {
			c.instrument(arena.On, pattern) // has it list classes, fetch files and have them woven
		}
		c.callsAre(before)
	})
}

func (c *counting) callsAre(before *arena.Summary) {
	c.t.Helper()
	after := c.sum()
	methods := make(map[uint32]session.Method)
	for _, m := range c.Methods() {
		methods[m.ID] = m
	}
	for id, totals := range after.Methods {
		var calls uint64
		if earlier := before.Methods[id]; earlier != nil {
			calls = earlier.Calls
		}
		if totals.Calls != calls {
			c.t.Errorf("%s was called %d times, before the agent worked %d times", methods[id], totals.Calls, calls)
		}
	}
}

// An edge is a method called by another, both by name; the caller is "" where
// there is none that has a hook.
type edge struct{ caller, callee string }

// callers says from where alone methods are called, by what the names begin with.
var callers = map[string][]string{
	"calls/Main.round":                {""},
	"calls/Plain.work":                {"calls/Main.round"},
	"calls/Plain.outer":               {"calls/Plain.work"},
	"calls/Plain.middle":              {"calls/Plain.outer"},
	"calls/Plain.inner":               {"calls/Plain.middle"},
	"calls/Plain.privateOne":          {"calls/Plain.scaleInBase"},
	"calls/Plain.overridden":          {"calls/Plain.work", "calls/Plain$Sub.overridden"},
	"calls/Guarded.synchronizedTwice": {"calls/Guarded.work", "calls/Guarded.synchronizedTwice"},
	"recursion/Main.isOdd":            {"recursion/Main.isEven"},
	"recursion/Main.isEven":           {"recursion/Main.round", "recursion/Main.isOdd"},
	// Trees are not as deep as this goes: what is too deep begins at the root again.
	"recursion/Main.deep(":                          {"recursion/Main.deepOnes", "recursion/Main.deep(", ""},
	"recursion/Main.afterOverflow":                  {"recursion/Main.overflow"},
	"exceptions/Through.withoutHandler":             {"exceptions/Through.catchesFarUp", "exceptions/Through.withoutHandler"},
	"construction/Chains$Base.<init>(I)V":           {"construction/Chains$Middle.<init>", "construction/Chains$Base.<init>()V"},
	"construction/Chains$Middle.<init>":             {"construction/Chains$Leaf.<init>(IL"},
	"construction/Chains$Leaf.<init>(IL":            {"construction/Chains$Leaf.<init>(I)V"},
	"construction/Chains.argumentOfSuper":           {"construction/Chains$Leaf.<init>(I)V"},
	"construction/Chains$Leaf.calledByBase":         {"construction/Chains$Base.<init>(I)V"},
	"construction/fresh/Sound.<clinit>":             {"construction/Initialisers.work"},
	"construction/fresh/Failing.<clinit>":           {"construction/Initialisers.work"},
	"construction/fresh/Sound.step":                 {"construction/fresh/Sound.<clinit>"},
	"construction/Initialisers.calledFromInitialis": {"construction/fresh/Sound.<clinit>", "construction/fresh/Constants.made"},
	"threads/Main.bodyOfThread":                     {"threads/Main.lambda$round$"},
	"threads/Main.tinyCall":                         {"threads/Main.bodyOfThread", "threads/Main.taskOfPool"},
	"loading/fresh/Isolated.step":                   {"loading/fresh/Isolated.work"},
	"dynamic/Reflective.invokedByReflection":        {"dynamic/Reflective.byReflection"},
	"dynamic/Generated$Handler.invoke":              {"dynamic/$Proxy", "dynamic/Generated.work"},
}

// TestContextsAreWhoCalled shows that each method stands below its callers in the
// tree of calling contexts, and that the tree sums up to what is counted without.
func TestContextsAreWhoCalled(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		c := observe(t, p, arena.On, ofTheProgram...)
		p.Run(3)
		c.compare("by context")
		edges := c.edges()
		for prefix, allowed := range callers {
			found := false
			for e := range edges {
				if !strings.HasPrefix(e.callee, prefix) {
					continue
				}
				found = true
				if !slices.ContainsFunc(allowed, func(caller string) bool {
					return e.caller == caller || caller != "" && strings.HasPrefix(e.caller, caller)
				}) {
					t.Errorf("%s is called by %q, want one of %q", e.callee, e.caller, allowed)
				}
			}
			if !found {
				t.Errorf("%s is in no context", prefix)
			}
		}
		for e, calls := range map[edge]uint64{
			{"calls/Plain$Sub.overridden(J)J", "calls/Plain.overridden(J)J"}: 30,
			{"calls/Plain.work()J", "calls/Plain.overridden(J)J"}:            30,
			{"calls/Plain.middle(J)J", "calls/Plain.inner(J)J"}:              180,
			{"recursion/Main.round()J", "recursion/Main.isEven(I)Z"}:         3,
			{"recursion/Main.isOdd(I)Z", "recursion/Main.isEven(I)Z"}:        300,
		} {
			if edges[e] != calls {
				t.Errorf("%d calls from %s to %s, want %d", edges[e], e.caller, e.callee, calls)
			}
		}
	})
}

// edges are the calls between methods, summed over threads and contexts.
func (c *counting) edges() map[edge]uint64 {
	c.t.Helper()
	threads, err := c.Threads()
	if err != nil {
		c.t.Fatal(err)
	}
	names := c.names()
	edges := make(map[edge]uint64)
	for _, thread := range threads {
		callees := map[uint32]uint32{thread.Root: 0}
		for _, node := range thread.Nodes {
			callees[node.Ref] = node.ID
		}
		for _, node := range thread.Nodes {
			if node.ID == arena.AdjustmentID {
				continue // time that Sonde took, while a class was woven as it loaded
			}
			caller, known := callees[node.Parent]
			if !known || names[node.ID] == "" {
				c.t.Fatalf("a node of %q has a parent %d that is not in the tree", names[node.ID], node.Parent)
			}
			edges[edge{names[caller], names[node.ID]}] += node.Calls
		}
	}
	return edges
}

// names are the methods with hooks, by id.
func (c *counting) names() map[uint32]string {
	names := make(map[uint32]string)
	for _, m := range c.Methods() {
		names[m.ID] = nameOf(m)
	}
	return names
}

func hasPrefix(name, prefix string) bool { return strings.HasPrefix(name, prefix) }
