package suggest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// A Proposal is a set of probes, and why each is worth having.
type Proposal struct {
	PID    int // 0 for archives
	JDK    string
	Main   string
	Inputs []string // archives
	Read   int      // classes that were read

	Budget   float64
	Cost     float64 // expected, part of the program's processor time
	Coverage float64 // share of samples with a probed method above the leaf
	Nanos    float64 // mean cost of a call of a probed method
	Use      float64 // processors that the program used
	Samples  int
	Sampled  time.Duration
	Counted  int           // candidates whose calls were counted
	Took     time.Duration // of counting
	Waited   time.Duration // until there were enough samples, and code with hooks was compiled again
	IsCut    bool          // the user has ended it while calls were counted
	Bias     string        // how samples are biased; "" if they are not

	Choices []Choice
	Left    []Part // the methods above most samples that are not proposed
	Bare    []Part // samples that nothing covers, by where their threads began
	More    int    // archives: methods that were worth it and exceed the limit
}

// A Part is a share of samples, by a method.
type Part struct {
	Method classfile.MethodRef
	Share  float64
	Why    string // the method is not proposed; "" for samples that nothing covers
}

const (
	maxLeft  = 8
	maxBare  = 5
	minShown = 0.01 // of all samples
)

func (o *observer) propose() *Proposal {
	p := &Proposal{
		PID: o.PID, JDK: o.jdk, Main: o.main, Budget: o.Budget, Use: o.look.use, Samples: o.look.table.Samples, Sampled: o.look.took,
		Counted: len(o.picked), Took: o.counted, Waited: o.waited, IsCut: o.isCut, Bias: o.look.bias, Read: len(o.code.classes),
	}
	p.Choices = choose(o.look.paths, o.rehearsed, o.limits())
	chosen := make(map[classfile.MethodRef]bool)
	var rates, nanos float64
	for _, c := range p.Choices {
		p.Cost += c.Takes()
		rates += c.PerSecond
		nanos += c.PerSecond * o.probe.Call(c.PerSecond, c.Thins)
		chosen[c.MethodRef] = true
	}
	if rates > 0 {
		p.Nanos = nanos / rates
	}
	p.Coverage, p.Bare = cover(o.look.paths, func(m classfile.MethodRef) bool { return chosen[m] })
	p.Left = o.leftOut(chosen)
	return p
}

// leftOut returns the candidates that are not proposed, and why.
func (o *observer) leftOut(chosen map[classfile.MethodRef]bool) (left []Part) {
	whole := weightOf(o.look.paths)
	stands := standing(o.look.paths, above)
	for m, why := range o.left {
		if why == "" || why == isTiny || why == isMade {
			continue // there are many, and their callers are enough
		}
		var weight float64
		for _, p := range stands[m] {
			weight += o.look.paths[p].Weight
		}
		left = append(left, Part{m, weight / whole, why})
	}
	for _, c := range o.picked {
		switch {
		case chosen[c.MethodRef]:
		case c.Measured && c.Ended < minEnded:
			left = append(left, Part{c.MethodRef, c.Share, "its calls did not end while they were counted: a probe would not report them"})
		case min(c.Cost, c.Thin) > full*o.Budget:
			left = append(left, Part{c.MethodRef, c.Share, "it is called so often that a probe in it alone would exceed the budget"})
		}
	}
	return largest(left, maxLeft)
}

// largest returns the largest parts that are worth showing.
func largest(parts []Part, most int) []Part {
	parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Share < minShown })
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Share, a.Share), a.Method.Compare(b.Method)) })
	return parts[:min(len(parts), most)]
}

// cover returns the share of all weight whose paths have a covering method above their
// leaf, and groups the others by the outermost method that somebody wrote.
func cover(paths []hotspots.Path, covers func(classfile.MethodRef) bool) (coverage float64, bare []Part) {
	shares := make(map[classfile.MethodRef]float64)
	whole := max(weightOf(paths), math.SmallestNonzeroFloat64)
	for _, p := range paths {
		if slices.ContainsFunc(p.Methods[1:], covers) {
			coverage += p.Weight
			continue
		}
		outermost := p.Methods[len(p.Methods)-1]
		for _, m := range slices.Backward(p.Methods) {
			if !passesOn(m.Class) {
				outermost = m
				break
			}
		}
		shares[outermost] += p.Weight / whole
	}
	for m, share := range shares {
		bare = append(bare, Part{Method: m, Share: share})
	}
	return coverage / whole, largest(bare, maxBare)
}

