package profile

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A peek is a look at what threads do below the roots, before the first hook is in.
// It says which methods hold the time: hooks in others would tell little, and cost
// as much. Threads are seen where they can stop, which blurs the innermost method
// and not those above it.
type peek struct {
	run     *run
	seen    int                          // stacks with a root in them
	below   map[blurred]int              // of those, by method
	running []map[string]bool            // of threads that ran: the classes of the innermost frames
	roots   map[classfile.MethodRef]bool // those that were looked for
	sampler *sampler.Sampler
}

// A blurred is a method by what a thread dump tells: overloads look alike.
type blurred struct{ class, name string }

const (
	peekEvery = 20 * time.Millisecond
	// A peek ends when it has seen enough, or that nothing is to be seen. Where
	// something is, but dumps are slow to come, as on a machine that is busy, it goes
	// on: what is chosen by few stacks seems to cost less than it does.
	enoughSeen = 100
	usualPeek  = 3 * time.Second
	mostPeek   = 10 * time.Second
	promising  = 4
	// fewSeen say nothing.
	fewSeen = 20
	// near is how many of the innermost frames are taken to be compiled into one piece:
	// to redefine the class of one of them throws that piece away.
	near = 8
	// heldTime is the part of the root's time that a method must hold to get a hook,
	// in one look more than chance would give.
	heldTime = 0.04
)

// begin starts to look. Where that cannot be done hooks are chosen by what is near.
func (p *peek) begin(ctx context.Context, r *run) {
	p.run, p.below = r, make(map[blurred]int)
	sampler, err := sampler.Start(ctx, r.PID, sampler.Options{Source: sampler.ThreadDumps, Period: peekEvery, Waiting: true})
	if err == nil {
		p.sampler = sampler
	}
}

// stop ends looking.
func (p *peek) stop(ctx context.Context) {
	if p.sampler != nil {
		_ = p.sampler.Close(ctx) // it has changed nothing
		p.sampler = nil
	}
}

// end waits until enough was seen, bounded, and stops looking.
func (p *peek) end(ctx context.Context) {
	if p.sampler == nil {
		return
	}
	defer p.stop(ctx)
	p.run.lock.Lock()
	p.roots = maps.Clone(p.run.roots)
	p.run.lock.Unlock()
	begun := time.Now()
	for p.take(ctx) && !p.isOver(time.Since(begun)) {
		timer := time.NewTimer(5 * peekEvery)
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
		case <-p.run.session.Done():
		}
		timer.Stop()
		return
	}
}

// isOver reports whether to look on would tell nothing more, or take too long.
func (p *peek) isOver(took time.Duration) bool {
	switch {
	case took < usualPeek:
		return p.seen >= enoughSeen
	case took < mostPeek:
		return p.seen >= enoughSeen || p.seen < promising
	}
	return true
}

// take counts what was seen since the last time; false where nothing more will be.
func (p *peek) take(ctx context.Context) bool {
	batch, err := p.sampler.Poll(ctx)
	for _, sample := range batch.Samples {
		if sample.Stack != nil {
			p.count(sample.Stack.Frames, sample.State == sampler.StateRunnable)
		}
	}
	return err == nil
}

// count notes the methods of a stack that are below a root, each once.
func (p *peek) count(frames []jfr.Frame, runs bool) {
	root := -1
	for i, f := range frames {
		if f.Method != nil && p.isRoot(f.Method.Class, f.Method.Name) {
			root = i
		}
	}
	if root < 0 {
		return
	}
	p.seen++
	if runs {
		classes := make(map[string]bool)
		for _, f := range frames[:min(near, len(frames))] {
			if f.Method != nil {
				classes[f.Method.Class] = true
			}
		}
		p.running = append(p.running, classes)
	}
	met := make(map[blurred]bool)
	for _, f := range frames[:root] {
		if f.Method == nil {
			continue
		}
		if m := (blurred{f.Method.Class, f.Method.Name}); !met[m] {
			met[m] = true
			p.below[m]++
		}
	}
}

func (p *peek) isRoot(class, name string) bool {
	p.run.lock.Lock()
	defer p.run.lock.Unlock()
	for m := range p.run.roots {
		if m.Class == class && m.Name == name {
			return true
		}
	}
	return false
}

// heat is the part of what runs that is compiled together with some of the classes,
// as if each set of them had been seen once more: classes are chosen for being seen
// little, which of few stacks says little.
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

