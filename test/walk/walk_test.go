package walk_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

// waysOf are the ways a climb found to one of its spots, in the same form as the
// program tells them: as if each way were a stack. Of a spot in a library, what is
// in the library below the program's own method is left out.
func waysOf(c *rootcause.Climb, spot rootcause.Spot) *tree {
	found := &tree{share: 1}
	library := isLibrary(nameOf(c.Methods[spot.Method]))
	var put func(caller *rootcause.Caller, below []string)
	put = func(caller *rootcause.Caller, below []string) {
		frames := append(slices.Clone(below), nameOf(c.Methods[caller.Method]))
		// What has no caller on record is a way of its own; it is whatever its callers
		// do not account for.
		rest := caller.Share.Part
		for _, above := range caller.Above {
			rest -= above.Share.Part
			put(above, frames)
		}
		frames = straight(frames)
		if library {
			own := slices.IndexFunc(frames, func(name string) bool { return !isLibrary(name) })
			frames = frames[max(own, 0):]
		}
		found.put(frames, max(rest, 0))
		if caller.Top {
			found.end(frames, caller.Reason)
		}
		if caller.By == rootcause.Estimated {
			found.addEstimated(frames)
		}
	}
	for _, caller := range spot.Callers {
		put(caller, nil)
	}
	found.share = 1
	return found
}

func (t *tree) end(frames []string, why string) {
	t = t.last(frames)
	t.ends, t.why = true, why
}

func (t *tree) addEstimated(frames []string) { t.last(frames).isEstimated = true }

// last is where some frames lead to.
func (t *tree) last(frames []string) *tree {
	for _, name := range frames {
		t = t.at(name)
	}
	return t
}

const (
	// points is how far a share may be off.
	points = 0.05
	// sure is how many standard errors a share of few samples may be off. On a busy
	// machine samples that follow each other see the same turn of a thread, so they are
	// worth less than independent ones.
	sure = 6
	// must is the part of a hot method's time whose way has to be found, and expected
	// how many samples of it there must have been to say so.
	must, expected = 0.03, 10
)

// allowance is how far a share may be off that was found by so many samples. Of few,
// also a share of nothing may be off: two more are thought of on either side.
func allowance(share, samples float64) float64 {
	samples = max(samples, 1)
	thought := (share*samples + 2) / (samples + 4)
	return max(points, sure*math.Sqrt(thought*(1-thought)/samples))
}

// compare returns a line for each way on which the truth and what was found differ.
// Where stacks were cut off, a way may end early that says so.
func compare(truth, found *tree, samples float64, below string, cutOff bool) []string {
	names := maps.Clone(truth.above)
	if names == nil {
		names = make(map[string]*tree)
	}
	maps.Copy(names, found.above)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := below + " < " + short(name)
		right, there := truth.above[name], found.above[name]
		switch {
		case right == nil && there.share <= allowance(0, samples):
		case right == nil && len(truth.above) == 0 && isLibrary(name): // how threads begin is the JDK's affair
		case right == nil:
			lines = append(lines, fmt.Sprintf("%s: found with %.1f %%, and is no way", at, 100*there.share))
		case there == nil && right.share >= must && right.share*samples >= expected:
			lines = append(lines, fmt.Sprintf("%s: not found, and has %.1f %%", at, 100*right.share))
		case there == nil:
		case cutOff && (there.isEstimated || len(there.above) == 0): // from calls near the top of a recursion: it is said to be hardly known
		case math.Abs(right.share-there.share) > allowance(right.share, samples):
			lines = append(lines, fmt.Sprintf("%s: found with %.1f %%, and has %.1f %% (%.0f samples)", at, 100*there.share, 100*right.share, samples))
		case there.ends && there.why != "" && len(there.above) == 0 && cutOff: // it says why it knows no more
		case len(right.above) == 0 && !there.anyEnd():
			lines = append(lines, at+": the way ends here, and is not said to")
		default:
			lines = append(lines, compare(right, there, samples, at, cutOff)...)
		}
	}
	return lines
}

func (t *tree) anyEnd() bool {
	if t.ends {
		return true
	}
	for _, next := range t.above {
		if next.anyEnd() {
			return true
		}
	}
	return false
}

