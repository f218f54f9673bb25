package walk_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

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
		if jdk.Major < f.since || f.since == 0 && !f.both && !isTurn(t, jdk, number) {
			return
		}
		p := start(t, jdk, f)
		var before sight
		if (number%2 == 0) == (jdk.Major < 25) { // each program on one JDK: to ask takes as long as much of a walk
			before = p.look()
		}
		c := p.take(func() (*climb.Climb, []string) {
			p.forget()
			c := p.walk(t.Context(), options(f.sampling))
			return c, p.differences(c, p.truths())
		})
		p.untouched(before)
		p.tell(c)
	})
}

// take takes a walk, and once more where it was off: samples can mislead a walk, the same
// way twice they do not.
func (p *program) take(walk func() (c *climb.Climb, off []string)) *climb.Climb {
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

// tell logs how a walk went; in full where the test has failed.
func (p *program) tell(c *climb.Climb) {
	p.t.Helper()
	p.t.Logf("%d samples, worth %.0f; took %v", c.Sampled.Samples, p.samples, c.Took.Round(time.Millisecond))
	if p.t.Failed() {
		p.t.Logf("%s\nstderr: %s", text(c), p.Stderr())
	}
}

// isTurn shares fixtures out among the JDKs: a walk is long, and what differs between
// JDKs is in few of them.
func isTurn(t *testing.T, jdk jvmtest.JDK, number int) bool {
	t.Helper()
	all := jvmtest.JDKs(t)
	return all[number%len(all)].Major == jdk.Major
}

const liveHooks = 8

func options(sampling time.Duration) rootcause.Options {
	o := rootcause.Defaults()
	o.Levels, o.Hooks, o.Sampling, o.PeriodTime = 64, liveHooks, sampling, time.Second
	o.Source = sampler.FlightRecorder // thread dumps name no overloads, so nothing would be hooked
	return o
}

// slice is how long a thread mostly runs before another gets the processor.
const slice = 4 * time.Millisecond

// seenAgain is how often the JVM sees a thread in the same native call: it sees those
// that wait for a processor, too, and on a busy machine that is most of them.
const seenAgain = 4

// walkLimit bounds a walk that hangs; no test depends on how long anything takes.
const walkLimit = 3 * time.Minute

func (p *program) walk(ctx context.Context, o rootcause.Options) *climb.Climb {
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
func (p *program) differences(c *climb.Climb, truths []*truth) (lines []string) {
	shares := make(map[*truth]float64)
	for _, spot := range c.Spots {
		m := c.Methods[spot.Method]
		i := slices.IndexFunc(truths, func(t *truth) bool { return t.covers(m) })
		if i < 0 {
			if spot.Share.Part > stray {
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
			least /= 2 // its methods are several, and small ones are not told of
		}
		allowed := allowance(t.share, p.samples)
		isHot := t.share > 2*rootcause.Defaults().Hot || shares[t] > 0
		if isHot && (shares[t] < least-allowed || shares[t] > t.share+allowed) {
			lines = append(lines, fmt.Sprintf("%s: found to have %.1f %% of the time, and has %.1f %%", t, 100*shares[t], 100*t.share))
		}
	}
	return lines
}

// mostRedefined is how often a class may be redefined: in and out.
const mostRedefined = 2

// keepsRules demands what holds of every climb.
func (p *program) keepsRules(c *climb.Climb) {
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
func mostAtOnce(lives []climb.Live) int {
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
