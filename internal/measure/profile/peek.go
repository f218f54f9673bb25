package profile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
)

// A peek samples what threads do below the roots before the first hook is in. It shows
// which methods hold the time: hooks in others would explain little and cost as much.
type peek struct {
	run     *run
	seen    int                          // stacks with a root in them
	below   map[classfile.MethodRef]int  // how many of those have a method below the root; overloads look alike
	apart   map[classfile.MethodRef]int  // how many other stacks have a method as the outermost that is followed
	running []map[string]bool            // the classes of the innermost frames of threads that ran
	roots   map[classfile.MethodRef]bool // that were looked for
	sampler *sampler.Sampler
}

const (
	peekEvery = 20 * time.Millisecond
	// A peek ends when it has seen enough, or that there is nothing to see. If there is, but
	// dumps come slowly, as on a busy machine, it goes on: methods chosen by few stacks seem
	// to cost less than they do.
	enoughSeen = 100
	usualPeek  = 3 * time.Second
	maxPeek    = 10 * time.Second
	promising  = 4
	// fewSeen stacks are not enough to choose by.
	fewSeen = 20
	// near is how many of the innermost frames are assumed to be compiled into one piece of
	// code, which is discarded when the class of one of them is redefined.
	near = 8
	// heldTime is the part of the root's time that a method must hold to get a hook.
	heldTime = 0.04
)

// begin starts to sample. If that fails, hooks are chosen by distance from the root.
func (p *peek) begin(ctx context.Context, r *run) {
	p.run, p.below, p.apart = r, make(map[classfile.MethodRef]int), make(map[classfile.MethodRef]int)
	sampler, err := sampler.Start(ctx, r.PID, sampler.Options{Period: peekEvery, Waiting: true})
	if err == nil {
		p.sampler = sampler
	}
}

func (p *peek) stop(ctx context.Context) {
	if p.sampler != nil {
		_ = p.sampler.Close(ctx) // it has changed nothing
		p.sampler = nil
	}
}

// end waits until enough was seen, for a bounded time, and stops sampling.
func (p *peek) end(ctx context.Context) {
	if p.sampler == nil {
		return
	}
	defer p.stop(ctx)
	p.run.lock.Lock()
	p.roots = maps.Clone(p.run.roots)
	p.run.lock.Unlock()
	begun := time.Now()
	for {
		batch, err := p.sampler.Poll(ctx)
		for _, sample := range batch.Samples {
			if sample.Stack != nil {
				// A sample of a waiting thread may stand for a longer time.
				for range max(1, int(sample.Period/peekEvery)) {
					p.count(sample.Stack.Frames, sample.Wait == jfr.Running && sample.State == sampler.StateRunnable)
				}
			}
		}
		if err != nil || p.isOver(time.Since(begun)) {
			return
		}
		select {
		case <-time.After(5 * peekEvery):
		case <-ctx.Done():
			return
		case <-p.run.session.Done():
			return
		}
	}
}

// isOver reports whether sampling longer would show nothing more, or take too long.
func (p *peek) isOver(took time.Duration) bool {
	switch {
	case took < usualPeek:
		return p.seen >= enoughSeen
	case took < maxPeek:
		return p.seen >= enoughSeen || p.seen < promising
	}
	return true
}

// count counts the methods of a stack that are below a root, each once.
func (p *peek) count(frames []jfr.Frame, runs bool) {
	root := -1
	for i, f := range frames {
		if f.IsJava() && p.isRoot(f.Method.Class, f.Method.Name) {
			root = i
		}
	}
	if root < 0 {
		p.countApart(frames)
		return
	}
	p.seen++
	if runs {
		classes := make(map[string]bool)
		for _, f := range frames[:min(near, len(frames))] {
			if f.IsJava() {
				classes[f.Method.Class] = true
			}
		}
		p.running = append(p.running, classes)
	}
	met := make(map[classfile.MethodRef]bool)
	for _, f := range frames[:root] {
		if f.IsJava() {
			met[classfile.MethodRef{Class: f.Method.Class, Name: f.Method.Name}] = true
		}
	}
	for m := range met {
		p.below[m]++
	}
}

// countApart counts the outermost method that is followed: a root may have handed it over.
func (p *peek) countApart(frames []jfr.Frame) {
	for _, f := range slices.Backward(frames) {
		if !f.IsJava() || p.run.skip.class(f.Method.Class) {
			continue
		}
		one := classfile.MethodRef{Class: f.Method.Class, Name: f.Method.Name}
		if len(p.named(one)) > 0 { // lambdas have no class file
			p.apart[one]++
			return
		}
	}
}

func (p *peek) isRoot(class, name string) bool {
	for m := range p.roots {
		if m.Class == class && m.Name == name {
			return true
		}
	}
	return false
}

// heat returns the part of the running code that is compiled together with some of the
// classes. It counts each set of classes as seen once more than it was: classes are
// chosen for being seen rarely, which few stacks do not prove.
func (p *peek) heat(classes map[string]bool) float64 {
	if len(p.running) == 0 {
		return 0
	}
	hit := 0
	for _, stack := range p.running {
		for class := range stack {
			if classes[class] {
				hit++
				break
			}
		}
	}
	return float64(hit+1) / float64(len(p.running)+1)
}

// holders returns the methods that hold the roots' time, the largest part first; false if
// too little was seen, or a root has loaded since.
func (p *peek) holders(roots []classfile.MethodRef) ([]classfile.MethodRef, bool) {
	if p.seen < fewSeen || slices.ContainsFunc(roots, func(m classfile.MethodRef) bool { return !p.roots[m] }) {
		return nil, false
	}
	return p.often(p.below), true
}

// handed returns the methods that other threads may run because roots have handed them over, the largest part first.
func (p *peek) handed(roots []classfile.MethodRef) []classfile.MethodRef {
	return p.run.graph.Reached(roots, p.often(p.apart))
}

// often returns methods that were seen in a part of the stacks with a root that matters, or in as many others.
func (p *peek) often(seen map[classfile.MethodRef]int) (methods []classfile.MethodRef) {
	var names []classfile.MethodRef
	for m, times := range seen {
		if float64(times) >= heldTime*float64(p.seen) {
			names = append(names, m)
		}
	}
	slices.SortFunc(names, func(a, b classfile.MethodRef) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), a.Compare(b)) })
	for _, one := range names {
		methods = append(methods, p.named(one)...)
	}
	return methods
}

// named returns the methods of a class with the name of one.
func (p *peek) named(one classfile.MethodRef) []classfile.MethodRef {
	return p.run.graph.FindIn(one.Class, func(m classfile.MethodRef) bool { return m.Name == one.Name })
}