// holders are the methods that hold the roots' time, those that hold most first;
// false where too little was seen to say, or a root has loaded since.
func (p *peek) holders(roots []classfile.MethodRef) ([]classfile.MethodRef, bool) {
	if p.seen < fewSeen || slices.ContainsFunc(roots, func(m classfile.MethodRef) bool { return !p.roots[m] }) {
		return nil, false
	}
	var names []blurred
	for m, seen := range p.below {
		if float64(seen) >= heldTime*float64(p.seen) {
			names = append(names, m)
		}
	}
	slices.SortFunc(names, func(a, b blurred) int {
		return cmp.Or(cmp.Compare(p.below[b], p.below[a]), strings.Compare(a.class, b.class), strings.Compare(a.name, b.name))
	})
	var methods []classfile.MethodRef
	for _, one := range names {
		methods = append(methods, p.run.graph.FindIn(one.class, func(name, _ string) bool { return name == one.name })...)
	}
	return methods, true
}

const (
	// firstHooks is how many methods are given hooks at once, nearest to the root
	// first, before the first root call. More would spare rounds, but hooks that are
	// in and off are not free where calls are short.
	firstHooks = 32
	// moreHooks bounds a later round.
	moreHooks = 50
	// A method is worth looking into that holds this part of the root's time.
	worthALook = 0.05
	// tinyCode is up to how many bytes of code a method has that compilers put into
	// its callers. If it has no loop and calls nothing either, a hook in it costs more
	// than all it does.
	tinyCode = 35
	// wide is of how many methods a call may reach one for it to be followed.
	wide = 12
)

// isTiny reports whether a method is too small to be worth a hook.
func (g *governor) isTiny(m classfile.MethodRef) bool {
	shape, known := g.run.graph.Shape(m)
	return known && !shape.Loops && !shape.Calls && shape.Bytes <= tinyCode
}

// seed puts the first hooks below roots that have none there yet.
func (g *governor) seed(ctx context.Context) error {
	g.run.lock.Lock()
	var fresh []classfile.MethodRef
	for m := range g.run.roots {
		if !g.seeded[m] {
			g.seeded[m] = true
			fresh = append(fresh, m)
		}
	}
	g.run.lock.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	return g.put(ctx, append(fresh, g.first(fresh)...))
}

