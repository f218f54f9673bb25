// Observe measures whether what sonde observe proposes keeps its promise: H2 under a mix
// of SQL, the demo's shop with its customers, and a Tomcat with nothing but what comes
// with it.
//
//	go run ./bench/observe [-jdk N] [-programs H2,shop,Tomcat] [-budget 0.02] [-json]
//
// On each JDK a program runs beside an untouched twin. It is observed; then in turn it is
// left alone and has the proposed probes applied. Speeds are what a program does for a
// second of its own processor time, against its twin in the same windows, with the probes
// against when it is left alone. At the end the probes are applied once more and samples
// tell what they cover.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options are a run's. Times are processor time of each program, but for the look.
type options struct {
	jdk      int
	programs string
	budget   float64
	phases   int
	warm     time.Duration // before it is observed
	look     time.Duration // how long it is observed, by the clock
	rest     time.Duration // left alone, or with probes, in each phase
	settle   time.Duration // after hooks went in or out
	json     bool
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.programs, "programs", "H2,shop,Tomcat", "programs to observe")
	flag.Float64Var(&o.budget, "budget", 0.02, "part of a program's processor time that probes may take")
	flag.IntVar(&o.phases, "phases", 4, "how often the probes are applied")
	flag.DurationVar(&o.warm, "warm", 25*time.Second, "processor time a program has before it is observed")
	flag.DurationVar(&o.look, "for", 20*time.Second, "how long it is observed")
	flag.DurationVar(&o.rest, "rest", 12*time.Second, "processor time it has left alone, and with probes, in each phase")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "processor time in which it settles after hooks went in or out")
	flag.BoolVar(&o.json, "json", false, "write JSON")
	flag.Parse()
	machine.Main("bench/observe", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measureAll(ctx, jdk, o) })
	})
}

// measureAll observes the programs that were asked for, one after the other.
func measureAll(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	folder, err := filepath.Abs(filepath.Join("build", "bench-observe", jdk.Version))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	r := &report{JDK: jdk.Version, LoadBefore: machine.Load()}
	for name := range strings.SplitSeq(o.programs, ",") {
		at := slices.IndexFunc(subjects, func(s subject) bool { return strings.EqualFold(s.name, name) })
		if at < 0 {
			return nil, fmt.Errorf("there is no program %q", name)
		}
		result, err := measure(ctx, jdk, subjects[at], folder, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Results = append(r.Results, result)
	}
	if len(r.Results) == 0 {
		return nil, errors.New("no program was asked for")
	}
	r.LoadAfter = machine.Load()
	return r, nil
}

const command = "bench/observe"

// A pair is a program and its twin.
type pair struct{ *twin.Pair[*program] }

// measure has one program observed, and what is proposed applied.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, folder string, o options) (*result, error) {
	start, err := s.prepare(jdk, folder)
	if err != nil {
		return nil, err
	}
	both, err := twin.Start(ctx, func(name string) (*program, error) {
		place, err := placeFor(folder, name)
		if err != nil {
			return nil, err
		}
		return start(place)
	})
	if err != nil {
		return nil, err
	}
	p := pair{both}
	defer p.Close()
	say := func(what string) {
		fmt.Fprintf(os.Stderr, "%s JDK %s, %s: %s\n", time.Now().Format("15:04:05"), jdk.Version, s.name, what)
	}
	say("warming up")
	if _, err := p.Run(ctx, o.warm); err != nil {
		return nil, err
	}
	looking := suggest.Defaults()
	looking.PID, looking.Command, looking.Budget, looking.For = p.Touched.pid(), command, o.budget, o.look
	looking.Progress = func(at suggest.Progress) { say(string(at.Stage)) }
	proposal, err := suggest.Run(ctx, looking)
	if err != nil {
		return nil, err
	}
	r := &result{Program: s.name, Budget: o.budget, Expected: proposal.Cost, ExpectedCoverage: proposal.Coverage, Probes: len(proposal.Choices), YAML: string(proposal.YAML())}
	if err := p.compare(ctx, proposal.Set(), o, r, say); err != nil {
		return nil, err
	}
	trial, err := suggest.Try(ctx, looking, proposal)
	if err != nil {
		return nil, err
	}
	r.Reckoned, r.Coverage, r.Samples, r.Methods, r.CallsPerSecond = trial.Cost, trial.Coverage, trial.Samples, trial.Methods, float64(trial.Calls)/trial.Took.Seconds()
	for _, bare := range trial.Bare {
		r.Bare = append(r.Bare, fmt.Sprintf("%.1f %% below %s", 100*bare.Share, bare.Method))
	}
	return r, nil
}

var errNoWindows = errors.New("there are no windows to compare: let it rest longer with -rest")