// text is a climb for failure messages.
func text(c *rootcause.Climb) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d samples over %v; took %v\n", c.Sampled.Samples, c.Sampled.Over, c.Took)
	for _, spot := range c.Spots {
		fmt.Fprintf(&out, "%5.1f%% %s %s from %v until %v above %q\n", 100*spot.Share.Part, short(nameOf(c.Methods[spot.Method])), spot.Kind, spot.From, spot.Until, spot.Above)
		var show func(callers []*rootcause.Caller, indent string)
		show = func(callers []*rootcause.Caller, indent string) {
			for _, one := range callers {
				fmt.Fprintf(&out, "%s%5.1f%% %s by %s, %d calls, %s %s top %v\n", indent, 100*one.Share.Part, short(nameOf(c.Methods[one.Method])), one.By, one.Calls, one.State, one.Reason, one.Top)
				show(one.Above, indent+"  ")
			}
		}
		show(spot.Callers, "    ")
	}
	for _, live := range c.Hooks {
		fmt.Fprintf(&out, "hook of %s, level %d, spot %d, %v to %v, %d calls, %d drawn\n", short(nameOf(c.Methods[live.Method])), live.Level, live.Spot, live.From, live.Until, live.Calls, live.Drawn)
	}
	for _, batch := range c.Batches {
		fmt.Fprintf(&out, "batch at %v: %s, in %v, %d classes, pause %v\n", batch.At, batch.Why, batch.In, batch.Classes, batch.Pause)
	}
	fmt.Fprintf(&out, "cost %+v\nnotes %q\n", c.Cost, c.Notes)
	return out.String()
}

const (
	h2Jar = "/usr/share/java/h2.jar"
	// loadSeconds bounds customers whom nobody sends home.
	loadSeconds = "300"
)

// TestTheCauseIsOfTheProgram walks programs of others, in which time is spent in
// collections, strings and streams: their ways lead to methods of the program that
// uses them.
func TestTheCauseIsOfTheProgram(t *testing.T) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2Jar)
	}
	names := []string{"h2", "shop"}
	together(t, names, func(t *testing.T, jdk jvmtest.JDK, number int) {
		if !jvmtest.Turn(t, jdk, number, len(names)) {
			return
		}
		p := &program{t: t, jdk: jdk}
		own := []string{"H2Work.", "RealProgram."}
		if number == 0 {
			p.Running = startH2(t, jdk)
		} else {
			p.Running, own = startShop(t, jdk), []string{"shop/"}
		}
		o := options(brief)
		o.Levels = 64
		c := p.walk(t.Context(), o)
		p.keepsRules(c)
		p.causedBy(c, own)
		p.logSummary(c)
	})
}

// most is the part of a hot spot's time that must be seen to come from the program:
// deep stacks are cut off, and databases have threads of their own.
const most = 0.8

// causedBy demands that the hot spots' ways lead to methods of the program, whose names
// begin so: all together, and each that more than a few samples showed. On the way to
// those that are hot some of what is not the JDK's was measured. The JDK has threads of its
// own, as the one that waits for its HTTP server's sockets: what they take has no such way.
func (p *program) causedBy(c *rootcause.Climb, own []string) {
	p.t.Helper()
	isOwn := func(name string) bool {
		return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	}
	anyMeasured := false
	var whole, ofProgram float64
	for _, spot := range c.Spots {
		name := nameOf(c.Methods[spot.Method])
		var caused, ofJDK float64
		measured := spot.Own != nil
		var visit func(callers []*rootcause.Caller, isJDK bool)
		visit = func(callers []*rootcause.Caller, isJDK bool) {
			for _, one := range callers {
				caller := nameOf(c.Methods[one.Method])
				measured = measured || one.Own != nil && !isLibrary(caller)
				if isOwn(caller) {
					caused += one.Share.Part
					continue
				}
				isStillJDK := isJDK && isLibrary(caller)
				if isStillJDK && one.Top && strings.HasPrefix(caller, "java/lang/Thread.run") {
					ofJDK += one.Share.Part
				}
				visit(one.Above, isStillJDK)
			}
		}
		visit(spot.Callers, isLibrary(name))
		anyMeasured = anyMeasured || measured
		if isOwn(name) {
			caused, measured = 1, true // the program's own method is the cause
		}
		whole += spot.Share.Part
		ofProgram += spot.Share.Part * caused
		others := 1 - ofJDK
		isHot := spot.Share.Part*others >= rootcause.Defaults().Hot
		isShown := spot.Share.Part*others*p.samples >= expected
		if isShown && caused < most*others || isHot && !measured {
			p.t.Errorf("%s, with %.1f %%: %.1f %% of it are seen to come from %v, measured on the way: %v", name, 100*spot.Share.Part, 100*caused, own, measured)
		}
	}
	if ofProgram < most*whole {
		p.t.Errorf("%.1f %% of what %d hot spots take is seen to come from %v", 100*ofProgram/whole, len(c.Spots), own)
	}
	if !anyMeasured {
		p.t.Errorf("nothing was measured on the ways from %d hot spots", len(c.Spots))
	}
}