// first are the methods below roots that get the first hooks: those that were seen
// to hold the time, or where too little was seen those that are nearest.
func (g *governor) first(roots []classfile.MethodRef) []classfile.MethodRef {
	holders, seen := g.run.peek.holders(roots)
	if !seen {
		return g.nearest(roots, firstHooks)
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	g.looked = true
	classes := make(map[string]bool)
	for _, m := range roots {
		classes[m.Class] = true
	}
	limit := g.mostLoss(classes)
	var first []classfile.MethodRef
	for _, m := range holders {
		switch {
		case slices.Contains(roots, m) || len(first) == firstHooks:
		case g.isTiny(m):
			g.spared[m] = true
		case !g.mayRedefine(classes, m.Class, limit):
			g.central[m] = true
		default:
			classes[m.Class] = true
			first = append(first, m)
		}
	}
	return first
}

const (
	// A program whose hot code is thrown away loses so much work until it is compiled
	// again, of what its compilers have worked so far. Most of what those made in days
	// is not hot any more.
	recompiledPart = 0.4
	mostRecompiled = 30 * time.Second
	// usuallyRecompiled is taken where it is not known how long compilers worked.
	usuallyRecompiled = 11 * time.Second
	// JVMs that do not know what depends on what throw everything away at the first
	// redefinition after a late attach. So that costs the same whatever is redefined.
	firstRedefinition = 2500 * time.Millisecond
	recordsDependence = 21 // the first JDK that knows
	// lossPart is the part of the budget that may go into putting hooks in and out.
	lossPart = 0.4
)

// mayRedefine reports whether one more class can be redefined, in and out, with no
// more than so much work lost: it is much for classes that are compiled into what is
// hot.
func (g *governor) mayRedefine(classes map[string]bool, class string, limit time.Duration) bool {
	if classes[class] {
		return true
	}
	with := maps.Clone(classes)
	with[class] = true
	return g.loss(with) <= limit
}

// mostLoss is the work that may be lost to redefine classes beside the roots': what
// those lose cannot be helped, and without some others a profile tells nothing.
func (g *governor) mostLoss(roots map[string]bool) time.Duration {
	horizon := max(g.run.Duration, amortised)
	room := time.Duration(lossPart * g.run.Budget * float64(horizon))
	return max(room, g.loss(roots)+room/4)
}

// loss is the work that is lost by redefining classes, in and out.
func (g *governor) loss(classes map[string]bool) time.Duration {
	once := time.Duration(g.run.peek.heat(classes) * float64(g.recompiling()))
	if g.run.session.JDK().Feature < recordsDependence {
		return firstRedefinition + once
	}
	return 2 * once
}

// recompiling is the work that is lost where all that is hot has to be compiled again.
func (g *governor) recompiling() time.Duration {
	worked, known := g.run.ledger.first.Compiled()
	if !known {
		return usuallyRecompiled
	}
	return min(time.Duration(recompiledPart*float64(worked)), mostRecompiled)
}

// put has hooks put into methods.
func (g *governor) put(ctx context.Context, methods []classfile.MethodRef) error {
	var request session.Request
	for _, m := range methods {
		if g.run.canHook(m) {
			request.Hooks = append(request.Hooks, g.run.hook(m))
		}
	}
	return g.run.install(ctx, request)
}

// nearest are methods that are called by some, or by those they call, nearest
// first; calls of other people's code count as farther. Tiny methods are looked
// through.
func (g *governor) nearest(from []classfile.MethodRef, most int) []classfile.MethodRef {
	var found []classfile.MethodRef
	met := make(map[classfile.MethodRef]bool)
	own := make(map[string]bool)
	for _, m := range from {
		met[m] = true
		own[callgraph.Project(m.Class)] = true
	}
	levels := [][]classfile.MethodRef{from}
	for depth := 0; depth < len(levels); depth++ {
		for _, m := range levels[depth] {
			switch {
			case depth == 0:
			case g.isTiny(m):
				g.lock.Lock()
				g.spared[m] = true
				g.lock.Unlock()
			case len(found) == most:
				return found
			default:
				found = append(found, m)
			}
			for _, callee := range g.callees(m) {
				if met[callee] {
					continue
				}
				met[callee] = true
				at := depth + 1
				if !own[callgraph.Project(callee.Class)] {
					at = depth + farther
				}
				for len(levels) <= at {
					levels = append(levels, nil)
				}
				levels[at] = append(levels[at], callee)
			}
		}
	}
	return found
}

// farther is how many calls of the root's own project one into another's is worth.
const farther = 4

// callees are what a method calls, and the lambdas it makes, which it most often
// has someone call.
func (g *governor) callees(m classfile.MethodRef) []classfile.MethodRef {
	direct := g.run.graph.Ahead([]classfile.MethodRef{m}, callgraph.Limits{Depth: 1, Methods: math.MaxInt, Fan: wide})
	prefix := "lambda$" + m.Name + "$"
	lambdas := g.run.graph.FindIn(m.Class, func(name, _ string) bool { return strings.HasPrefix(name, prefix) })
	return append(direct, lambdas...)
}

// deepen puts hooks below the methods that hold most of the time, if another round
// can be afforded. It reports whether it did.
func (g *governor) deepen(ctx context.Context, b bill) (bool, error) {
	var below []classfile.MethodRef
	for _, h := range g.order {
		if h.mode == on && b.share[h.id] >= worthALook {
			below = append(below, h.method)
		}
	}
	if len(below) == 0 || g.looked {
		return false, nil // where the time is has been looked at
	}
	if g.broke = !g.canAfford(); g.broke {
		return false, nil
	}
	g.lock.Unlock() // others ask for settings meanwhile
	defer g.lock.Lock()
	var fresh []classfile.MethodRef
	for _, m := range g.nearest(below, math.MaxInt) {
		if !g.knows(m) && len(fresh) < moreHooks {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) == 0 {
		return false, nil
	}
	return true, g.put(ctx, fresh)
}

func (g *governor) knows(m classfile.MethodRef) bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.hooks[m] != nil
}

// canAfford reports whether another round of hooks fits the budget, with what all
// have cost so far: compiling again is most of it, and goes on behind the round.
func (g *governor) canAfford() bool {
	now, err := g.run.session.Read()
	if err != nil {
		return false
	}
	l := &g.run.ledger
	l.lock.Lock()
	since := l.first.Until(now)
	rounds, pause := l.batches, l.pause
	l.lock.Unlock()
	if rounds == 0 {
		return true
	}
	// What a program uses, and at least half a processor: one that idles has time.
	seconds := since.Elapsed.Seconds()
	use := max(since.Rest.Seconds()/max(seconds, 0.1), 0.5)
	horizon := max(g.run.Duration, amortised).Seconds()
	spent := (since.CompileCPU + pause).Seconds()
	next := spent / float64(rounds)
	// Taking the hooks out is one more.
	return spent+2*next <= g.run.Budget*use*max(horizon, seconds)
}

// amortised is in what time hooks that were put in must have earned what that cost,
// also where a run is shorter.
const amortised = 5 * time.Minute
