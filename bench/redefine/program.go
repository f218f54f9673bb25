package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program is the load, running.
type program struct {
	*harness.Program
	folder string // its classes
	agent  string // the jar
}

func startProgram(jdk jvmtest.JDK) (*program, error) {
	folder, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/redefine/java/*.java"}, Flags: []string{"--release", "11"}})
	if err != nil {
		return nil, err
	}
	p := &program{folder: folder, agent: folder + ".jar"}
	const manifest = "Manifest-Version: 1.0\nAgent-Class: Retransform\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n"
	if err = harness.WriteJar(p.agent, manifest, folder); err == nil {
		p.Program, err = harness.Start(jdk, "-Xmx256m", "-cp", folder, "Load", strconv.Itoa(*workers), strconv.Itoa(*copies))
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *program) close() {
	p.Close()
	p.remove()
}

func (p *program) remove() {
	os.RemoveAll(p.folder)
	os.RemoveAll(p.agent)
}

// A note is one of those the program makes of itself.
type note struct {
	at   time.Duration // by its own clock
	done int64         // steps so far
	cpu  time.Duration // what its working threads had of processors
}

func parseNotes(words []string) ([]note, error) {
	// The line ends with "at" and the time of the answer.
	if len(words) < 2 {
		return nil, fmt.Errorf("notes of %d words", len(words))
	}
	words = words[:len(words)-2]
	var notes []note
	for triple := range slices.Chunk(words, 3) {
		if len(triple) != 3 {
			return nil, fmt.Errorf("the last of the notes has %d words", len(triple))
		}
		var numbers [3]int64
		for i, word := range triple {
			var err error
			if numbers[i], err = strconv.ParseInt(word, 10, 64); err != nil {
				return nil, err
			}
		}
		notes = append(notes, note{time.Duration(numbers[0]), numbers[1], time.Duration(numbers[2])})
	}
	return notes, nil
}

// A dip is what the program's own notes say it lost.
//
// Rates are steps per second of processor time, so that what other programs of
// the machine take away does not count, but neither does what the JVM's own
// compilers take where there is no processor to spare.
type dip struct {
	Rate  float64       // before
	After float64       // when all was over
	Lost  time.Duration // processor time that brought no step, at the mean of both rates
	Slow  time.Duration // for how long it ran below a tenth of that
	Back  time.Duration // when it was at 95 % of it again, for half a second; 0: never
}

// dipOf compares the notes between two moments with those before and those
// after.
func dipOf(notes []note, from, until time.Duration) (dip, error) {
	index := func(at time.Duration) int {
		return slices.IndexFunc(notes, func(n note) bool { return n.at >= at })
	}
	begin, end := index(from), index(until)
	if begin < 2 || end < begin+2 || end > len(notes)-2 {
		return dip{}, fmt.Errorf("%d notes, asked for from %d to %d", len(notes), begin, end)
	}
	d := dip{Rate: medianRate(notes[:begin+1]), After: medianRate(notes[end:])}
	rate := (d.Rate + d.After) / 2
	if rate <= 0 {
		return dip{}, fmt.Errorf("the program did nothing")
	}
	meanwhile := notes[begin : end+1]
	first, last := meanwhile[0], meanwhile[len(meanwhile)-1]
	d.Lost = last.cpu - first.cpu - seconds(float64(last.done-first.done)/rate)
	for i := 1; i < len(meanwhile); i++ {
		if rateOf(meanwhile[i-1:i+1]) < 0.1*rate {
			d.Slow += meanwhile[i].cpu - meanwhile[i-1].cpu
		}
	}
	d.Back = backAt(notes[begin:], 0.95*rate)
	return d, nil
}

// backAt is when a rate was reached and held, after the first note.
func backAt(notes []note, rate float64) time.Duration {
	const held = 500 * time.Millisecond
	end := 0
	for i := range notes {
		for end < len(notes) && notes[end].at-notes[i].at < held {
			end++
		}
		if end == len(notes) {
			return 0
		}
		if rateOf(notes[i:end+1]) >= rate {
			return notes[i].at - notes[0].at
		}
	}
	return 0
}

// rateOf is 0 where the program had no processor.
func rateOf(notes []note) float64 {
	first, last := notes[0], notes[len(notes)-1]
	if last.cpu == first.cpu {
		return 0
	}
	return float64(last.done-first.done) / (last.cpu - first.cpu).Seconds()
}

// medianRate is the median of stretches: other programs of the machine disturb
// some of them.
func medianRate(notes []note) float64 {
	const length = 100 * time.Millisecond
	var rates []float64
	begin := 0
	for i := range notes {
		if notes[i].at-notes[begin].at >= length {
			rates = append(rates, rateOf(notes[begin:i+1]))
			begin = i
		}
	}
	if len(rates) == 0 {
		return rateOf(notes)
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A watcher returns what happened in the JVM since it was asked last.
type watcher func() (cost.Cost, error)

// watch returns a watcher that starts at a reading.
func watch(meter *cost.Meter, last cost.Reading) watcher {
	return func() (cost.Cost, error) {
		now, err := meter.Read()
		if err != nil {
			return cost.Cost{}, err
		}
		since := last.Until(now)
		last = now
		return since, nil
	}
}

// A waiter lets time pass, unless the context ends first.
type waiter func(context.Context, time.Duration) error

// A baseline is how busy a JVM's compilers were before a class was redefined.
type baseline struct {
	Known     bool
	Rate      float64 // seconds of compiling per second
	Spread    float64 // standard deviation of the rate between intervals
	Busy      float64 // as Rate, with the time compilers waited for a processor
	Wavering  float64 // standard deviation of Busy
	Intervals int
	Length    time.Duration // of all intervals together
}

// idle is the baseline of compilers that have nothing to do.
var idle = baseline{Known: true, Intervals: 1, Length: time.Second}

// observe looks at equal distances until the baseline is as long as asked for.
func observe(ctx context.Context, look watcher, length, every time.Duration, wait waiter) (baseline, error) {
	var intervals []cost.Cost
	for whole := time.Duration(0); len(intervals) < 2 || whole < length; {
		if err := wait(ctx, every); err != nil {
			return baseline{}, fmt.Errorf("observing the compilers: %w", err)
		}
		since, err := look()
		if err != nil {
			return baseline{}, fmt.Errorf("observing the compilers: %w", err)
		}
		intervals = append(intervals, since)
		whole += since.Elapsed
	}
	return baselineOf(intervals), nil
}

// baselineOf takes the baseline from at least two intervals that follow each other.
func baselineOf(intervals []cost.Cost) baseline {
	var rates, busy []float64
	for _, c := range intervals {
		spent, known := compiling(c)
		if !known || c.Elapsed <= 0 {
			return baseline{}
		}
		rates = append(rates, spent.Seconds()/c.Elapsed.Seconds())
		busy = append(busy, (spent+c.CompileWait).Seconds()/c.Elapsed.Seconds())
	}
	whole := join(intervals)
	spent, _ := compiling(whole)
	b := baseline{Known: true, Intervals: len(rates), Length: whole.Elapsed}
	b.Rate = spent.Seconds() / b.Length.Seconds()
	b.Busy = (spent + whole.CompileWait).Seconds() / b.Length.Seconds()
	b.Spread, b.Wavering = deviation(rates, b.Rate), deviation(busy, b.Busy)
	return b
}

// deviation is the standard deviation of samples from their mean.
func deviation(samples []float64, mean float64) float64 {
	sum := 0.0
	for _, sample := range samples {
		sum += (sample - mean) * (sample - mean)
	}
	return math.Sqrt(sum / float64(len(samples)-1))
}

// compiling is what compilers used: processor time, or where the compiler threads are not
// known the time the JVM reports for its compilations.
func compiling(c cost.Cost) (time.Duration, bool) {
	if c.Known.Compilers {
		return c.CompileCPU, true
	}
	return c.CompileTime, c.Known.Compiles
}

// join returns the cost of intervals that follow each other.
func join(intervals []cost.Cost) cost.Cost {
	whole := intervals[0]
	for _, c := range intervals[1:] {
		whole = whole.Then(c)
	}
	return whole
}

// A loss is what a JVM's compilers did after a class was redefined, beyond what they did
// before.
//
// Compiled code that depended on the class is discarded and compiled again. Recompile is
// the processor time of that. The program loses it only where it wanted those processors,
// and it loses more: until its code is compiled again, the program runs in the
// interpreter or in code that gathers profiles, ten or more times slower, which nothing
// outside the program shows. The whole loss, in seconds of the program at its former
// speed, lies between the pauses (Cost.Pause) and Unsettled.
//
// Compilation that the program causes by itself is counted too, if it is more than
// before: a JVM that has not warmed up has no baseline to return to. And a program that
// does little takes long to call its methods often enough for them to be compiled again:
// its compilers may come to rest long before that.
type loss struct {
	Known   bool
	Settled bool // false where the bound passed first
	// Unsettled is the time until the compilers were as busy as before.
	Unsettled time.Duration
	Cost      cost.Cost // of Unsettled and the quiet time after it
	Recompile time.Duration
	// Error is one standard error of Recompile, from the spread of the baseline.
	Error time.Duration
}

// A rule says when compilers count as settled: when they were busy no more than before
// for the length of quiet, in looks at a distance of every. After bound it is given up.
type rule struct {
	every, quiet, bound time.Duration
}

// settle follows the compilers from just before a class was redefined, until they are as
// busy as the baseline says, or the bound or the context ends it. With an error it
// returns what was seen until then.
func settle(ctx context.Context, look watcher, before baseline, r rule, wait waiter) (loss, error) {
	f := follower{before: before, rule: r}
	for {
		since, err := look()
		if err != nil {
			return f.loss(), fmt.Errorf("following the compilers: %w", err)
		}
		if f.add(since) {
			return f.loss(), nil
		}
		if err := wait(ctx, r.every); err != nil {
			return f.loss(), fmt.Errorf("following the compilers: %w", err)
		}
	}
}

// A follower decides, look by look.
type follower struct {
	before    baseline
	rule      rule
	intervals []cost.Cost
	settled   bool
	quiet     int // the first interval of the quiet stretch, once settled
}

// add takes in the next interval and reports whether it is the last one wanted.
func (f *follower) add(since cost.Cost) bool {
	f.intervals = append(f.intervals, since)
	begin, length := len(f.intervals), time.Duration(0)
	for begin > 0 && length < f.rule.quiet {
		begin--
		length += f.intervals[begin].Elapsed
	}
	if length >= f.rule.quiet && f.isQuiet(f.intervals[begin:]) {
		f.settled, f.quiet = true, begin
		return true
	}
	return join(f.intervals).Elapsed >= f.rule.bound
}

// isQuiet reports whether the compilers were no busier in a stretch than before, give or
// take their spread, or a little: idle compilers have no spread. Compilers that wait for
// a processor are busy.
func (f *follower) isQuiet(stretch []cost.Cost) bool {
	const little = 0.02 // of a processor
	c := join(stretch)
	spent, known := compiling(c)
	if !known || !f.before.Known {
		return false
	}
	wavering := 2 * f.before.Wavering / math.Sqrt(float64(len(stretch)))
	return (spent+c.CompileWait).Seconds()/c.Elapsed.Seconds() <= f.before.Busy+max(wavering, little)
}

// granularity is how late the kernel may account for a thread that runs.
const granularity = 4 * time.Millisecond

func (f *follower) loss() loss {
	if len(f.intervals) == 0 {
		return loss{}
	}
	l := loss{Settled: f.settled, Cost: join(f.intervals)}
	l.Unsettled = l.Cost.Elapsed
	if l.Settled {
		l.Unsettled -= join(f.intervals[f.quiet:]).Elapsed
	}
	spent, known := compiling(l.Cost)
	if l.Known = known && f.before.Known; !l.Known {
		return l
	}
	elapsed := l.Cost.Elapsed.Seconds()
	l.Recompile = spent - time.Duration(f.before.Rate*elapsed*float64(time.Second))
	// The rate varies by Spread from interval to interval, so the sum of n of them varies
	// by √n as much; the baseline is as uncertain, by its own length.
	each := f.before.Length.Seconds() / float64(f.before.Intervals)
	varied := f.before.Spread * each * math.Sqrt(elapsed/each)
	mistaken := f.before.Spread / math.Sqrt(float64(f.before.Intervals)) * elapsed
	l.Error = time.Duration(math.Hypot(math.Hypot(varied, mistaken), granularity.Seconds()) * float64(time.Second))
	return l
}