// compare has the set applied in turn with leaving the program alone. What both differ by
// when nobody touches them may drift: the mean of before and after holds in between.
func (p pair) compare(ctx context.Context, set *probeset.Set, o options, r *result, say func(string)) error {
	before, err := p.alone(ctx, o)
	if err != nil {
		return err
	}
	for phase := range o.phases {
		say(fmt.Sprintf("probes applied, phase %d", phase+1))
		with, err := p.applied(ctx, set, o)
		if err != nil {
			return err
		}
		after, err := p.alone(ctx, o)
		if err != nil {
			return err
		}
		if len(before) == 0 || len(after) == 0 || len(with) == 0 {
			return errNoWindows
		}
		plain := (spread.Median(before) + spread.Median(after)) / 2
		for _, share := range with {
			r.Speeds = append(r.Speeds, share/plain)
		}
		for _, share := range after {
			r.Alone = append(r.Alone, share/plain)
		}
		before = after
	}
	return nil
}

// alone leaves the program alone, after it has settled.
func (p pair) alone(ctx context.Context, o options) ([]float64, error) {
	if _, err := p.Run(ctx, o.settle); err != nil {
		return nil, err
	}
	rested, err := p.Run(ctx, o.rest)
	if err != nil {
		return nil, err
	}
	track, err := p.Seen()
	return track.Shares(rested), err
}

// applied has the set applied as sonde apply does, without samples.
func (p pair) applied(ctx context.Context, set *probeset.Set, o options) (shares []float64, err error) {
	s, err := session.Open(ctx, p.Touched.pid(), session.Settings{Command: command})
	if err != nil {
		return nil, err
	}
	w := liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads})
	defer func() {
		w.Close()
		_, closing := s.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, closing, s.Release())
	}()
	if _, err := w.Apply(ctx, set); err != nil {
		return nil, err
	}
	return p.alone(ctx, o)
}

// A report is what the programs showed on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Results               []*result
}

// A result is what one program showed.
type result struct {
	Program          string
	Budget           float64
	Probes, Methods  int
	Expected         float64   // cost, by what was counted
	ExpectedCoverage float64   // by the samples of the observation
	Speeds           []float64 // with probes, of single windows, against when it is left alone
	Alone            []float64 // left alone, likewise
	Reckoned         float64   // cost, by the calls that probes had
	CallsPerSecond   float64
	Coverage         float64 // by samples while probes were applied
	Samples          int
	Bare             []string // what is not covered
	YAML             string   // what was proposed
}

// leastCoverage is what proposed probes have to cover.
const leastCoverage = 0.9

const (
	yes, no = "met", "NOT MET"
	noise   = "within noise"
)

// slower is how much slower the probes make the program, and how far that may be off.
func (r *result) slower() (slower, within float64) {
	speed, off := spread.Mean(r.Speeds)
	return 1/speed - 1, off
}

// inBudget is the verdict on what the probes cost.
func (r *result) inBudget() string {
	switch slower, within := r.slower(); {
	case slower+within <= r.Budget:
		return yes
	case slower-within <= r.Budget && slower <= r.Budget:
		return yes + " (" + noise + ")"
	case slower-within <= r.Budget:
		return noise
	}
	return no
}

func (r *result) isCovered() bool { return r.Coverage >= leastCoverage }

// AllMet reports whether every program kept its budget and was covered.
func (r *report) AllMet() bool {
	for _, one := range r.Results {
		if one.inBudget() == no || !one.isCovered() {
			return false
		}
	}
	return true
}

// Print writes what was found, with the verdicts.
func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, load %s at first, %s now\n", r.JDK, r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(w, "%-7s | %6s %7s %9s | %8s %9s | %16s %3s %16s | %9s %9s %8s\n", "", "probes", "methods", "calls/s", "expected", "reckoned",
		"slower", "n", "left alone", "expected", "covered", "samples")
	for _, one := range r.Results {
		slower, within := one.slower()
		alone, off := spread.Mean(one.Alone)
		fmt.Fprintf(w, "%-7s | %6d %7d %9.0f | %7.2f%% %8.2f%% | %+7.2f%% ± %4.2f%% %3d %+7.2f%% ± %4.2f%% | %8.1f%% %8.1f%% %8d\n", one.Program, one.Probes, one.Methods,
			one.CallsPerSecond, 100*one.Expected, 100*one.Reckoned, 100*slower, 100*within, len(one.Speeds), 100*(1/alone-1), 100*off,
			100*one.ExpectedCoverage, 100*one.Coverage, one.Samples)
	}
	fmt.Fprintln(w, `
expected, reckoned: what probes cost of the program's processor time, by the calls that were counted before and that they had;
slower: how much less the program does for its processor time than when it is left alone, both against an untouched twin, in n
windows; left alone: the same without probes. covered: share of samples in which a probed method stands above the leaf.`)
	for _, one := range r.Results {
		slower, within := one.slower()
		fmt.Fprintf(w, "%-7s probes make it %+.2f %% ± %.2f slower (budget %.1f %%): %s\n", one.Program, 100*slower, 100*within, 100*one.Budget, one.inBudget())
		verdict := no
		if one.isCovered() {
			verdict = yes
		}
		fmt.Fprintf(w, "%-7s they cover %.1f %% of the time above the leaf (at least %.0f %%): %s\n", one.Program, 100*one.Coverage, 100*leastCoverage, verdict)
		if len(one.Bare) > 0 {
			fmt.Fprintf(w, "%-7s not covered: %s\n", one.Program, strings.Join(one.Bare, "; "))
		}
	}
}
