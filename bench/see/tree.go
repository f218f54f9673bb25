package main

import (
	"bytes"
	"cmp"
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
	withHooks       map[string]bool
	samples         float64 // of Sonde, by its period
	asyncSamples    float64
	onProcessor     float64 // part of the time below the root, waits left out, in which threads had a processor
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
	defer func() { _ = os.Remove(recording) }()
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
	found := &tree{jdk: jdk.Major, program: s.name, timing: p.Timing, cost: p.Cost.Steady}
	self, total := found.read(p)
	below := newProfile(true)
	below.root, below.hooked = s.work+".round()", found.withHooks
	if err := below.addRecording(ctx, recording, p.Began, p.Began.Add(p.Took)); err != nil {
		return nil, err
	}
	if below.samples == 0 {
		return nil, fmt.Errorf("async-profiler has %d samples below %s: sample longer", below.samples, below.root)
	}
	found.asyncSamples = below.self.count()
	found.samples = found.asyncSamples * asyncPeriod.Seconds() / stackPeriod.Seconds()
	found.onProcessor = found.asyncSamples * float64(asyncPeriod) / self.whole
	self.squares = self.whole * self.whole / found.samples
	total.squares = self.squares
	found.bySelf, found.byTotal = compare(self, &below.self), compare(total, &below.total)
	return found, nil
}

// stackPeriod is the processor time between two samples of sonde profile in a thread.
const stackPeriod = 10 * time.Millisecond

// treeLength is how long sonde profile measures.
const treeLength = 20 * time.Second

// read sums up the times of methods.
func (t *tree) read(p *cct.Profile) (self, total *tally) {
	self, total = newTally(), newTally()
	t.withHooks = map[string]bool{}
	on := map[int]bool{}
	var add func(n *cct.Node, depth int, caller string, weight float64)
	add = func(n *cct.Node, depth int, caller string, weight float64) {
		name := caller
		if hasHook(n) || n.Method < 0 {
			weight = sampleWeight(n)
		}
		if n.Method >= 0 {
			m := p.Methods[n.Method]
			if m.Descriptor != "" { // other code counts for the Java method that calls it
				name = javaFrame(m.Class + "." + m.Name + m.Descriptor).name
			}
			t.nodes++
			t.depth = max(t.depth, depth)
			ran := n.Self.Nanos - waited(n) // async-profiler samples threads that run
			for _, c := range n.Children {
				ran += waited(c)
			}
			self.methods[name] += ran
			self.whole += ran
			if n.Sampled || n.Split {
				t.sampled += n.Self.Nanos
				self.uneven[name] += n.Self.Nanos * weight
			} else {
				t.hooked += n.Self.Nanos
				self.stated[name] += halfWidth(n.Self)
			}
			if hasHook(n) {
				t.withHooks[name] = true
			}
			if !on[n.Method] && m.Descriptor != "" {
				total.methods[name] += n.Total.Nanos - waited(n)
				if n.Sampled {
					total.uneven[name] += withoutHooks(n) * weight
				} else {
					total.stated[name] += halfWidth(n.Total)
				}
				on[n.Method] = true
				defer delete(on, n.Method)
			}
		}
		for _, c := range n.Children {
			add(c, depth+1, name, weight)
		}
	}
	add(p.Merged, 0, "", 0)
	t.methods = len(self.methods)
	if all := t.hooked + t.sampled; all > 0 {
		t.hooked, t.sampled = t.hooked/all, t.sampled/all
	}
	total.whole = self.whole
	return self, total
}

func hasHook(n *cct.Node) bool { return n.Calls > 0 || n.Running > 0 }

// sampleWeight returns the time that one sample stands for where a hook measured the time: the least that samples show there. Collections of
// garbage, for example, are part of that time, but samples of running threads do not show them.
func sampleWeight(n *cct.Node) float64 {
	least := math.Inf(1)
	if (n.Sampled || n.Split) && n.Self.Nanos > 0 {
		least = n.Self.Nanos
	}
	for _, c := range n.Children {
		if !hasHook(c) {
			least = min(least, sampleWeight(c))
		}
	}
	return least
}

// withoutHooks returns the time of a node without a hook, except that of hooked nodes below it.
func withoutHooks(n *cct.Node) float64 {
	nanos := n.Self.Nanos
	for _, c := range n.Children {
		if !hasHook(c) {
			nanos += withoutHooks(c)
		}
	}
	return nanos
}

func halfWidth(t cct.Time) float64 { return max(t.Nanos-t.Low, t.High-t.Nanos) }

// waited returns the time in which threads waited in a node and below it.
func waited(n *cct.Node) (nanos float64) {
	for _, w := range n.Waits {
		nanos += w.Time.Nanos
	}
	return nanos
}

// widest says how far shares that agree may be apart at most.
func widest(rows []row) string {
	most := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.uncertainty, b.uncertainty) })
	return fmt.Sprintf(", within ± %.1f %% at most", 100*most.uncertainty)
}

func newTally() *tally {
	return &tally{methods: map[string]float64{}, uneven: map[string]float64{}, stated: map[string]float64{}}
}

// leastOnProcessor is the part of the time in which threads must have a processor for shares to be compared: hooks measure time by the
// clock, and async-profiler samples processor time.
const leastOnProcessor = 0.9

// verdict says whether the trees agree. If they do not on a busy machine, that may be because of time without a processor.
func (t *tree) verdict() harness.Verdict {
	isMet := !slices.ContainsFunc(slices.Concat(t.bySelf, t.byTotal), func(one row) bool { return !one.isWithinError })
	if !isMet && t.onProcessor < leastOnProcessor {
		return harness.Unclear
	}
	return harness.Judge(isMet)
}

func (all trees) report(r *harness.Report) {
	r.Note("## Trees of sonde profile")
	r.Note("%s", "`sonde profile` with its default budget of 2 %, while async-profiler sampled the same process; of its samples, those in the window that Sonde's figures cover. Hooked: the part of the time in the tree that hooks measured; sampled: that stacks filled in. "+
		"A method agrees if its shares of the time in which threads ran below the root differ by no more than the error of sampling, as above, and, where hooks measured the time, the bounds that Sonde states. "+
		"Samples: of both; those of Sonde by the processor time of async-profiler's, as Sonde samples a thread each 10 ms of it. "+
		"On a processor: the part of the time below the root in which threads did not wait for a processor. Shares that differ prove nothing if it is below 90 %, because hooks measure time by the clock. "+
		"Trees show methods without hooks only below the innermost hook, so async-profiler's stacks are cut in the same way.")
	table := r.Table("program", "timing", "samples", "on a processor", "methods", "nodes", "depth", "hooked", "sampled", "cost of hooks", "agree by self", "agree by total")
	for _, t := range all {
		name := fmt.Sprintf("JDK %d, %s", t.jdk, t.program)
		table.Row(name, t.timing, fmt.Sprintf("%.0f, %.0f", t.samples, t.asyncSamples), percent(t.onProcessor), t.methods, t.nodes, t.depth, percent(t.hooked), percent(t.sampled), percent(t.cost), agreeing(t.bySelf)+widest(t.bySelf), agreeing(t.byTotal)+widest(t.byTotal))
		r.Bar(t.verdict(), "%s: the twenty largest shares of the tree agree with async-profiler's", name)
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
