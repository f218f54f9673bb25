// Truth compares profiled times with the times of the same methods without hooks.
//
//	go run ./bench/truth [-jdk N] [-runs N] [-repeats N] [-time D] [-short D] [-only PATTERN] [-visualvm=false]
//
// On each JDK a Java program runs that has its methods twice: in one twin hooks
// go in, the other never has any. While a profile runs, batches of both alternate,
// a few milliseconds each, so that what else the machine does hits both alike;
// the mean of the bare twin's batches is the truth. It holds the call itself too.
// That the twins are equal is shown by times of the first before any hook is in
// and after all are out.
//
// Exact profiles are read both with and without calibration. Sampled profiles are
// short and many: the figure is how often the truth lies within their interval.
// VisualVM's engine is read on the same program, where it is installed.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	runs       = flag.Int("runs", 5, "exact profiles; medians over them are judged")
	repeats    = flag.Int("repeats", 100, "sampled profiles")
	length     = flag.Duration("time", 600*time.Millisecond, "how long each case works in an exact profile")
	short      = flag.Duration("short", 100*time.Millisecond, "how long each case works in a sampled profile")
	only       = flag.String("only", "", "only cases whose names match this regular expression, such as Tiny|Us1")
	withTheirs = flag.Bool("visualvm", true, "measure VisualVM's engine too, where it is installed")
)

func main() {
	harness.Main("truth", func(ctx context.Context, to *harness.Report) error {
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			r := newReport(to, jdk)
			if err := r.measure(ctx, jdk); err != nil {
				return err
			}
			if len(r.Exact) > 0 {
				r.addExact()
				r.judgeExact()
			}
			if len(r.Sampled) > 0 {
				r.addSampled()
				r.judgeSampled()
			}
			return nil
		})
	})
}

func (r *report) measure(ctx context.Context, jdk jvmtest.JDK) error {
	classes, err := compile(jdk)
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	p, err := start(jdk, classes)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.warm(r.cases()); err != nil {
		return err
	}
	if len(r.Exact) > 0 {
		if err := r.measureExact(ctx, p); err != nil {
			return err
		}
		if *withTheirs {
			if err := r.measureVisualVM(ctx, jdk, classes); err != nil {
				return err
			}
		}
	}
	if len(r.Sampled) > 0 {
		return r.measureSampled(ctx, p)
	}
	return nil
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
func medians(batches [][]float64) []float64 { return columns(batches, harness.Median) }

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
	*harness.Report
	jdk     string
	Exact   []exact
	Sampled []sampled
}

func newReport(to *harness.Report, jdk jvmtest.JDK) *report {
	r := &report{Report: to, jdk: jdk.Version}
	wanted := regexp.MustCompile(*only)
	for _, row := range exactRows {
		if *runs > 0 && wanted.MatchString(row.Case) {
			r.Exact = append(r.Exact, exact{Row: row})
		}
	}
	for _, row := range sampledRows {
		if *repeats > 0 && wanted.MatchString(row.Case) {
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

// A demand on several rows is met where each of them meets it, and unclear where the
// machine was too busy for one that does not.
type allRows struct{ missed, unclear bool }

func (a *allRows) add(met, unclear bool) {
	a.missed = a.missed || !met
	a.unclear = a.unclear || unclear && !met
}

func (a allRows) verdict() harness.Verdict {
	if a.unclear {
		return harness.Unclear
	}
	return harness.Judge(!a.missed)
}

func (r *report) judgeExact() {
	var dependent, others allRows
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
	r.Bar(dependent.verdict(), "JDK %s: dependent work is reported within 3 %%: the worst is off by %.1f %%", r.jdk, 100*worst)
	r.judgeRatio()
	r.Bar(others.verdict(), "JDK %s: all others lie inside the stated error: %d of %d", r.jdk, held, all)
}

func (r *report) judgeRatio() {
	reported, truth, unclear := 1.0, 1.0, false
	for _, e := range r.Exact {
		if e.Row.Case != "Ratio" {
			continue
		}
		power := 1.0
		if e.Row.Per == "second" {
			power = -1
		}
		reported *= math.Pow(e.median(func(r reading) float64 { return r.Told }), power)
		truth *= math.Pow(e.median(func(r reading) float64 { return r.Truth }), power)
		unclear = unclear || e.unclear()
	}
	var v allRows
	v.add(math.Abs(reported/truth-1) <= mostOff, unclear)
	r.Bar(v.verdict(), "JDK %s: the ratio of two methods is reported within 3 %%: %.3f for %.3f", r.jdk, reported, truth)
}

func (r *report) judgeSampled() {
	var v allRows
	least, inside, all := *repeats, 0, 0
	for _, s := range r.Sampled {
		least = min(least, s.insideRuns())
		inside, all = inside+s.insideRuns(), all+len(s.Readings)
		v.add(s.met(), s.median(func(r reading) float64 { return r.Ran }) < leastRun)
	}
	v.missed = v.missed || float64(inside) < sure*float64(all)
	r.Bar(v.verdict(), "JDK %s: sampled times lie in their 95 %% interval at least 95 times of 100: %d of %d, worst %d of %d", r.jdk, inside, all, least, *repeats)
}

func (r *report) addExact() {
	r.Note("JDK %s, exact: ns a call, medians of %d profiles. Raw: by the clock, without calibration. Before, after: the twin with hooks "+
		"while it has none, against the truth. Ran: the part of its time in which the program had a processor.", r.jdk, *runs)
	table := r.Table("exact", "truth", "reported", "off by", "stated", "inside", "raw", "off by", "VisualVM off by", "before", "after", "ran", "verdict")
	number := func(n float64) string { return fmt.Sprintf("%.1f", n) }
	for _, e := range r.Exact {
		truth := e.median(func(r reading) float64 { return r.Truth })
		theirs := "–"
		if e.Beside != nil {
			theirs = percent(e.Beside.off())
		}
		table.Row(e.Row.Label, number(truth), number(e.median(func(r reading) float64 { return r.Told })), percent(e.median(reading.off)),
			number(e.median(func(r reading) float64 { return r.Low }))+" to "+number(e.median(func(r reading) float64 { return r.High })),
			fmt.Sprintf("%d/%d", e.insideRuns(), len(e.Readings)), number(e.median(func(r reading) float64 { return r.Raw })), percent(e.median(reading.rawOff)),
			theirs, fmt.Sprintf("%.3f", e.Before/truth), fmt.Sprintf("%.3f", e.After/truth),
			fmt.Sprintf("%.3f", e.median(func(r reading) float64 { return r.Ran })), harness.Judge(e.met()))
	}
}

func (r *report) addSampled() {
	r.Note("JDK %s, sampled: ns a call, %d profiles. Interval: half of its width, as a part of the truth; median.", r.jdk, *repeats)
	table := r.Table("sampled", "truth", "reported", "off by", "interval", "inside", "verdict")
	for _, s := range r.Sampled {
		width := func(r reading) float64 { return (r.High - r.Low) / 2 / r.Truth }
		table.Row(s.Row.Label, fmt.Sprintf("%.1f", s.median(func(r reading) float64 { return r.Truth })),
			fmt.Sprintf("%.1f", s.median(func(r reading) float64 { return r.Told })), percent(s.median(reading.off)),
			fmt.Sprintf("%.1f %%", 100*s.median(width)), fmt.Sprintf("%d/%d", s.insideRuns(), len(s.Readings)), harness.Judge(s.met()))
	}
}

func percent(part float64) string { return fmt.Sprintf("%+.1f %%", 100*part) }
