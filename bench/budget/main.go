// Budget measures whether hooks keep their budget in a program whose load makes every hook expensive.
//
//	go run ./bench/budget [-jdk N] [-commands drill,trace,…] [-length 40s]
//
// The program calls tiny methods some hundred thousand times a second each, and so does a twin that nobody touches. What the program does for a
// second of processor time, compared with its twin, before a command and while it runs, is what the command costs it: with hooks,
// lost inlining, and code that has to be compiled again. In no ten seconds may that be more than the budget and one point.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var (
	names   = flag.String("commands", "", "commands to run, such as drill,trace; all if empty")
	warm    = flag.Duration("warm", 10*time.Second, "processor time of the program before it is measured")
	before  = flag.Duration("before", 30*time.Second, "processor time of the program before a command")
	length  = flag.Duration("length", 40*time.Second, "how long a command measures")
	verbose = flag.Bool("v", false, "print the messages of commands, and what the program loses in each second")
)

const (
	window  = 10 * time.Second // of processor time
	allowed = 0.01             // beyond the budget
	unknown = -1               // there were no ten seconds
	root    = "busy.Busy$Orders.handle"
	goals   = "version: 1\ngoals:\n- method: " + root + "\n  goal: p99 < 2ms\n  over: 2s\n  recovered-after: 1m\n"
)

// A command is a way to measure the program.
type command struct {
	name      string
	budget    float64 // 0 if the user has asked for hooks that cost what they cost
	arguments []string
}

var commands = []command{
	{"drill", 0.02, []string{"--slower-than", "2ms", root}},
	{"trace", overhead.Usual, []string{"--limit", "10000", "--show", "none", root}},
	{"monitor", overhead.Usual, []string{"busy.**"}},
	{"apply", overhead.Usual, nil},
	{"profile", 0.02, []string{"--root", root}},
	{"profile exact", 0, []string{"--root", root, "--timing", "exact"}},
}

// A run is one command.
type run struct {
	command
	jdk   int
	noise float64 // largest loss in ten seconds before the command
	worst float64 // likewise while it ran
	later float64 // likewise without its first ten seconds, in which classes are changed
	said  []string
	all   []float64 // worst of all runs, if there were several
}

func main() {
	harness.Main("budget", func(ctx context.Context, r *harness.Report) error {
		return harness.WithSonde(ctx, func(folder, sonde string) error {
			file := filepath.Join(folder, "goals.yaml")
			if err := os.WriteFile(file, []byte(goals), 0o600); err != nil {
				return err
			}
			var runs []*run
			err := harness.EachJDK(func(jdk jvmtest.JDK) error { return measureAll(ctx, jdk, sonde, file, &runs) })
			report(r, runs)
			return err
		})
	})
}