func startH2(t *testing.T, jdk jvmtest.JDK) *jvmtest.Running {
	t.Helper()
	const folder = "../realprograms/testdata/"
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{folder + "RealProgram.java", folder + "H2Work.java"}, Classpath: []string{h2Jar}, Flags: []string{"--release", "17"},
	})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xmx512m", "-cp", classes + string(os.PathListSeparator) + h2Jar, "RealProgram", "H2Work"}})
	for _, order := range []struct{ says, awaits string }{{"load 2\n", "loading"}, {"rounds 40\n", "passed"}} {
		if _, err := running.Stdin.Write([]byte(order.says)); err != nil {
			t.Fatal(err)
		}
		running.Await(t, order.awaits)
	}
	return running
}

// startShop starts the demo's shop, and lets the customers in.
func startShop(t *testing.T, jdk jvmtest.JDK) *jvmtest.Running {
	t.Helper()
	var sources []string
	err := filepath.WalkDir("../../demo/shop/src", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{h2Jar}, Flags: []string{"--release", "17"}})
	classpath := classes + string(os.PathListSeparator) + h2Jar
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classpath, "shop.Main"}})
	_, said, _ := strings.Cut(running.Stdout(), "listening ")
	url, _, ok := strings.Cut(said, "\n")
	if !ok {
		t.Fatalf("the shop is ready and did not say where: %q", running.Stdout())
	}
	load := exec.Command(jdk.Tool("java"), "-cp", classpath, "load.Main", url, loadSeconds)
	stdin, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which ends it
		_ = load.Wait()   // how it ends does not matter
	})
	return running
}

// room is for the programs that run at a time. They compete for processors, which
// changes nothing about their shares; a walk mostly waits for samples.
var room = make(chan struct{}, 6)

// together runs subtests side by side, on each JDK.
func together(t *testing.T, names []string, test func(t *testing.T, jdk jvmtest.JDK, number int)) {
	t.Helper()
	t.Parallel()
	var all sync.WaitGroup
	for number, name := range names {
		for _, jdk := range jvmtest.JDKs(t) {
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				t.Run(fmt.Sprintf("%s jdk%d", name, jdk.Major), func(t *testing.T) { test(t, jdk, number) })
			})
		}
	}
	all.Wait()
}

// TestWaysAndShares walks programs that know the answer.
func TestWaysAndShares(t *testing.T) {
	var names []string
	for _, f := range fixtures {
		names = append(names, f.name)
	}
	together(t, names, func(t *testing.T, jdk jvmtest.JDK, number int) {
		f := fixtures[number]
		if jdk.Major < f.since || f.since == 0 && !jvmtest.Turn(t, jdk, number, len(fixtures)) {
			return
		}
		p := start(t, jdk, f)
		var before sight
		if jvmtest.Turn(t, jdk, number, len(fixtures)) { // once for each program: asking the JVM takes long
			before = p.look()
		}
		c := p.take(func() (*rootcause.Climb, []string) {
			p.forget()
			c := p.walk(t.Context(), options(f.sampling))
			return c, p.differences(c, p.truths())
		})
		p.untouched(before)
		p.logSummary(c)
	})
}

// take takes a walk, and once more where it was off: samples can mislead a walk, the same
// way twice they do not.
func (p *program) take(walk func() (c *rootcause.Climb, off []string)) *rootcause.Climb {
	p.t.Helper()
	c, off := walk()
	if len(off) > 0 {
		p.t.Logf("one walk was off:\n%s\n%s", strings.Join(off, "\n"), text(c))
		p.keepsRules(c)
		c, off = walk()
	}
	for _, line := range off {
		p.t.Error(line)
	}
	p.keepsRules(c)
	return c
}

