package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A tree is what sonde profile with its default budget shows of a program, compared with async-profiler.
type tree struct {
	jdk             int
	program         string
	timing          cct.Timing
	nodes, methods  int
	depth           int
	hooked, sampled float64 // parts of the time: measured by hooks, and known from stacks
	cost            float64 // of the program's time, by Sonde's own account
	bySelf, byTotal []row
}

type trees []*tree

// treePrograms are those whose trees are compared, with their roots and further arguments.
var treePrograms = map[string][]string{
	"H2":    {"--root", "H2Work.round"},
	"javac": {"--root", "JavacTree.round", "--into", "com.sun.tools.javac.**"},
}

func (all *trees) measure(ctx context.Context, jdk jvmtest.JDK, classes, sonde string) error {
	var failures []error
	for _, s := range subjects {
		arguments, has := treePrograms[s.name]
		if !has || !isWanted(*programs, s.name) || ctx.Err() != nil {
			continue
		}
		progress("JDK %d, tree of %s", jdk.Major, s.name)
		found, err := measureTree(ctx, jdk, classes, sonde, s, arguments)
		if err != nil {
			failures = append(failures, fmt.Errorf("JDK %d, tree of %s: %w", jdk.Major, s.name, err))
			continue
		}
		*all = append(*all, found)
	}
	return errors.Join(failures...)
}

func measureTree(ctx context.Context, jdk jvmtest.JDK, classes, sonde string, s subject, arguments []string) (*tree, error) {
	program, err := s.start(jdk, classes, debugOptions)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	if err := process.Pause(ctx, *warm); err != nil {
		return nil, err
	}
	async, err := openAsyncProfiler(ctx, program.PID())
	if err != nil {
		return nil, err
	}
	defer async.conn.Close()
	recording, err := async.record(ctx)
	if err != nil {
		return nil, err
	}
	defer os.Remove(recording)
	arguments = slices.Concat([]string{"profile", strconv.Itoa(program.PID())}, arguments,
		[]string{"--duration", treeLength.String(), "--json", "--no-service", "--no-cache"})
	command := exec.CommandContext(ctx, sonde, arguments...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(messages.Bytes()))
	}
	if err := async.execute(ctx, "stop,file="+recording); err != nil {
		return nil, err
	}
	p, err := document.ReadProfile(&out)
	if err != nil {
		return nil, err
	}
	below := newProfile(true)
	below.root = s.work + ".round()"
	if err := below.addRecording(ctx, recording, p.Began, p.Began.Add(p.Took)); err != nil {
		return nil, err
	}
	found := &tree{jdk: jdk.Major, program: s.name, timing: p.Timing, cost: p.Cost.Steady}
	self, total := found.read(p)
	if below.samples == 0 || self.squares == 0 {
		return nil, fmt.Errorf("async-profiler has %d samples below %s: sample longer", below.samples, below.root)
	}
	found.bySelf, found.byTotal = compare(self, &below.self), compare(total, &below.total)
	return found, nil
}

// treeLength is how long sonde profile measures.
const treeLength = 20 * time.Second

// read sums up the times of methods.
func (t *tree) read(p *cct.Profile) (self, total *tally) {
	self, total = &tally{methods: map[string]float64{}}, &tally{methods: map[string]float64{}}
	var largest *cct.Node // by self time, of those known from stacks
	on := map[int]bool{}
	var add func(n *cct.Node, depth int, caller string)
	add = func(n *cct.Node, depth int, caller string) {
		name := caller
		if n.Method >= 0 {
			m := p.Methods[n.Method]
			if m.Descriptor != "" { // other code counts for the Java method that calls it
				name = javaFrame(m.Class + "." + m.Name + m.Descriptor).name
			}
			t.nodes++
			t.depth = max(t.depth, depth)
			self.methods[name] += n.Self.Nanos
			self.whole += n.Self.Nanos
			if n.Sampled || n.Split {
				t.sampled += n.Self.Nanos
			} else {
				t.hooked += n.Self.Nanos
			}
			if (n.Sampled || n.Split) && (largest == nil || n.Self.Nanos > largest.Self.Nanos) {
				largest = n
			}
			if !on[n.Method] && m.Descriptor != "" {
				total.methods[name] += n.Total.Nanos
				on[n.Method] = true
				defer delete(on, n.Method)
			}
		}
		for _, c := range n.Children {
			add(c, depth+1, name)
		}
	}
	add(p.Merged, 0, "")
	t.methods = len(self.methods)
	t.hooked, t.sampled = t.hooked/max(self.whole, 1), t.sampled/max(self.whole, 1)
	total.whole = self.whole
	if largest != nil { // its interval, at 95 %, says how many samples of equal weight there are
		const z = 1.96
		part, half := largest.Self.Nanos/self.whole, (largest.Self.High-largest.Self.Low)/2/self.whole
		if samples := z * z * part * (1 - part) / (half * half); samples > 0 && !math.IsInf(samples, 0) {
			self.squares = self.whole * self.whole / samples
			total.squares = self.squares
		}
	}
	return self, total
}

func (all trees) report(r *harness.Report) {
	r.Note("## Trees of sonde profile")
	r.Note("%s", "`sonde profile` with its default budget of 2 %, while async-profiler sampled the same process; of its samples, those in the window that Sonde's figures cover. Hooked: the part of the time in the tree that hooks measured; sampled: that stacks filled in. "+
		"A method agrees if its shares of the time below the root differ by no more than the error of sampling, as above.")
	table := r.Table("program", "timing", "methods", "nodes", "depth", "hooked", "sampled", "cost of hooks", "agree by self", "agree by total")
	for _, t := range all {
		name := fmt.Sprintf("JDK %d, %s", t.jdk, t.program)
		table.Row(name, t.timing, t.methods, t.nodes, t.depth, percent(t.hooked), percent(t.sampled), percent(t.cost), agreeing(t.bySelf), agreeing(t.byTotal))
		isMet := !slices.ContainsFunc(slices.Concat(t.bySelf, t.byTotal), func(one row) bool { return !one.isWithinError })
		r.Bar(harness.Judge(isMet), "%s: the twenty largest shares of the tree agree with async-profiler's", name)
	}
	r.Note("Methods whose shares differ by more than sampling explains, in percent:")
	differing := r.Table("program", "by", "method", "Sonde", "async-profiler", "difference", "agrees")
	for _, t := range all {
		name := fmt.Sprintf("JDK %d, %s", t.jdk, t.program)
		for _, one := range t.bySelf {
			if !one.isWithinError {
				one.add(differing, name, "self")
			}
		}
		for _, one := range t.byTotal {
			if !one.isWithinError {
				one.add(differing, name, "total")
			}
		}
	}
}
