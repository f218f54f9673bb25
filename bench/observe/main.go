// Observe measures whether the probes that sonde observe proposes keep the budget: H2
// under a mix of SQL, the demo's shop with its customers, and a Tomcat without added
// applications.
//
//	go run ./bench/observe [-jdk N] [-programs H2,shop,Tomcat] [-budget 0.02]
//
// On each JDK a program and an untouched twin run at the same time. The program is observed;
// then it runs without and with the proposed probes by turns. Speed is work per second of
// processor time, relative to the twin in the same windows; the figure is the speed with
// probes divided by the speed without. At the end the probes are applied once more, and
// samples show what they cover.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Times are processor time of each program, except for the observation.
var (
	programs = flag.String("programs", "H2,shop,Tomcat", "programs to observe")
	budget   = flag.Float64("budget", 0.02, "share of the program's processor time that probes may cost")
	phases   = flag.Int("phases", 4, "how often the probes are applied")
	warm     = flag.Duration("warm", 25*time.Second, "processor time of a program before it is observed")
	length   = flag.Duration("for", 20*time.Second, "wall-clock time of the observation")
	rest     = flag.Duration("rest", 12*time.Second, "processor time without and with probes in each phase")
	settle   = flag.Duration("settle", 5*time.Second, "processor time to settle after hooks are added or removed")
)

func main() {
	harness.Main("observe", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "program", "probes", "methods", "calls a second", "cost expected", "cost computed", "slower", "windows", "left alone",
			"coverage expected", "covered", "samples")
		r.Note("%s", legend)
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			folder, err := filepath.Abs(filepath.Join("build", "bench-observe", jdk.Version))
			if err != nil {
				return err
			}
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			for name := range strings.SplitSeq(*programs, ",") {
				at := slices.IndexFunc(subjects, func(s subject) bool { return strings.EqualFold(s.name, name) })
				if at < 0 {
					return fmt.Errorf("there is no program %q", name)
				}
				result, err := measure(ctx, jdk, subjects[at], folder)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				result.report(r, table, jdk.Version)
			}
			return nil
		})
	})
}

const command = "bench/observe"

// A pair is a program and its twin.
type pair struct{ *harness.Pair[*program] }

// measure has one program observed, and what is proposed applied.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, folder string) (*result, error) {
	start, err := s.prepare(jdk, folder)
	if err != nil {
		return nil, err
	}
	both, err := harness.StartPair(ctx, func(name string) (*program, error) {
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
	if _, err := p.Run(ctx, *warm); err != nil {
		return nil, err
	}
	looking := suggest.Defaults()
	looking.PID, looking.Command, looking.Budget, looking.For = p.Touched.PID(), command, *budget, *length
	looking.Progress = func(at suggest.Progress) { say(string(at.Stage)) }
	proposal, err := suggest.Run(ctx, looking)
	if err != nil {
		return nil, err
	}
	r := &result{Program: s.name, Budget: *budget, Expected: proposal.Cost, ExpectedCoverage: proposal.Coverage, Probes: len(proposal.Choices), YAML: string(proposal.YAML())}
	if err := p.compare(ctx, proposal.Set(), r, say); err != nil {
		return nil, err
	}
	trial, err := suggest.Try(ctx, looking, proposal)
	if err != nil {
		return nil, err
	}
	r.Reckoned, r.Coverage, r.Samples, r.Methods, r.CallsPerSecond = trial.Cost, trial.Coverage, trial.Samples, trial.Methods, float64(trial.Calls)/trial.Took.Seconds()
	for _, bare := range trial.Bare {
		r.Bare = append(r.Bare, fmt.Sprintf("%.1f %% below %s", 100*bare.Share, bare.Method.QualifiedName()))
	}
	return r, nil
}

var errNoWindows = errors.New("there are no windows to compare: let it rest longer with -rest")

// compare has the set applied in turn with leaving the program alone. What both differ by
// when nobody touches them may drift: the mean of before and after holds in between.
func (p pair) compare(ctx context.Context, set *probeset.Set, r *result, say func(string)) error {
	before, err := p.alone(ctx)
	if err != nil {
		return err
	}
	for phase := range *phases {
		say(fmt.Sprintf("probes applied, phase %d", phase+1))
		with, err := p.applied(ctx, set)
		if err != nil {
			return err
		}
		after, err := p.alone(ctx)
		if err != nil {
			return err
		}
		if len(before) == 0 || len(after) == 0 || len(with) == 0 {
			return errNoWindows
		}
		plain := (harness.Median(before) + harness.Median(after)) / 2
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
func (p pair) alone(ctx context.Context) ([]float64, error) {
	if _, err := p.Run(ctx, *settle); err != nil {
		return nil, err
	}
	rested, err := p.Run(ctx, *rest)
	if err != nil {
		return nil, err
	}
	track, err := p.Seen()
	return track.Shares(rested), err
}

// applied applies the set as sonde apply does, without samples.
func (p pair) applied(ctx context.Context, set *probeset.Set) (shares []float64, err error) {
	err = harness.InSession(ctx, p.Touched.PID(), func(s *session.Look) error {
		w := liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads})
		defer w.Close()
		if _, err := w.Apply(ctx, set); err != nil {
			return err
		}
		shares, err = p.alone(ctx)
		return err
	})
	return shares, err
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

// slower is how much slower the probes make the program, and how far that may be off.
func (r *result) slower() (slower, within float64) {
	speed, off := harness.Mean(r.Speeds)
	return 1/speed - 1, off
}

// inBudget is the verdict on the cost of the probes; it is unclear where only noise keeps
// it within the budget.
func (r *result) inBudget() harness.Verdict {
	switch slower, within := r.slower(); {
	case slower <= r.Budget:
		return harness.Met
	case slower-within <= r.Budget:
		return harness.Unclear
	}
	return harness.Missed
}

const legend = `Cost expected, computed: part of the program's processor time that probes take, by the calls that were counted before,
and by the calls that the probes had. Slower: how much less the program does for its processor time than when it is left alone, both against
an untouched twin; left alone: the same without probes. Covered: share of samples in which a probed method stands above the leaf.`

func (r *result) report(to *harness.Report, table *harness.Table, jdk string) {
	percent := func(part float64) string { return fmt.Sprintf("%.2f %%", 100*part) }
	slower, within := r.slower()
	alone, off := harness.Mean(r.Alone)
	table.Row(jdk, r.Program, r.Probes, r.Methods, fmt.Sprintf("%.0f", r.CallsPerSecond), percent(r.Expected), percent(r.Reckoned),
		percent(slower)+" ± "+percent(within), len(r.Speeds), percent(1/alone-1)+" ± "+percent(off), percent(r.ExpectedCoverage), percent(r.Coverage), r.Samples)
	to.Bar(r.inBudget(), "JDK %s, %s: probes make it %+.2f %% ± %.2f slower (budget %.1f %%)", jdk, r.Program, 100*slower, 100*within, 100*r.Budget)
	to.Bar(harness.Judge(r.Coverage >= leastCoverage), "JDK %s, %s: they cover %.1f %% of the time above the leaf (at least %.0f %%)",
		jdk, r.Program, 100*r.Coverage, 100*leastCoverage)
	if len(r.Bare) > 0 {
		to.Note("JDK %s, %s: not covered: %s", jdk, r.Program, strings.Join(r.Bare, "; "))
	}
}