// logSummary logs a summary of a walk, and all of it where the test has failed.
func (p *program) logSummary(c *rootcause.Climb) {
	p.t.Helper()
	p.t.Logf("%d samples, worth %.0f; took %v", c.Sampled.Samples, p.samples, c.Took.Round(time.Millisecond))
	if p.t.Failed() {
		p.t.Logf("%s\nstderr: %s", text(c), p.Stderr())
	}
}

const liveHooks = 8

func options(sampling time.Duration) rootcause.Options {
	o := rootcause.Defaults()
	o.Levels, o.Hooks, o.Sampling, o.PeriodTime = 64, liveHooks, sampling, inSoak(time.Second)
	o.Source = sampler.FlightRecorder // thread dumps name no overloads, so nothing would be hooked
	return o
}

// slice is how long a thread mostly runs before another gets the processor.
const slice = 4 * time.Millisecond

// seenAgain is how often the JVM sees a thread in the same native call: it sees those
// that wait for a processor, too, and on a busy machine that is most of them.
const seenAgain = 4

// walkLimit bounds a walk that hangs; no test depends on how long anything takes.
const walkLimit = 8 * time.Minute

func (p *program) walk(ctx context.Context, o rootcause.Options) *rootcause.Climb {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, walkLimit)
	defer cancel()
	o.PID, o.Command = p.PID, "sonde test"
	used := p.used()
	c, err := rootcause.Run(ctx, o)
	if err != nil || c == nil {
		p.t.Fatalf("walking: %v\nstderr: %s", err, p.Stderr())
	}
	p.samples = min(float64(c.Sampled.Samples), float64((p.used()-used)/slice))
	if p.fixture.native {
		p.samples /= seenAgain
	}
	return c
}

// used is the processor time that the program has had.
func (p *program) used() time.Duration {
	p.t.Helper()
	const ticks = 100 // a second has so many, to all programs of Linux
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		p.t.Fatal(err)
	}
	// The name of the program stands in parentheses and may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 11, 12
	var sum [2]time.Duration
	if _, err := fmt.Sscan(fields[user]+" "+fields[system], &sum[0], &sum[1]); err != nil {
		p.t.Fatal(err)
	}
	return (sum[0] + sum[1]) * time.Second / ticks
}

// stray is the share below which a method may be said to be hot that is not: the
// JVM's own threads, and code whose owner the JVM does not know exactly.
const stray = 0.1

// differences are where what a climb found is not what the program says of itself.
func (p *program) differences(c *rootcause.Climb, truths []*truth) (lines []string) {
	shares := make(map[*truth]float64)
	for _, spot := range c.Spots {
		m := c.Methods[spot.Method]
		i := slices.IndexFunc(truths, func(t *truth) bool { return t.covers(m) })
		if i < 0 {
			if spot.Share.Part > stray && !p.callsLeaves(nameOf(m)) {
				lines = append(lines, fmt.Sprintf("%s is said to be hot, with %.1f %%", nameOf(m), 100*spot.Share.Part))
			}
			continue
		}
		shares[truths[i]] += spot.Share.Part
		samples := spot.Share.Part * p.samples
		lines = append(lines, compare(truths[i].ways, waysOf(c, spot), samples, short(nameOf(m)), p.fixture.cutOff)...)
	}
	for _, t := range truths {
		least := t.share
		if t.leaves != nil {
			least /= 2 // its methods are several, and small ones are not reported
		}
		allowed := allowance(t.share, p.samples)
		isHot := t.share > 2*rootcause.Defaults().Hot || shares[t] > 0
		if isHot && (shares[t] < least-allowed || shares[t] > t.share+allowed) {
			lines = append(lines, fmt.Sprintf("%s: found to have %.1f %% of the time, and has %.1f %%", t, 100*shares[t], 100*t.share))
		}
	}
	return lines
}

// callsLeaves reports whether hot methods are called by a method of the program: the time of libraries
// that no single method of theirs explains is the caller's.
func (p *program) callsLeaves(name string) bool {
	return slices.ContainsFunc(p.stacks, func(s stack) bool { return s.leaves != nil && s.frames[0] == name })
}