func measureAll(ctx context.Context, jdk jvmtest.JDK, sonde, file string, runs *[]*run) error {
	classes, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/budget/java/busy/*.java"}})
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	var failures []error
	for _, c := range commands {
		if *names != "" && !slices.Contains(strings.Split(*names, ","), c.name) || ctx.Err() != nil {
			continue
		}
		if c.name == "apply" {
			c.arguments = []string{"--yes", "-f", file}
		}
		r, err := measureUntilClear(ctx, jdk, classes, sonde, c)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s on %d: %w", c.name, jdk.Major, err))
			continue
		}
		*runs = append(*runs, r)
		fmt.Fprintf(os.Stderr, "%s on %d: at worst %s, later %s, before it %s: %s\n", c.name, jdk.Major, r.lost(), percent(r.later), percent(r.noise), r.verdict())
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// measureUntilClear measures a command, three times if the first one is not clear, and returns the run in the middle.
func measureUntilClear(ctx context.Context, jdk jvmtest.JDK, classes, sonde string, c command) (*run, error) {
	first, err := measure(ctx, jdk, classes, sonde, c)
	if err != nil || first.verdict() != harness.Unclear {
		return first, err
	}
	runs := []*run{first}
	for range 2 {
		next, err := measure(ctx, jdk, classes, sonde, c)
		if err != nil {
			return nil, err
		}
		runs = append(runs, next)
	}
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.worst, b.worst) })
	middle := runs[1]
	for _, r := range runs {
		middle.all = append(middle.all, r.worst)
	}
	return middle, nil
}

// measure runs a command on a program that is warm.
func measure(ctx context.Context, jdk jvmtest.JDK, classes, sonde string, c command) (*run, error) {
	pair, err := harness.StartPair(ctx, func(string) (*harness.Program, error) {
		return harness.Start(jdk, "-Xmx256m", "-cp", classes, "busy.Busy")
	})
	if err != nil {
		return nil, err
	}
	defer pair.Close()
	if _, err := pair.Run(ctx, *warm); err != nil {
		return nil, err
	}
	quiet, err := pair.Run(ctx, *before)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(c.name, " ")
	process := exec.CommandContext(ctx, sonde, append([]string{name, strconv.Itoa(pair.Touched.PID()), "--no-service", "--json", "--duration", length.String()}, c.arguments...)...)
	var messages bytes.Buffer
	process.Stderr = &messages
	during := harness.Span{From: time.Now()}
	err = process.Run()
	if *verbose {
		fmt.Fprintf(os.Stderr, "sonde %s\n%s", c.name, messages.String())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(messages.Bytes()))
	}
	later, err := pair.Run(ctx, window) // compilers are still busy
	if err != nil {
		return nil, err
	}
	during.Until = later.Until
	track, err := pair.Seen()
	if err != nil {
		return nil, err
	}
	expected, err := track.Within(quiet).Share()
	if err != nil {
		return nil, err
	}
	r := &run{command: c, jdk: jdk.Major}
	for line := range strings.Lines(messages.String()) {
		if strings.Contains(line, "the budget is") {
			r.said = append(r.said, strings.TrimSpace(line))
		}
	}
	r.noise = worst(track.Within(quiet), expected)
	r.worst = worst(track.Within(during), expected)
	r.later = worst(track.Within(harness.Span{From: track.After(during.From, window), Until: during.Until}), expected)
	if *verbose {
		for _, part := range slices.Collect(slices.Chunk(track.Within(during), int(time.Second/harness.Every))) {
			if share, err := part.Share(); err == nil {
				fmt.Fprintf(os.Stderr, "%s %s\n", part[0].At.Sub(during.From).Round(time.Second/10), percent(1-share/expected))
			}
		}
	}
	return r, nil
}

// worst returns the largest part that the program has lost of any ten seconds of its processor time, if it should have done a
// share of what its twin did.
func worst(t harness.Track, expected float64) float64 {
	lost, end := float64(unknown), 0
	for begin := range t {
		for end < len(t) && t[end].Touched.CPU-t[begin].Touched.CPU < window {
			end++
		}
		if end == len(t) {
			break
		}
		if share, err := t[begin : end+1].Share(); err == nil {
			lost = max(lost, 1-share/expected)
		}
	}
	return lost
}

// asked is the verdict on hooks without a budget.
const asked harness.Verdict = "as asked for"

// verdict says whether the budget was kept. What the program loses by chance does not count.
func (r *run) verdict() harness.Verdict {
	most := r.budget + allowed
	switch {
	case r.budget == 0:
		return asked
	case r.worst <= most:
		return harness.Met
	case r.worst-max(0, r.noise) <= most:
		return harness.Unclear
	}
	return harness.Missed
}

// percent returns a loss as text; a dash if there was no time of ten seconds.
func percent(lost float64) string {
	if lost == unknown {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*lost)
}

// lost returns what the program has lost at worst, and in which runs.
func (r *run) lost() string {
	if len(r.all) == 0 {
		return percent(r.worst)
	}
	return fmt.Sprintf("%s (%s to %s)", percent(r.worst), percent(r.all[0]), percent(r.all[len(r.all)-1]))
}

func report(r *harness.Report, runs []*run) {
	r.Note("A program calls tiny methods some hundred thousand times a second each. \"lost\" is how much less it does than its untouched twin for the same processor time: the worst ten seconds from the start of a command until ten seconds after its end, " +
		"the worst without the first ten, in which most classes are changed and compiled again, and the worst before the command, which is chance. A command for which chance decides is measured three times: the table has the run in the middle, and the range.")
	table := r.Table("command", "JDK", "budget", "lost", "later", "by chance", "said", "verdict")
	count := make(map[harness.Verdict]int)
	for _, run := range runs {
		budget := "none"
		if run.budget > 0 {
			budget = format.Percent(run.budget)
		}
		count[run.verdict()]++
		table.Row("sonde "+run.name, run.jdk, budget, run.lost(), percent(run.later), percent(run.noise), strings.Join(run.said, "; "), run.verdict())
	}
	met, judged := count[harness.Met], len(runs)-count[asked]
	r.Bar(harness.Judge(met == judged && met > 0), "no command costs more than its budget and one point in any ten seconds: %d of %d", met, judged)
}
