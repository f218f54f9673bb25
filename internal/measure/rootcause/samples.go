package rootcause

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	pollEvery   = 500 * time.Millisecond // the JVM writes once a second
	reportEvery = 250 * time.Millisecond
	// unbounded is a window's length that no look reaches: looks follow one another.
	unbounded = 24 * time.Hour
	// cooled is the part of what made a method hot below which it surely is not any
	// more.
	cooled = 0.5
	// fewSamples say little of what is hot: a program that runs now and then is looked
	// at for longer, up to so many times as long.
	fewSamples = 100
	longLook   = 4
)

// pause lets time pass, in which samples are read and progress is told.
func (w *walker) pause(ctx context.Context, long time.Duration) error {
	end := time.Now().Add(long)
	for {
		left := time.Until(end)
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(min(left, reportEvery))
		var done <-chan struct{}
		if w.session != nil {
			done = w.session.Done()
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-done:
			timer.Stop()
			return w.session.Err()
		case <-timer.C:
		}
		if time.Since(w.polled) >= pollEvery {
			if err := w.poll(ctx); err != nil {
				return err
			}
		}
		if time.Since(w.reported) >= reportEvery {
			w.report()
		}
	}
}

// poll reads the samples that have come.
func (w *walker) poll(ctx context.Context) error {
	w.polled = time.Now()
	batch, err := w.sampler.Poll(ctx)
	if err != nil {
		if errors.Is(err, sampler.ErrEnded) && w.session != nil {
			return session.ErrExited
		}
		return err
	}
	for _, note := range batch.Notes {
		if !slices.Contains(w.notes, note) {
			w.notes = append(w.notes, note)
		}
	}
	w.times = batch
	samples := slices.DeleteFunc(batch.Samples, func(s flightSample) bool { return s.At.Before(w.looked) })
	w.window.Add(batch.At, samples, batch.Period, batch.Times)
	for _, s := range samples {
		if s.Stack != nil {
			w.calls.add(s.Stack)
		}
	}
	// A look is as long as the first: hot spots come and go.
	if w.stage != Sampling && !w.settling && time.Since(w.looked) >= w.Sampling {
		w.look()
	}
	return nil
}

// startLook begins to count samples anew. What processor time threads have had until
// now goes along: without it nothing tells threads that wait in native code.
func (w *walker) startLook() {
	w.window, w.looked = hotspots.NewWindow(unbounded), time.Now()
	if w.times.Times != nil {
		w.window.Add(w.times.At, nil, w.times.Period, w.times.Times)
	}
}

// look takes in what samples have said since the last look: which spots are hot, and
// which ways lead there. Only the first look takes spots that are not hot by
// themselves.
func (w *walker) look() {
	t := tallyOf(w.window.Table(time.Now()))
	if t.count == 0 || t.count < fewSamples && len(w.spots) > 0 {
		if time.Since(w.looked) > longLook*w.Sampling {
			w.startLook() // the program idles
		}
		return // what they say is heard with the next
	}
	w.sampled += time.Since(w.looked)
	w.samples += t.count
	w.startLook()
	first, joins := len(w.spots) == 0, w.mayJoin()
	few := 0
	if first {
		few = w.Top
	}
	for _, m := range t.hottest(w.Hot, few) {
		share := t.share(m)
		if (first || joins && share.Low >= w.Hot) && w.spotAt(m) == nil {
			w.spots = append(w.spots, &spot{top: newWay(m), share: share, from: w.elapsed(), floor: min(w.Hot, share.Part) * cooled})
		}
	}
	for _, s := range w.spots {
		share := t.share(s.top.method)
		switch {
		case !s.isHot():
		case s.cools(share, t.count):
			s.until = w.elapsed()
		default:
			t.feed(s)
		}
	}
}

// mayJoin reports whether a spot that is hot now may join: not in a walk that ends
// with its first climb, and not while compilers still have to do with what Sonde
// redefined, as code that waits for them is slow.
func (w *walker) mayJoin() bool {
	if w.Duration == 0 || w.session == nil {
		return false
	}
	now, err := w.session.Read()
	if err != nil {
		return false
	}
	since := w.last.Until(now)
	w.last = now
	return since.Elapsed > 0 && overhead.ForRootCause.Idle(since)
}

// spotAt is the spot at a method that is hot, or whose ways are known.
func (w *walker) spotAt(m method) *spot {
	for _, s := range w.spots {
		if s.top.method == m {
			s.until = 0 // it may have cooled down before
			return s
		}
	}
	return nil
}