// mostRedefined is how often a class may be redefined: in and out.
const mostRedefined = 2

// keepsRules demands what holds of every climb.
func (p *program) keepsRules(c *rootcause.Climb) {
	p.t.Helper()
	if c.Cost.LiveLimit != liveHooks || c.Cost.MostLive > liveHooks {
		p.t.Errorf("%d hooks were live at a time, of %d that may be; %d were allowed", c.Cost.MostLive, c.Cost.LiveLimit, liveHooks)
	}
	if most := mostAtOnce(c.Hooks); most > liveHooks {
		p.t.Errorf("%d hooks were live at a time, by the times at which they went on and off", most)
	}
	if c.Cost.Redefined > mostRedefined || c.Cost.Redefined == 0 && len(c.Batches) > 0 {
		p.t.Errorf("in %d batches a class was redefined %d times", len(c.Batches), c.Cost.Redefined)
	}
	var executed uint64
	for _, live := range c.Hooks {
		executed += live.Calls
		if live.Until < live.From || live.Drawn > live.Calls {
			p.t.Errorf("a hook was on from %v to %v, was called %d times and identified %d callers", live.From, live.Until, live.Calls, live.Drawn)
		}
	}
	if executed != c.Cost.Executed || executed == 0 {
		p.t.Errorf("hooks were executed %d times, one by one; in all %d", executed, c.Cost.Executed)
	}
	listed := make(map[int]bool)
	for _, entry := range c.List {
		listed[entry.Method] = true
	}
	for _, live := range c.Hooks {
		if !listed[live.Method] {
			p.t.Errorf("%s had a hook, and is not on the caller list", nameOf(c.Methods[live.Method]))
		}
	}
}