// Reason returns why a method is proposed, in one line without a full stop.
func (c *Choice) Reason() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.Entry != "" {
		add("%s", c.Entry)
	}
	if c.Measured {
		switch share := format.Percent(c.Share); {
		case c.Why == ToCover && c.Adds < c.Share-minCover:
			add("a caller in %s of the samples (in %s, no method of an earlier line is one)", share, format.Percent(c.Adds))
		case c.Share > 0:
			add("a caller in %s of the samples", share)
		}
		if c.Leaf >= minShown {
			add("itself running in %s of the samples", format.Percent(c.Leaf))
		}
	}
	for _, wait := range []struct {
		threads float64
		what    string
	}{{c.Blocked, "a lock"}, {c.Waits.Network, "the network"}, {c.Waits.Files, "files"}} {
		if wait.threads >= minWait {
			add("%.2g threads wait in it for %s", wait.threads, wait.what)
		}
	}
	for _, use := range c.Uses {
		add("%s", use.text())
	}
	if c.Measured {
		calls := format.Rate(c.PerSecond) + " calls/s"
		if c.Mean > 0 {
			calls += " of " + format.Duration(c.Mean)
		}
		add("%s", calls)
		if c.Thins {
			add("one call in %d is timed, because timing all would cost %s", overhead.ThinPeriod, format.Percent(c.Cost))
		}
		add("costs %s", format.Percent(c.Takes()))
	}
	return string(c.Why) + ": " + strings.Join(parts, "; ")
}

func (u Use) text() string {
	if u.Kind == Lock && strings.HasPrefix(u.Call, "synchronized") {
		return u.Call
	}
	return fmt.Sprintf("%s: calls %s", u.Kind, u.Call)
}

// A Line is a proposed probe.
type Line struct {
	Name     string
	Patterns []string
	Reason   string
	Choices  []*Choice // one of a running program; all of a class of archives
}

// Lines returns the proposed probes. Each method of a running program has its own, as it
// has its own figures.
func (p *Proposal) Lines() (lines []Line) {
	used := make(map[string]bool)
	at := make(map[string]int)
	for i := range p.Choices {
		c := &p.Choices[i]
		group := c.Class + " " + string(c.Why) + " " + string(c.lead())
		if known, is := at[group]; is && p.PID == 0 {
			lines[known].Patterns = append(lines[known].Patterns, c.Pattern)
			lines[known].Choices = append(lines[known].Choices, c)
			continue
		}
		at[group] = len(lines)
		name := NameOf(c.Class, c.Name, used)
		if p.PID == 0 {
			name = NameOf(c.Class, string(c.lead()), used)
		}
		lines = append(lines, Line{Name: name, Patterns: []string{c.Pattern}, Reason: c.Reason(), Choices: []*Choice{c}})
	}
	return lines
}

// Set returns the proposal as a probe set that can be applied. Nothing in it asks for
// contexts, so none are handed from thread to thread.
func (p *Proposal) Set() *probeset.Set {
	set := &probeset.Set{}
	for _, line := range p.Lines() {
		probe := probeset.Probe{Name: line.Name, Level: probeset.Time, Sample: line.Choices[0].Sample()}
		for _, text := range line.Patterns {
			if p, err := pattern.Parse(text); err == nil { // as when the method was chosen
				probe.Methods = append(probe.Methods, p)
			}
		}
		set.Probes = append(set.Probes, probe)
	}
	return set
}

// maxName is how long a probe's name may be.
const maxName = 64

// NameOf returns the name of a probe: the class without its package, and the method. It adds the name to the used names.
func NameOf(class, method string, used map[string]bool) string {
	class = class[strings.LastIndexByte(class, '/')+1:]
	if method == "<init>" {
		method = "new"
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-':
			return r
		case r == '$':
			return '.'
		}
		return '_'
	}, class+"."+method)
	const room = 4 // for a number
	name = strings.Trim(name[max(0, len(name)-maxName+room):], ".")
	for i, plain := 2, name; used[name]; i++ {
		name = fmt.Sprintf("%s-%d", plain, i)
	}
	used[name] = true
	return name
}

// YAML returns the set as a file, with comments that say why each probe is in it.
func (p *Proposal) YAML() []byte {
	var out bytes.Buffer
	for _, line := range p.Head() {
		fmt.Fprintf(&out, "# %s\n", format.Line(line))
	}
	lines := p.Lines()
	for line := range strings.Lines(string(p.Set().YAML())) {
		if strings.HasPrefix(line, probeLine) && len(lines) > 0 {
			fmt.Fprintf(&out, "  # %s\n", format.Line(lines[0].Reason))
			lines = lines[1:]
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// probeLine is the beginning of a probe in the canonical file.
const probeLine = "  - name: "

// Head returns lines that describe the set.
func (p *Proposal) Head() []string {
	if p.PID == 0 {
		return []string{
			fmt.Sprintf("Proposed from the code of %s (%d classes). The program did not run, so how often methods are called is", strings.Join(p.Inputs, ", "), p.Read),
			"not known, and no budget can be kept: sonde observe PID counts calls. Edit it as you like and apply it with sonde apply PID -f.",
		}
	}
	return []string{
		fmt.Sprintf("Proposed for %s, from %d samples taken in %s and the counted calls of %d methods. Edit it as you like and apply it with sonde apply PID -f.", p.of(), p.Samples, p.Sampled.Round(1e8), p.Counted),
		fmt.Sprintf("Budget: %s of the program's processor time. Expected cost: %s, at %.0f ns a call.", format.Percent(p.Budget), format.Percent(p.Cost), p.Nanos),
		fmt.Sprintf("Coverage: in %s of the samples of running threads, the running method was called, directly or not, by a method with a probe.", format.Percent(p.Coverage)),
	}
}

func (p *Proposal) of() string {
	if p.Main == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("%s (JDK %s)", p.Main, p.JDK)
}
