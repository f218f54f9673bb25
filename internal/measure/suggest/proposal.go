package suggest

import (
	"cmp"
	"slices"
	"time"
)

// A Proposal is the probes that are worth having, and why.
type Proposal struct {
	PID    int // 0 of archives
	JDK    string
	Main   string
	Inputs []string // archives
	Read   int      // classes that were read

	Budget   float64
	Cost     float64 // expected, part of the program's processor time
	Coverage float64 // share of samples above whose leaf a probe stands
	Nanos    float64 // what a call of a method with a probe costs, on average
	Use      float64 // processors that the program used
	Samples  int
	Sampled  time.Duration
	Counted  int    // candidates whose calls were counted
	Bias     string // in what samples are not to be trusted; "" for nothing

	Choices []Choice
	Left    []LeftOut // the greatest of those that are not proposed
	Bare    []Bare    // where samples are that nothing covers
	More    int       // archives: methods that were worth it and are not among so many
}

// A LeftOut is a method that stands above many samples and is not proposed.
type LeftOut struct {
	Method Method
	Share  float64
	Why    string
}

// A Bare is what nothing covers, by where its threads began.
type Bare struct {
	Method Method
	Share  float64
}

const (
	mostLeft  = 8
	mostBare  = 5
	leastTold = 0.01 // of all samples
)

// propose chooses, and sums up.
func (o *observer) propose() *Proposal {
	p := &Proposal{
		PID: o.PID, JDK: o.jdk, Main: o.main, Budget: o.Budget, Use: o.look.use, Samples: o.look.table.Samples, Sampled: o.look.took,
		Counted: len(o.picked), Bias: o.look.bias, Read: len(o.code.classes),
	}
	p.Choices = choose(o.look.paths, o.rehearsed, o.limits())
	chosen := make(map[Method]bool)
	var rates, nanos float64
	for _, c := range p.Choices {
		p.Cost += c.Takes()
		rates += c.PerSecond
		nanos += c.PerSecond * o.tariff.call(c.PerSecond, c.Thins)
		chosen[c.Method] = true
	}
	if rates > 0 {
		p.Nanos = nanos / rates
	}
	covers := func(m Method) bool { return chosen[m] }
	p.Coverage = Coverage(o.look.paths, covers)
	p.Bare = bareOf(o.look.paths, covers)
	p.Left = o.leftOut(chosen)
	return p
}

// leftOut are the candidates that are not proposed, with why.
func (o *observer) leftOut(chosen map[Method]bool) (left []LeftOut) {
	add := func(m Method, share float64, why string) {
		if share >= leastTold && why != "" {
			left = append(left, LeftOut{m, share, why})
		}
	}
	var whole float64
	for i := range o.look.paths {
		whole += o.look.paths[i].Weight
	}
	stands := standing(o.look.paths, (*Path).above)
	for m, why := range o.left {
		if why == isTiny || why == isMade {
			continue // there are many, and their callers will do
		}
		var weight float64
		for _, p := range stands[m] {
			weight += o.look.paths[p].Weight
		}
		add(m, weight/whole, why)
	}
	for _, c := range o.picked {
		if chosen[c.Method] {
			continue
		}
		switch {
		case c.Measured && c.Ended < fewEnded:
			add(c.Method, c.Share, "its calls did not end while they were counted: a probe would not tell of them")
		case min(c.Cost, c.Thin) > full*o.Budget:
			add(c.Method, c.Share, "it is called so often that a probe in it alone would be beyond the budget")
		}
	}
	slices.SortFunc(left, func(a, b LeftOut) int { return cmp.Or(-compareFloat(a.Share, b.Share), a.Method.compare(b.Method)) })
	return left[:min(len(left), mostLeft)]
}

// bareOf groups the samples that nothing covers by the outermost method that someone
// wrote.
func bareOf(paths []Path, covers func(Method) bool) (all []Bare) {
	shares := make(map[Method]float64)
	var whole float64
	for i := range paths {
		p := &paths[i]
		whole += p.Weight
		if len(p.Methods) > 1 && slices.ContainsFunc(p.Methods[1:], covers) {
			continue
		}
		outermost := p.Methods[len(p.Methods)-1]
		for _, m := range slices.Backward(p.Methods) {
			if !m.carries() {
				outermost = m
				break
			}
		}
		shares[outermost] += p.Weight
	}
	for m, weight := range shares {
		if share := weight / whole; share >= leastTold {
			all = append(all, Bare{m, share})
		}
	}
	slices.SortFunc(all, func(a, b Bare) int { return cmp.Or(-compareFloat(a.Share, b.Share), a.Method.compare(b.Method)) })
	return all[:min(len(all), mostBare)]
}