// A spot is a hot method, and the ways to it.
type spot struct {
	top     *way
	share   Share
	samples int // that led to it
	seen    int // of all, in the looks in which it was hot
	kind    string
	line    int
	from    time.Duration
	until   time.Duration // 0 while it is hot
	climbed bool
	above   string  // why the climb began one level up
	floor   float64 // the share below which it is not hot any more
	cold    lately  // the looks since, in which it was below that
}

// lately is what some looks one after the other saw of a spot.
type lately struct{ weight, samples float64 }

func (s *spot) isHot() bool { return s.until == 0 }

// cools takes a look in, and reports whether the spot surely is not hot any more. One
// look has too few samples to say so where the machine is slow, several in a row have
// enough. They belong to its share only if it is hot again after them.
func (s *spot) cools(share Share, samples int) bool {
	s.cold.weight += share.Part * float64(samples)
	s.cold.samples += float64(samples)
	isCold := shareOf(s.cold.weight, s.cold.samples, s.cold.samples).High < s.floor
	if !isCold && share.Part < s.floor {
		return false // the next looks will tell
	}
	since := s.cold
	s.cold = lately{}
	if !isCold {
		weight := s.share.Part*float64(s.seen) + since.weight
		s.seen += int(since.samples)
		s.share = shareOf(weight, float64(s.seen), float64(s.seen))
	}
	return isCold
}

// least is the weight that a way must have to be climbed.
func (s *spot) least() float64 {
	all := s.top.weight / max(s.share.Part, 1e-9) // of all samples
	return max(least*s.top.weight, leastOfAll*all)
}

// A tally is what one look at the program gave.
type tally struct {
	paths []path
	whole float64
	count int // samples
	table *hotspots.Table
}

// A path is a straightened stack.
type path struct {
	methods   []method
	weight    float64
	samples   int
	truncated bool
}

func tallyOf(table *hotspots.Table) *tally {
	t := &tally{table: table, count: table.Samples}
	for _, p := range table.Stacks() {
		t.whole += p.Weight
		if methods := straighten(p.Methods); len(methods) > 0 {
			t.paths = append(t.paths, path{methods, p.Weight, p.Samples, p.Truncated})
		}
	}
	return t
}

// hottest are the methods with at least a share of all by themselves, or where none
// has the first few, if any; the hottest first.
func (t *tally) hottest(least float64, few int) []method {
	self := make(map[method]float64)
	for _, p := range t.paths {
		self[p.methods[0]] += p.weight
	}
	all := make([]method, 0, len(self))
	for m := range self {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b method) int {
		return cmp.Or(cmp.Compare(self[b], self[a]), a.compare(b))
	})
	hot := slices.IndexFunc(all, func(m method) bool { return self[m] < least*t.whole })
	switch {
	case hot > 0:
		return all[:hot]
	case hot < 0:
		return all
	}
	return all[:min(few, len(all))]
}

// share is the part of all time that a method has by itself.
func (t *tally) share(m method) Share {
	var self float64
	for _, p := range t.paths {
		if p.methods[0] == m {
			self += p.weight
		}
	}
	return shareOf(self, t.whole, float64(t.count))
}

// feed puts the stacks that lead to a spot on its ways.
func (t *tally) feed(s *spot) {
	for _, p := range t.paths {
		if p.methods[0] == s.top.method {
			s.top.add(p.methods[1:], p.weight, p.truncated)
			s.samples += p.samples
		}
	}
	for _, m := range t.table.Methods {
		if methodOf(m.Method) != s.top.method || m.Samples == 0 {
			continue
		}
		var most float64
		for kind, part := range m.Kinds {
			if part > most {
				s.kind, most = kind, part
			}
		}
		if len(m.Lines) > 0 {
			s.line = m.Lines[0].Line
		}
	}
}

func (m method) compare(other method) int {
	return cmp.Or(strings.Compare(m.class, other.class), strings.Compare(m.name, other.name), strings.Compare(m.descriptor, other.descriptor))
}

// shareOf is a part with its interval, as of n samples.
func shareOf(weight, whole, n float64) Share {
	return Share(hotspots.ShareOf(weight, whole, n))
}

// A method is one of the program. Its strings are as class files have them.
type method struct{ class, name, descriptor string }

func methodOf(m *jfr.Method) method { return method{m.Class, m.Name, m.Descriptor} }

// A way is a method on the way up from a hot spot. The hot spot itself is one that
// calls nothing on it.
type way struct {
	method  method
	below   *way // what it calls; nil in the hot spot
	level   int
	weight  float64 // samples that came this way
	entries float64 // of those, with nothing above: a thread begins here
	cut     float64 // of those, with more above than the recorder kept
	callers map[method]*way
}

func newWay(m method) *way { return &way{method: m, callers: make(map[method]*way)} }

