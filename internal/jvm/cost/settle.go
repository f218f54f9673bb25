package cost

import (
	"context"
	"fmt"
	"math"
	"time"
)

// A Loss is what a JVM's compilers did after something was done to it, beyond
// what they did before.
//
// Compiled code that depended on a changed class is thrown away and made again.
// Recompile is the processor time of that. It is work lost to the program only
// where the program wanted those processors; and it is not all the program
// lost: until its code is compiled again the program runs in the interpreter,
// or in code that still gathers profiles, ten or more times slower, and nothing
// outside the program shows that, since its threads use as much processor time
// as ever. What was lost in all, counted as seconds of the program at its
// former speed, lies between the pauses (Cost.Pause) and Unsettled, the time
// the compilers took to come to rest; bench/redefine shows how much of
// Unsettled it was for a program that keeps count.
//
// Compilation that the program would have caused in that time by itself, by
// taking paths it did not take before, is counted too, if it is more than it
// was before: a JVM that has not warmed up has no baseline to return to. And a
// program that does little takes long to call its methods often enough for them
// to be compiled again: its compilers may come to rest long before that.
type Loss struct {
	Known   bool
	Settled bool // false where the bound passed first
	// Unsettled is how long it took until the compilers were as busy as before,
	// from the reading begun with.
	Unsettled time.Duration
	Cost      Cost // from that reading to the last: Unsettled, and the quiet after it
	Recompile time.Duration
	// Error is one standard error of Recompile, by how much the baseline
	// wavered: the interval of two of them has nineteen of twenty.
	Error time.Duration
}

// A Rule says when compilers count as settled: when they were busy no more than
// before for the length of Quiet, looked at every Every. Zero values have
// defaults.
type Rule struct {
	Every time.Duration // 100 ms
	Quiet time.Duration // 1 s
	Bound time.Duration // 20 s: then it is given up
}

func (r Rule) orDefault() Rule {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&r.Every, 100*time.Millisecond)
	set(&r.Quiet, time.Second)
	set(&r.Bound, 20*time.Second)
	return r
}

// Settle follows the compilers from a reading taken just before something was
// done, until they are as busy as they were by the baseline, or the bound or
// the context ends it. With an error comes what was seen until then.
func Settle(ctx context.Context, m Reader, start Reading, before Baseline, rule Rule) (Loss, error) {
	return settle(ctx, m, start, before, rule.orDefault(), pause)
}

func settle(ctx context.Context, m Reader, start Reading, before Baseline, rule Rule, wait waiter) (Loss, error) {
	f := follower{before: before, rule: rule, readings: []Reading{start}}
	for {
		r, err := m.Read()
		if err != nil {
			return f.loss(), fmt.Errorf("following the compilers: %w", err)
		}
		if f.add(r) {
			return f.loss(), nil
		}
		if err := wait(ctx, rule.Every); err != nil {
			return f.loss(), fmt.Errorf("following the compilers: %w", err)
		}
	}
}

// A follower decides, reading by reading.
type follower struct {
	before   Baseline
	rule     Rule
	readings []Reading // all since the start
	settled  bool
	quiet    int // where the stretch of Quiet begins, once settled
}

// add takes the next reading and tells whether it is the last one wanted.
func (f *follower) add(r Reading) bool {
	f.readings = append(f.readings, r)
	last := len(f.readings) - 1
	since := func(i int) time.Duration { return r.At.Sub(f.readings[i].At) }
	begin := last
	for begin > 0 && since(begin) < f.rule.Quiet {
		begin--
	}
	if since(begin) >= f.rule.Quiet && f.isQuiet(f.readings[begin:]) {
		f.settled, f.quiet = true, begin
		return true
	}
	return since(0) >= f.rule.Bound
}

// isQuiet tells whether the compilers were no busier in a stretch than before,
// give or take what they wavered, or a little: one that is idle does not waver.
// Compilers that wait for a processor are busy.
func (f *follower) isQuiet(stretch []Reading) bool {
	const little = 0.02 // of a processor
	c := stretch[0].Until(stretch[len(stretch)-1])
	spent, known := c.compiling()
	if !known || !f.before.Known {
		return false
	}
	wavering := 2 * f.before.Wavering / math.Sqrt(float64(len(stretch)-1))
	return (spent+c.CompileWait).Seconds()/c.Elapsed.Seconds() <= f.before.Busy+max(wavering, little)
}

// granularity is how far behind the kernel may be with a thread that runs.
const granularity = 4 * time.Millisecond

func (f *follower) loss() Loss {
	first, last := f.readings[0], f.readings[len(f.readings)-1]
	l := Loss{Settled: f.settled, Unsettled: last.At.Sub(first.At)}
	if l.Settled {
		l.Unsettled = f.readings[f.quiet].At.Sub(first.At)
	}
	l.Cost.Known = first.Known
	for i := 1; i < len(f.readings); i++ {
		c := f.readings[i-1].Until(f.readings[i])
		if i == 1 {
			l.Cost = c
			continue
		}
		l.Cost = l.Cost.Then(c)
	}
	spent, known := l.Cost.compiling()
	if l.Known = known && f.before.Known; !l.Known {
		return l
	}
	elapsed := l.Cost.Elapsed.Seconds()
	l.Recompile = spent - time.Duration(f.before.Rate*elapsed*float64(time.Second))
	// Over an interval the rate wavers by Spread, so over n of them their sum by
	// √n as much; the baseline itself is as uncertain, by its own length.
	each := f.before.Length.Seconds() / float64(f.before.Intervals)
	wavered := f.before.Spread * each * math.Sqrt(elapsed/each)
	mistaken := f.before.Spread / math.Sqrt(float64(f.before.Intervals)) * elapsed
	l.Error = time.Duration(math.Hypot(math.Hypot(wavered, mistaken), granularity.Seconds()) * float64(time.Second))
	return l
}
