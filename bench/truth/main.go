// Truth holds what profiles say of times against what the same methods need
// without hooks.
//
//	go run ./bench/truth [--runs N] [--repeats N] [--time D] [--short D] [--jdk N] [--only PATTERN] [--visualvm=false]
//
// On each JDK a Java program runs that has its methods twice: in one twin hooks
// go in, the other never has any. While a profile runs, batches of both alternate,
// a few milliseconds each, so that what else the machine does hits both alike;
// the mean of the bare twin's batches is the truth. It holds the call itself too.
// That the twins are equal is shown by times of the first before any hook is in
// and after all are out.
//
// Exact profiles are read with calibration, and beside it without. Sampled ones are
// short and many: what counts is how often the truth lies within their interval.
// VisualVM's engine is read on the same program, where it is installed.
//
// The exit code is 1 where a demand is not met, and 2 where something could not
// be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	runs, repeats int
	time, short   time.Duration
	jdk           int
	visualVM      bool
	only          *regexp.Regexp // names of cases
	sources       string
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "exact profiles; medians over them are judged")
	flag.IntVar(&o.repeats, "repeats", 100, "sampled profiles")
	flag.DurationVar(&o.time, "time", 600*time.Millisecond, "how long each case works in an exact profile")
	flag.DurationVar(&o.short, "short", 100*time.Millisecond, "how long each case works in a sampled profile")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.BoolVar(&o.visualVM, "visualvm", true, "beside it VisualVM's engine, where it is installed")
	flag.StringVar(&o.sources, "sources", "bench/truth/java", "folder with the Java program")
	only := flag.String("only", "", "only cases whose names match this regular expression, such as Tiny|Us1")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	machine.Main("bench/truth", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	met = true
	for _, jdk := range jdks {
		r, err := measure(ctx, jdk, o)
		if err != nil {
			return false, fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		r.print(os.Stdout)
		met = met && r.allMet()
	}
	return met, nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	p, err := start(jdk, classes)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r := newReport(jdk, o)
	if err := p.warm(r.cases()); err != nil {
		return nil, err
	}
	if len(r.Exact) > 0 {
		if err := r.measureExact(ctx, p, o); err != nil {
			return nil, err
		}
		if o.visualVM {
			if err := r.measureVisualVM(ctx, jdk, classes, o); err != nil {
				return nil, err
			}
		}
	}
	if len(r.Sampled) > 0 {
		if err := r.measureSampled(ctx, p, o); err != nil {
			return nil, err
		}
	}
	r.judge()
	return r, nil
}

func mean(values []float64) float64 {
	var sum float64
	for _, value := range values {
		sum += value
	}
	return sum / float64(max(len(values), 1))
}

// means is the mean of each column.
func means(batches [][]float64) []float64 { return columns(batches, mean) }

// medians is the median of each column.
func medians(batches [][]float64) []float64 { return columns(batches, spread.Median) }

func columns(batches [][]float64, figure func([]float64) float64) []float64 {
	if len(batches) == 0 {
		return nil
	}
	figures := make([]float64, len(batches[0]))
	for column := range figures {
		values := make([]float64, 0, len(batches))
		for _, batch := range batches {
			values = append(values, batch[column])
		}
		figures[column] = figure(values)
	}
	return figures
}

// A report is everything that was found on one JDK.
type report struct {
	JDK, Load     string
	NoEngine      string // why there is no other engine beside
	Runs, Repeats int
	Exact         []exact
	Sampled       []sampled
	Verdicts      []verdict
}

func newReport(jdk jvmtest.JDK, o options) *report {
	r := &report{JDK: jdk.Version, Load: machine.Load(), Runs: o.runs, Repeats: o.repeats}
	for _, row := range exactRows {
		if o.runs > 0 && o.only.MatchString(row.Case) {
			r.Exact = append(r.Exact, exact{Row: row})
		}
	}
	for _, row := range sampledRows {
		if o.repeats > 0 && o.only.MatchString(row.Case) {
			r.Sampled = append(r.Sampled, sampled{Row: row})
		}
	}
	return r
}

func (r *report) exactRows() []row {
	rows := make([]row, 0, len(r.Exact))
	for _, e := range r.Exact {
		rows = append(rows, e.Row)
	}
	return rows
}

func (r *report) sampledRows() []row {
	rows := make([]row, 0, len(r.Sampled))
	for _, s := range r.Sampled {
		rows = append(rows, s.Row)
	}
	return rows
}

// cases are the classes of all rows, each once.
func (r *report) cases() []string { return casesOf(append(r.exactRows(), r.sampledRows()...)) }

// A verdict is one demand, and whether it is met.
type verdict struct {
	Demand, Found string
	Met           bool
	Unclear       bool // the machine was too busy to tell
}

func (r *report) allMet() bool {
	return !slices.ContainsFunc(r.Verdicts, func(v verdict) bool { return !v.Met })
}

func (r *report) judge() {
	if len(r.Exact) > 0 {
		r.judgeExact()
	}
	if len(r.Sampled) > 0 {
		r.judgeSampled()
	}
}

func (r *report) judgeExact() {
	dependent := verdict{Demand: "dependent work is told within 3 %", Met: true}
	others := verdict{Demand: "all others lie inside the stated error", Met: true}
	var worst float64
	var held, all int
	for _, e := range r.Exact {
		if e.Row.Demand == within {
			worst = math.Max(worst, math.Abs(e.median(reading.off)))
			dependent.add(e.met(), e.unclear())
			continue
		}
		all++
		if e.met() {
			held++
		}
		others.add(e.met(), e.unclear())
	}
	dependent.Found, others.Found = fmt.Sprintf("the worst %.1f %%", 100*worst), fmt.Sprintf("%d of %d", held, all)
	r.Verdicts = append(r.Verdicts, dependent, r.judgeRatio(), others)
}

func (r *report) judgeRatio() verdict {
	v := verdict{Demand: "two methods in ratio 3:1 are told so, within 3 %"}
	told, truth := 1.0, 1.0
	for _, e := range r.Exact {
		if e.Row.Case != "Ratio" {
			continue
		}
		power := 1.0
		if e.Row.Per == "second" {
			power = -1
		}
		told *= math.Pow(e.median(func(r reading) float64 { return r.Told }), power)
		truth *= math.Pow(e.median(func(r reading) float64 { return r.Truth }), power)
		v.Unclear = v.Unclear || e.unclear()
	}
	v.Found, v.Met = fmt.Sprintf("%.3f for %.3f", told, truth), math.Abs(told/truth-1) <= mostOff
	v.Unclear = v.Unclear && !v.Met
	return v
}

func (r *report) judgeSampled() {
	v := verdict{Demand: "sampled times lie in their 95 % interval at least 95 times of 100", Met: true}
	least, inside, all := r.Repeats, 0, 0
	for _, s := range r.Sampled {
		least = min(least, s.insideRuns())
		inside, all = inside+s.insideRuns(), all+len(s.Readings)
		v.add(s.met(), spread.Median(s.figures(func(r reading) float64 { return r.Ran })) < leastRun)
	}
	v.Met = v.Met && float64(inside) >= sure*float64(all)
	v.Found = fmt.Sprintf("%d of %d, worst %d of %d", inside, all, least, r.Repeats)
	r.Verdicts = append(r.Verdicts, v)
}

// add takes one more row into a verdict.
func (v *verdict) add(met, unclear bool) {
	v.Met = v.Met && met
	v.Unclear = v.Unclear || unclear && !met
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s; load %s\n\n", r.JDK, r.Load)
	if len(r.Exact) > 0 {
		r.printExact(w)
	}
	if len(r.Sampled) > 0 {
		r.printSampled(w)
	}
	for _, v := range r.Verdicts {
		word := "pass"
		switch {
		case v.Unclear:
			word = "UNCLEAR, the machine is too busy to tell"
		case !v.Met:
			word = "MISS"
		}
		fmt.Fprintf(w, "%-66s %-24s %s\n", v.Demand, v.Found, word)
	}
	fmt.Fprintln(w)
}

func (r *report) printExact(w io.Writer) {
	fmt.Fprintf(w, "exact: ns a call, medians of %d profiles; ± is against the truth\n", r.Runs)
	fmt.Fprintf(w, "%-22s %11s %11s %8s %25s %8s %11s %9s %10s %8s %8s %6s\n",
		"", "truth", "told", "±", "stated", "inside", "raw", "±", "VisualVM ±", "before", "after", "ran")
	for _, e := range r.Exact {
		figure := func(f func(reading) float64) float64 { return e.median(f) }
		truth := figure(func(r reading) float64 { return r.Truth })
		fmt.Fprintf(w, "%-22s %11.1f %11.1f %+7.1f%% %11.1f to %10.1f %5d/%-2d %11.1f %+8.1f%% %10s %8.3f %8.3f %6.3f%s\n",
			e.Row.Label, truth, figure(func(r reading) float64 { return r.Told }), 100*figure(reading.off),
			figure(func(r reading) float64 { return r.Low }), figure(func(r reading) float64 { return r.High }),
			e.insideRuns(), len(e.Readings), figure(func(r reading) float64 { return r.Raw }), 100*figure(reading.rawOff),
			e.beside(), e.Before/truth, e.After/truth, figure(func(r reading) float64 { return r.Ran }), missed(e.met()))
	}
	fmt.Fprintln(w, "raw: by the clock, without calibration; before, after: the twin with hooks while it has none, against the truth")
	fmt.Fprintln(w, "ran: the part of its time in which the program had a processor")
	if r.NoEngine != "" {
		fmt.Fprintln(w, r.NoEngine)
	}
	fmt.Fprintln(w)
}

func (r *report) printSampled(w io.Writer) {
	fmt.Fprintf(w, "sampled: ns a call, %d profiles\n", r.Repeats)
	fmt.Fprintf(w, "%-26s %11s %11s %8s %10s %9s\n", "", "truth", "told", "±", "interval", "inside")
	for _, s := range r.Sampled {
		width := func(r reading) float64 { return (r.High - r.Low) / 2 / r.Truth }
		fmt.Fprintf(w, "%-26s %11.1f %11.1f %+7.1f%% %8.1f%% %5d/%-3d%s\n", s.Row.Label,
			spread.Median(s.figures(func(r reading) float64 { return r.Truth })), spread.Median(s.figures(func(r reading) float64 { return r.Told })),
			100*spread.Median(s.figures(reading.off)), 100*spread.Median(s.figures(width)), s.insideRuns(), len(s.Readings), missed(s.met()))
	}
	fmt.Fprint(w, "interval: half of its width, as a part of the truth; median\n\n")
}

// beside is by how much another engine is off.
func (e exact) beside() string {
	if e.Beside == nil {
		return "–"
	}
	return fmt.Sprintf("%+.1f%%", 100*e.Beside.off())
}

func missed(met bool) string {
	if met {
		return ""
	}
	return "  MISS"
}