// add puts a stack on a way: what is above this method, the innermost first.
func (w *way) add(above []method, weight float64, truncated bool) {
	w.weight += weight
	if len(above) == 0 {
		if truncated {
			w.cut += weight
		} else {
			w.entries += weight
		}
		return
	}
	w.caller(above[0]).add(above[1:], weight, truncated)
}

// caller is the way on through a caller.
func (w *way) caller(m method) *way {
	next := w.callers[m]
	if next == nil {
		next = newWay(m)
		next.below, next.level = w, w.level+1
		w.callers[m] = next
	}
	return next
}

// holds reports whether a method is on the way from the hot spot up to here.
func (w *way) holds(m method) bool {
	for at := w; at != nil; at = at.below {
		if at.method == m {
			return true
		}
	}
	return false
}

// each visits a way and all above it whose weight is at least a part of the hot
// spot's.
func (w *way) each(least float64, visit func(*way)) {
	if w.weight < least {
		return
	}
	visit(w)
	for _, next := range w.callers {
		next.each(least, visit)
	}
}

// straighten gives the methods of a stack, the innermost first, as a program's author
// would tell them: what only carries a call is left out, and a circle is cut, so that
// no method is met twice.
func straighten(stack []*jfr.Method) []method {
	var straight []method
	at := make(map[method]int)
	for _, one := range stack[ours(len(stack), func(i int) string { return stack[i].Class }):] {
		m := methodOf(one)
		if carries(m) || len(straight) > 0 && m.bridges(straight[len(straight)-1]) {
			continue
		}
		if before, met := at[m]; met {
			for _, gone := range straight[before+1:] {
				delete(at, gone)
			}
			straight = straight[:before+1]
			continue
		}
		at[m] = len(straight)
		straight = append(straight, m)
	}
	return straight
}

// ours is how many of the innermost frames of a stack are Sonde's own: its hooks, and
// what those call.
func ours(frames int, class func(int) string) int {
	for i := frames - 1; i >= 0; i-- {
		if strings.HasPrefix(class(i), "java/lang/SondeHooks") {
			return i + 1
		}
	}
	return 0
}

// bridges reports whether a method is there only to call another that returns
// something else.
func (m method) bridges(other method) bool {
	parameters := func(m method) string { return m.descriptor[:strings.LastIndexByte(m.descriptor, ')')+1] }
	return m != other && m.class == other.class && m.name == other.name && parameters(m) == parameters(other)
}

// carriers are where methods are that only carry a call: to a lambda, a member, a
// handle.
var carriers = []string{"java/lang/invoke/", "java/lang/reflect/", "jdk/internal/reflect/", "jdk/internal/vm/Continuation"}

// carries reports whether a method is none that someone wrote, or does nothing but
// call another.
func carries(m method) bool {
	if strings.Contains(m.class, "$$Lambda") {
		return true
	}
	for _, prefix := range carriers {
		if strings.HasPrefix(m.class, prefix) {
			return true
		}
	}
	return false
}

// library are the packages of the JDK.
var library = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

func isLibrary(class string) bool {
	for _, prefix := range library {
		if strings.HasPrefix(class, prefix) {
			return true
		}
	}
	return false
}

// calls is what stacks show of the program beside the ways: who calls whom from
// where, and what is compiled into what.
type calls struct {
	edges  map[edge]map[int]bool      // offsets of the calls, in the caller's code
	into   map[string]map[method]bool // by class: the methods that have code of it compiled into them
	code   map[string]map[method]bool // by class: all methods whose compiled code goes with it, its own among them
	seen   map[method]*kinds          // how often methods were met as what
	known  map[method]bool            // native methods
	loops  map[method]bool            // methods that were seen to call themselves
	pieces []piece
	shed   map[string]bool // classes that are left alone for that
}

// kinds are how often a method was met compiled, for itself or into its caller.
type kinds struct{ apart, inlined int }

// A piece is the code that ran: the innermost frames of a stack, as far as they are
// compiled together.
type piece struct {
	classes map[string]bool // to redefine one of them throws it away
	root    string          // the class whose method was compiled
}

// An edge is a call of one method by another.
type edge struct{ caller, callee method }

func newCalls() *calls {
	return &calls{edges: make(map[edge]map[int]bool), into: make(map[string]map[method]bool), code: make(map[string]map[method]bool), seen: make(map[method]*kinds), known: make(map[method]bool), loops: make(map[method]bool)}
}

const accNative = 0x0100

