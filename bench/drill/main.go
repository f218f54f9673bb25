// Drill measures whether `sonde drill` finds the causes of known problems.
//
//	go run ./bench/drill [-jdk N] [-problems lock,n+1,…]
//
// One program with more than 300 classes of its own serves requests. In each run it has one problem or none; the requests come from
// this process, which notes how long each took. `sonde drill` searches without the name of a method. Its result must name the
// problem, within a minute and within the budget, and nothing may be left in the program.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var (
	names   = flag.String("problems", "", "problems to search for, such as lock,n+1; all if empty")
	warm    = flag.Duration("warm", 8*time.Second, "how long a program serves requests before the search begins")
	verbose = flag.Bool("v", false, "print the messages of searches")
	keep    = flag.String("keep", "", "folder in which the results are kept as JSON")
)

const (
	// limit is how long a search may take, from the start of the command to its end.
	limit = time.Minute
	// leastClasses is how many classes of its own a program must have loaded.
	leastClasses = 300
	jarFolder    = "/usr/share/java/"
)

func main() {
	harness.Main("drill", func(ctx context.Context, r *harness.Report) error {
		return harness.WithSonde(ctx, func(_, sonde string) error {
			b := &bench{sonde: sonde}
			err := harness.EachJDK(func(jdk jvmtest.JDK) error { return b.searchAll(ctx, jdk) })
			b.report(r)
			return err
		})
	})
}

type bench struct {
	sonde string
	runs  []*run
}

// A run is one search.
type run struct {
	problem *problem
	jdk     int
	classes int // own ones that were loaded
	found   document.Drill
	took    time.Duration // of the command
	before  seen
	during  seen
	left    string // in the program after the search
	missing []string
}

func (b *bench) searchAll(ctx context.Context, jdk jvmtest.JDK) error {
	var failures []error
	folders := map[*program]string{}
	for i := range problems {
		p := &problems[i]
		if *names != "" && !slices.Contains(strings.Split(*names, ","), p.name) || ctx.Err() != nil {
			continue
		}
		if folders[p.program] == "" {
			folder, err := p.program.compile(jdk)
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			folders[p.program] = folder
		}
		found, err := b.search(ctx, jdk, p, folders[p.program])
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			fmt.Fprintf(os.Stderr, "%s on %d: %v\n", p.name, jdk.Major, err)
			continue
		}
		b.runs = append(b.runs, found)
		fmt.Fprintf(os.Stderr, "%s on %d: %s in %s, %.1f %%: %s\n  %s\n", p.name, jdk.Major, found.verdict(), format.Duration(found.took.Round(time.Second/10)), 100*found.found.HookShare,
			cmp.Or(strings.Join(found.missing, ", "), "all of it"), strings.Join(found.found.Summary, "\n  "))
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// search starts a program with a problem, and searches for it.
func (b *bench) search(ctx context.Context, jdk jvmtest.JDK, p *problem, classes string) (*run, error) {
	program, err := p.program.start(jdk, classes, p)
	if err != nil {
		return nil, err
	}
	defer program.close()
	if err := process.Pause(ctx, *warm); err != nil {
		return nil, err
	}
	r := &run{problem: p, jdk: jdk.Major}
	if r.before, err = program.take(); err != nil {
		return nil, err
	}
	began := time.Now()
	out, err := b.run(ctx, "drill", program.pid, append([]string{"--slower-than", p.slowerThan.String(), "--json"}, p.arguments...)...)
	if err != nil {
		return nil, err
	}
	r.took = time.Since(began)
	if r.during, err = program.take(); err != nil {
		return nil, err
	}
	if *keep != "" {
		if err := os.WriteFile(fmt.Sprintf("%s/%s-%d.json", *keep, p.name, jdk.Major), out, 0o644); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(out, &r.found); err != nil {
		return nil, err
	}
	status, err := b.run(ctx, "status", program.pid)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(status, []byte("Sonde has no hooks and no agent in")) {
		r.left = string(status)
	}
	if r.classes, err = classesOf(ctx, jdk, program.pid, p.program.own); err != nil {
		return nil, err
	}
	r.missing = p.missing(&r.found, program.remote)
	return r, nil
}

// run runs a command of Sonde in a process of its own, and returns what it prints.
func (b *bench) run(ctx context.Context, command string, pid int, arguments ...string) ([]byte, error) {
	run := exec.CommandContext(ctx, b.sonde, append([]string{command, strconv.Itoa(pid), "--no-service"}, arguments...)...)
	var out, messages bytes.Buffer
	run.Stdout, run.Stderr = &out, &messages
	if *verbose {
		run.Stderr = io.MultiWriter(&messages, timed{time.Now()})
	}
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("sonde %s: %w: %s", command, err, bytes.TrimSpace(messages.Bytes()))
	}
	return out.Bytes(), nil
}

// timed writes messages to standard error, each with the time since the command began.
type timed struct{ began time.Time }

func (t timed) Write(text []byte) (int, error) {
	fmt.Fprintf(os.Stderr, "%5.1f s: %s", time.Since(t.began).Seconds(), text)
	return len(text), nil
}

// classesOf returns how many classes below a package a JVM has loaded.
func classesOf(ctx context.Context, jdk jvmtest.JDK, pid int, pkg string) (n int, err error) {
	out, err := exec.CommandContext(ctx, jdk.Tool("jcmd"), strconv.Itoa(pid), "VM.class_hierarchy").Output()
	if err != nil {
		return 0, fmt.Errorf("jcmd: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(strings.TrimLeft(line, "|- "), pkg+".") {
			n++
		}
	}
	return n, nil
}

// verdict says whether the search has done what it should.
func (r *run) verdict() harness.Verdict {
	return harness.Judge(len(r.missing) == 0 && r.took <= limit && r.found.HookShare <= r.found.Budget && r.found.Removed && r.left == "" && r.classes >= leastClasses)
}

func (b *bench) report(r *harness.Report) {
	r.Note("A search without the name of a method, in a program with a known problem. Requests come from outside the program. " +
		"\"seen\" is what the clients saw before the search: how many requests took longer than the goal, the median of these and of the others; and the median of the others while the search ran. " +
		"Seconds are those of the whole command, cost is the largest part of the program's CPU time that hooks took.")
	table := r.Table("program", "problem", "JDK", "own classes", "goal", "seen", "seconds", "cost", "hooks", "result", "verdict")
	met := 0
	for _, run := range b.runs {
		hooks := 0
		for _, s := range run.found.Steps {
			hooks = max(hooks, s.Methods)
		}
		result := strings.Join(run.found.Summary[min(1, len(run.found.Summary)-1):], "; ")
		if len(run.missing) > 0 {
			result += " (not named: " + strings.Join(run.missing, ", ") + ")"
		}
		if run.left != "" {
			result += " (left: " + format.OneLine(errors.New(run.left)) + ")"
		}
		table.Row(run.problem.program.name, run.problem.describe, run.jdk, run.classes, format.Duration(run.problem.slowerThan), run.before.String()+", then "+format.Duration(run.during.others),
			fmt.Sprintf("%.0f", run.took.Seconds()), format.Percent(run.found.HookShare), hooks, result, run.verdict())
		if run.verdict() == harness.Met {
			met++
		}
	}
	r.Bar(harness.Judge(met == len(b.runs) && met > 0), "each cause is named within %s, hooks cost no more than the budget of 2 %%, and nothing is left: %d of %d", format.Duration(limit), met, len(b.runs))
}