// mostAtOnce is how many hooks were on at one moment.
func mostAtOnce(lives []rootcause.Live) int {
	most := 0
	for _, one := range lives {
		count := 0
		for _, other := range lives {
			if other.From <= one.From && one.From < other.Until {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// A tree has who calls a hot method, by name, and who calls those.
type tree struct {
	share float64 // of the hot method's time, that came this way
	above map[string]*tree
	ends  bool   // the way was not followed further
	why   string // what is said of that
	// isEstimated says that no stack showed it: its share is by what hooks have seen.
	isEstimated bool
}

func (t *tree) at(name string) *tree {
	if t.above == nil {
		t.above = make(map[string]*tree)
	}
	next := t.above[name]
	if next == nil {
		next = &tree{}
		t.above[name] = next
	}
	return next
}

// put adds a share to all that is on a stack.
func (t *tree) put(frames []string, share float64) {
	t.share += share
	if len(frames) > 0 {
		t.at(frames[0]).put(frames[1:], share)
	}
}

func (t *tree) scale(by float64) {
	t.share *= by
	for _, next := range t.above {
		next.scale(by)
	}
}

// A truth is what the program says of one of its hot methods, or of several that
// cannot be distinguished.
type truth struct {
	leaf   string   // the method, "" where leaves are given
	leaves []string // classes, one of whose methods is hot
	share  float64  // of the program's time
	ways   *tree
}

// truths reads the program's times.
func (p *program) truths() []*truth {
	p.t.Helper()
	nanos, calls := make(map[int]float64), make(map[int]float64)
	var whole float64
	for _, line := range p.order("times", "end") {
		var way int
		var turns, each float64
		if _, err := fmt.Sscanf(line, "way %d %g %g", &way, &turns, &each); err != nil {
			p.t.Fatalf("the program said %q: %v", line, err)
		}
		nanos[way] = turns * each
		whole += nanos[way]
	}
	for _, s := range p.stacks {
		calls[s.way] += s.calls
	}
	var all []*truth
	for _, s := range p.stacks {
		t := &truth{leaf: s.frames[0], leaves: s.leaves, ways: &tree{}}
		above := s.frames[1:]
		if s.leaves != nil {
			t.leaf, above = "", s.frames
		}
		if i := slices.IndexFunc(all, t.same); i >= 0 {
			t = all[i]
		} else {
			all = append(all, t)
		}
		share := nanos[s.way] / whole * s.calls / calls[s.way]
		t.share += share
		t.ways.put(above, share)
	}
	for _, t := range all {
		t.ways.scale(1 / t.share)
	}
	return all
}

func (t *truth) same(other *truth) bool {
	return t.leaf == other.leaf && slices.Equal(t.leaves, other.leaves)
}

// covers reports whether a method is the one that is spoken of.
func (t *truth) covers(m cct.Method) bool {
	return t.leaf == nameOf(m) || slices.Contains(t.leaves, m.Class) && (m.Native || isLibrary(m.Class))
}

func (t *truth) String() string {
	if t.leaf != "" {
		return short(t.leaf)
	}
	return "a method of " + strings.Join(t.leaves, ", ")
}

func nameOf(m cct.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// short is a method's name without package and parameters.
func short(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// isHidden reports whether a frame is one that Java itself does not show: a
// lambda's object, or what carries a call.
func isHidden(name string) bool {
	return strings.Contains(name, "$$Lambda") || strings.HasPrefix(name, "java/lang/invoke/") || strings.HasPrefix(name, "java/lang/Thread.runWith(")
}

func isLibrary(name string) bool {
	return strings.HasPrefix(name, "java/") || strings.HasPrefix(name, "jdk/") || strings.HasPrefix(name, "sun/")
}

// straight leaves out hidden frames, and cuts circles, so that recursion does not
// show how deep it was.
func straight(frames []string) []string {
	var all []string
	for _, name := range frames {
		if isHidden(name) {
			continue
		}
		if i := slices.Index(all, name); i >= 0 {
			all = all[:i]
		}
		all = append(all, name)
	}
	return all
}

// places are where the hot spot of the fixture moves, in order.
var places = []string{"moving/Main.load(I)J", "moving/Main.sell(I)J", "moving/Main.close(I)J"}

// TestAMovingSpotIsFollowed moves the hot spot each time its ways have been
// climbed: the next one joins, and those before cool down. Outside a soak it runs on
// one JDK.
func TestAMovingSpotIsFollowed(t *testing.T) {
	together(t, []string{"moving"}, func(t *testing.T, jdk jvmtest.JDK, _ int) {
		if !jvmtest.Turn(t, jdk, 0, 2) {
			return
		}
		p := start(t, jdk, fixture{name: "moving", threads: 1, options: slices.Concat(cheapClock, apart)})
		before := p.look()
		c := p.take(func() (*rootcause.Climb, []string) {
			c := p.follow()
			return c, p.notFollowed(c)
		})
		p.untouched(before)
		p.logSummary(c)
	})
}

// follow walks the program, and has it move on each time its hot spot has been climbed.
func (p *program) follow() *rootcause.Climb {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	place := 0
	p.move(place)
	o := options(3 * time.Second)
	o.Duration = walkLimit
	o.Progress = func(now rootcause.Progress) {
		switch c := now.Climb(); {
		case now.Stage != rootcause.Watching || !isClimbed(c, places[place]):
		case place < len(places)-1:
			place++
			p.move(place)
		case hasCooled(c, places[place-1]):
			cancel()
		}
	}
	return p.walk(ctx, o)
}

func spotAt(c *rootcause.Climb, name string) *rootcause.Spot {
	i := slices.IndexFunc(c.Spots, func(s rootcause.Spot) bool { return nameOf(c.Methods[s.Method]) == name })
	if i < 0 {
		return nil
	}
	return &c.Spots[i]
}

// isClimbed reports whether a method is a hot spot with a hook that was on.
func isClimbed(c *rootcause.Climb, name string) bool {
	spot := spotAt(c, name)
	return spot != nil && slices.ContainsFunc(c.Hooks, func(l rootcause.Live) bool { return l.Method == spot.Method && l.Until > 0 })
}

func hasCooled(c *rootcause.Climb, name string) bool {
	spot := spotAt(c, name)
	return spot != nil && spot.Until > 0
}

// notFollowed returns a line for each place that was not found in order and with its way, and
// for what was found beside.
func (p *program) notFollowed(c *rootcause.Climb) (lines []string) {
	var last time.Duration
	for i, name := range places {
		spot := spotAt(c, name)
		if spot == nil {
			lines = append(lines, name+" was never found")
			continue
		}
		right := &tree{}
		for _, s := range p.stacks {
			if s.frames[0] == name {
				right.put(s.frames[1:], 1)
			}
		}
		right.scale(1 / right.share)
		lines = append(lines, compare(right, waysOf(c, *spot), p.samples/float64(len(places)), short(name), false)...)
		if spot.From < last || i < len(places)-1 && spot.Until <= spot.From || i == len(places)-1 && spot.Until != 0 {
			lines = append(lines, fmt.Sprintf("%s is said to have been hot from %v until %v, the one before from %v", name, spot.From, spot.Until, last))
		}
		last = spot.From
	}
	for _, spot := range c.Spots {
		name := nameOf(c.Methods[spot.Method])
		if !slices.Contains(places, name) && spot.Share.Part > stray {
			lines = append(lines, fmt.Sprintf("%s is said to be hot, with %.1f %%", name, 100*spot.Share.Part))
		}
	}
	return lines
}

// A sight is the code that a program ran before it was walked; none if nobody asked.
type sight struct {
	oracle *live.Oracle
	code   live.Snapshot
}

// looked are classes of the JDK that the programs use.
var looked = []string{"java.util.HashMap", "java.util.ArrayList", "java.util.stream.", "java.util.zip.Deflater", "java.lang.Thread", "java.lang.VirtualThread"}

// look asks the JVM what it runs.
func (p *program) look() sight {
	p.t.Helper()
	s := sight{oracle: live.NewOracle(p.t, &live.Program{Running: p.Running, JDK: p.jdk})}
	s.code = s.oracle.Methods(p.classes()...)
	return s
}

func (p *program) classes() []string {
	return append([]string{p.fixture.name + ".", "harness."}, looked...)
}

// sameCode demands that a program runs the code that it ran.
func (p *program) sameCode(before sight) {
	p.t.Helper()
	known := make(map[string]bool)
	for _, m := range before.code {
		known[m.Class] = m.Name != "" // the others may have been linked since
	}
	for _, line := range before.code.DiffMeaning(before.oracle.Methods(p.classes()...)) {
		words := strings.Fields(strings.TrimLeft(line, "+- {"))
		if known[words[0]] {
			p.t.Errorf("the code is not what it was: %s", line)
		}
	}
}

// untouched demands that a program runs the code that it ran, where that is known, and
// that neither threads nor files nor recordings of ours are left.
func (p *program) untouched(before sight) {
	p.t.Helper()
	if before.oracle != nil {
		p.sameCode(before)
	}
	jvm, err := process.Local.Inspect(p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	occupants, unreachable, err := session.Owners(p.t.Context(), jvm, false)
	if err != nil || len(unreachable) > 0 || len(occupants) > 0 {
		p.t.Errorf("inside are still: %v, %v, %v", occupants, unreachable, err)
	}
	p.await("the agent's threads end", func() bool { return len(p.ourThreads()) == 0 })
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/tmp/.sonde_invite%d*", "/dev/shm/sonde-%d-*"} {
		if names, _ := filepath.Glob(fmt.Sprintf(pattern, p.PID)); len(names) > 0 { // the patterns are well formed
			p.t.Errorf("still there: %q", names)
		}
	}
	p.unrecorded()
}

// unrecorded demands that no flight recording is left.
func (p *program) unrecorded() {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(p.t.Context(), "jcmd", "JFR.check")
	if err != nil || !strings.Contains(reply.Text, "No available recordings") {
		p.t.Errorf("the flight recorder says %q, %v", reply.Text, err)
	}
}

// wait only bounds what hangs: what is awaited comes, or never does.
const wait = 5 * time.Minute

func (p *program) await(what string, holds func() bool) {
	p.t.Helper()
	limit := time.Now().Add(wait)
	for !holds() {
		if time.Now().After(limit) {
			p.t.Fatalf("%s: not within %v\nstderr: %s", what, wait, p.Stderr())
		}
		time.Sleep(5 * time.Millisecond) // only between looks
	}
}

// ourThreads are those that the operating system knows by our names.
func (p *program) ourThreads() []string {
	p.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", p.PID))
	if err != nil || len(tasks) == 0 {
		p.t.Fatalf("process %d has no threads: %v\nstderr: %s", p.PID, err, p.Stderr())
	}
	var ours []string
	for _, task := range tasks {
		if name, err := os.ReadFile(task); err == nil && strings.HasPrefix(string(name), "sonde-") { // else it has ended
			ours = append(ours, strings.TrimSpace(string(name)))
		}
	}
	return ours
}