// add learns from a stack.
func (c *calls) add(stack *jfr.Stack) {
	var below *method
	var inlined []string // classes of frames that are compiled into the next that is not
	own := ours(len(stack.Frames), func(i int) string {
		if m := stack.Frames[i].Method; m != nil {
			return m.Class
		}
		return ""
	})
	code, whole := piece{classes: make(map[string]bool)}, false
	for _, frame := range stack.Frames[own:] {
		if frame.Method == nil {
			continue
		}
		if !whole {
			code.classes[frame.Method.Class], code.root = true, frame.Method.Class
			whole = frame.Kind != jfr.Inlined
		}
		m := methodOf(frame.Method)
		if frame.Method.Modifiers&accNative != 0 || frame.Kind == jfr.Native {
			c.known[m] = true
		}
		c.meet(m, frame.Kind)
		if frame.Kind == jfr.Inlined {
			inlined = append(inlined, m.class)
		} else {
			for _, class := range inlined {
				note(c.into, class, m)
				note(c.code, class, m)
			}
			inlined = inlined[:0]
			if frame.Kind == jfr.Compiled {
				note(c.code, m.class, m)
			}
		}
		if carries(m) {
			continue
		}
		if below != nil && *below == m {
			c.loops[m] = true
		}
		if below != nil && *below != m {
			e := edge{m, *below}
			if c.edges[e] == nil {
				c.edges[e] = make(map[int]bool)
			}
			c.edges[e][frame.BCI] = true
		}
		below = &m
	}
	if len(c.pieces) == mostPieces {
		c.pieces = append(c.pieces[:0], c.pieces[mostPieces/2:]...)
	}
	c.pieces = append(c.pieces, code)
}

func (c *calls) meet(m method, kind jfr.FrameKind) {
	met := c.seen[m]
	if met == nil {
		met = &kinds{}
		c.seen[m] = met
	}
	switch kind {
	case jfr.Inlined:
		met.inlined++
	case jfr.Compiled:
		met.apart++
	}
}

// isInlined reports whether compilers put a method into its callers more often than not.
func (c *calls) isInlined(m method) bool {
	met := c.seen[m]
	return met != nil && met.inlined > met.apart
}

func note(of map[string]map[method]bool, class string, m method) {
	if of[class] == nil {
		of[class] = make(map[method]bool)
	}
	of[class][m] = true
}

// mostPieces is how many are kept: the newest say what is hot now.
const mostPieces = 2000

// heat is the part of what ran that is compiled together with some of the classes.
func (c *calls) heat(classes map[string]bool) float64 {
	return c.part(func(p piece) bool {
		for class := range p.classes {
			if classes[class] {
				return true
			}
		}
		return false
	})
}

// lent is the part of what ran that has code of a class compiled into methods of others.
func (c *calls) lent(class string) float64 {
	return c.part(func(p piece) bool { return p.classes[class] && p.root != class })
}

// part is the part of what ran of which something is true.
func (c *calls) part(is func(piece) bool) float64 {
	if len(c.pieces) == 0 {
		return 0
	}
	hits := 0
	for _, p := range c.pieces {
		if is(p) {
			hits++
		}
	}
	return float64(hits) / float64(len(c.pieces))
}

const (
	// Of a few classes all may be redefined; of many only so many of the coolest that
	// this part of what runs is thrown away.
	fewClasses = 8
	mostHeat   = 0.35
	// mostCode is how many compiled methods may be thrown away for a climb. Compilers
	// work for tens of milliseconds on each, in which the program does with slower code.
	mostCode = 24
	// mostLent is how much of what runs may have code of a class in methods of others.
	// A class that is redefined forgets what was learnt of it, those methods do not and
	// are compiled again at once: without what made the code fast, and for good.
	mostLent = 0.02
)

// judge decides which classes are left alone because they are compiled into too much of
// what runs. Weights are what lies on the ways through each: those come first that tell
// most for the code that is thrown away.
func (c *calls) judge(weights map[string]float64) {
	classes := slices.Collect(maps.Keys(weights))
	worth := func(class string) float64 { return weights[class] / float64(1+len(c.code[class])) }
	slices.SortFunc(classes, func(a, b string) int { return cmp.Or(cmp.Compare(worth(b), worth(a)), strings.Compare(a, b)) })
	c.shed = make(map[string]bool)
	chosen, code := make(map[string]bool), make(map[method]bool)
	for _, class := range classes {
		chosen[class] = true
		more := maps.Clone(code)
		maps.Copy(more, c.code[class])
		if len(more) > mostCode || c.lent(class) > mostLent || len(chosen) > fewClasses && c.heat(chosen) > mostHeat {
			delete(chosen, class)
			c.shed[class] = true
			continue
		}
		code = more
	}
}

// tooCentral is into how many methods a class may be compiled for it to be redefined:
// all of them are thrown away then.
const tooCentral = 16

// isCentral reports whether to redefine a class would cost the program dear.
func (c *calls) isCentral(class string) bool {
	return isLibrary(class) || c.shed[class] || len(c.into[class]) > tooCentral
}
