package rootcause

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	pollEvery   = 500 * time.Millisecond // a recording is written once a second
	reportEvery = 250 * time.Millisecond
	// unbounded is a window's length that no look reaches: looks follow each other.
	unbounded = 24 * time.Hour
	// cooled is the part of what made a method hot below which it is not hot any more.
	cooled = 0.5
	// fewSamples are not enough to find what is hot: a program that runs now and then is
	// sampled up to longLook times as long.
	fewSamples = 100
	longLook   = 4
)

// pause lets time pass, in which it reads samples and reports progress.
func (s *search) pause(ctx context.Context, long time.Duration) error {
	end := time.Now().Add(long)
	var done <-chan struct{}
	if s.session != nil {
		done = s.session.Done()
	}
	for {
		left := time.Until(end)
		if left <= 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return s.session.Err()
		case <-time.After(min(left, reportEvery)):
		}
		if time.Since(s.polled) >= pollEvery {
			if err := s.poll(ctx); err != nil {
				return err
			}
		}
		if time.Since(s.reported) >= reportEvery {
			s.report()
		}
	}
}

func (s *search) poll(ctx context.Context) error {
	s.polled = time.Now()
	batch, err := s.sampler.Poll(ctx)
	if err != nil {
		if errors.Is(err, sampler.ErrEnded) && s.session != nil {
			return session.ErrExited
		}
		return err
	}
	for _, note := range batch.Notes {
		if !slices.Contains(s.notes, note) {
			s.notes = append(s.notes, note)
		}
	}
	s.times = batch
	samples := slices.DeleteFunc(hotspots.WithoutHooks(batch.Samples), func(one jfr.Sample) bool { return one.At.Before(s.looked) })
	s.window.Add(batch.At, samples, batch.Period, batch.Times)
	for _, one := range samples {
		if one.Stack != nil {
			s.stacks.add(one.Stack)
		}
	}
	// All looks are as long as the first: hot spots come and go.
	if s.stage != Sampling && !s.isSettling && time.Since(s.looked) >= s.Sampling {
		s.look()
	}
	return nil
}

// startLook begins a new window of samples. It starts with the processor time of threads
// so far, without which threads that wait in native code would count as running.
func (s *search) startLook() {
	s.window, s.looked = hotspots.NewWindow(unbounded), time.Now()
	if s.times.Times != nil {
		s.window.Add(s.times.At, nil, s.times.Period, s.times.Times)
	}
}

// firstLook samples until there are enough to find what is hot, for a bounded time.
func (s *search) firstLook(ctx context.Context) error {
	for range longLook {
		if err := s.pause(ctx, s.Sampling); err != nil {
			return err
		}
		if tallyOf(s.window.Table(time.Now()), s.own.Has).count >= fewSamples {
			break
		}
	}
	s.look()
	return nil
}

// look evaluates the samples since the last look: which spots are hot, and which paths
// lead there. Only the first look takes methods that are not hot by themselves.
func (s *search) look() {
	t := tallyOf(s.window.Table(time.Now()), s.own.Has)
	if t.count == 0 || t.count < fewSamples && len(s.spots) > 0 {
		if time.Since(s.looked) > longLook*s.Sampling {
			s.startLook() // the program idles
		}
		return // the samples count with the next look
	}
	s.sampled += time.Since(s.looked)
	s.samples += t.count
	s.owners.add(t)
	s.startLook()
	isFirst, mayJoin := len(s.spots) == 0, s.mayJoin()
	few := 0
	if isFirst {
		few = s.Top
	}
	for _, found := range t.hottest(s.Hot, few) {
		found.share = t.share(found)
		if (isFirst || mayJoin && found.share.Low >= s.Hot) && s.spotAt(found.top.method) == nil {
			found.from, found.floor = s.elapsed(), min(s.Hot, found.share.Part)*cooled
			s.spots = append(s.spots, found)
		}
	}
	for _, spot := range s.spots {
		switch {
		case !spot.isHot():
		case spot.cools(t.share(spot), t.count):
			spot.until = s.elapsed()
		default:
			t.feed(spot)
		}
	}
}

// mayJoin reports whether a spot that is hot now may join: not in a search that ends with
// its first climb, and not while the compilers are busy with redefined code, which is slow
// until it is compiled.
func (s *search) mayJoin() bool {
	if s.Duration == 0 || s.session == nil {
		return s.Duration > 0
	}
	now, err := s.session.Read()
	if err != nil {
		return false
	}
	since := s.last.Until(now)
	s.last = now
	return since.Elapsed > 0 && overhead.ForRootCause.Idle(since)
}

// spotAt returns the spot at a method, which is hot again if it had cooled down.
func (s *search) spotAt(m classfile.MethodRef) *spot {
	for _, spot := range s.spots {
		if spot.top.method == m {
			spot.until = 0
			return spot
		}
	}
	return nil
}

// A spot is a hot method, and the call paths to it.
type spot struct {
	top     *node
	isOwner bool // the time of libraries that the method calls is its time
	share   Share
	samples int // in which it ran
	seen    int // all samples, in the looks in which it was hot
	kind    string
	line    int
	from    time.Duration
	until   time.Duration // 0 while it is hot
	climbed bool
	above   string  // why the climb began one level up
	floor   float64 // the share below which it is not hot any more
	// The looks since it was below the floor, together.
	cold struct{ weight, samples float64 }
}

func (s *spot) isHot() bool { return s.until == 0 }

// cools takes in a look, and reports whether the spot certainly is not hot any more. On a
// slow machine one look has too few samples for that; several in a row have enough. They
// count for its share only if it is hot again after them.
func (s *spot) cools(share Share, samples int) bool {
	s.cold.weight += share.Part * float64(samples)
	s.cold.samples += float64(samples)
	isCold := cct.ShareOf(s.cold.weight, s.cold.samples, s.cold.samples).High < s.floor
	if !isCold && share.Part < s.floor {
		return false // the next looks will decide
	}
	if !isCold {
		weight := s.share.Part*float64(s.seen) + s.cold.weight
		s.seen += int(s.cold.samples)
		s.share = cct.ShareOf(weight, float64(s.seen), float64(s.seen))
	}
	s.cold.weight, s.cold.samples = 0, 0
	return isCold
}

const (
	// minPart is the part of a hot spot's samples that a path must have to be climbed, and
	// minOfAll of all samples: of a spot that is hardly hot only the main paths matter.
	minPart  = 0.04
	minOfAll = 0.004
)

// minWeight returns the weight that a path must have to be climbed.
func (s *spot) minWeight() float64 {
	all := s.top.weight / max(s.share.Part, 1e-9)
	return max(minPart*s.top.weight, minOfAll*all)
}

// visit calls do for the nodes of all paths that are climbed.
func (s *spot) visit(do func(*node)) { s.top.visit(s.minWeight(), do) }

// A tally is what one look at the program gave.
type tally struct {
	paths  []hotspots.Path                 // straightened
	owners []int                           // for each path, the place of the innermost own method; -1 if there is none
	self   map[classfile.MethodRef]float64 // weights of the methods that ran
	whole  float64
	other  float64 // weight without a Java method on the stack, such as time of the JVM's own threads
	count  int     // samples
	table  *hotspots.Table
}

func tallyOf(table *hotspots.Table, isOwn func(class string) bool) *tally {
	t := &tally{table: table, self: make(map[classfile.MethodRef]float64)}
	for _, p := range table.Stacks() {
		t.add(p, isOwn)
	}
	return t
}

func (t *tally) add(p hotspots.Path, isOwn func(class string) bool) {
	if p.Methods = straighten(p.Methods); len(p.Methods) == 0 {
		t.other += p.Weight
		return
	}
	t.paths = append(t.paths, p)
	t.owners = append(t.owners, slices.IndexFunc(p.Methods, func(m classfile.MethodRef) bool { return isOwn(m.Class) }))
	t.self[p.Methods[0]] += p.Weight
	t.whole += p.Weight
	t.count += p.Samples
}

// hottest returns the methods with at least a share of all time, the hottest first, or if there
// is none the first few.
func (t *tally) hottest(share float64, few int) []*spot {
	if hot := t.spots(share * t.whole); len(hot) > 0 {
		return hot
	}
	all := t.spots(0)
	return all[:min(few, len(all))]
}

// spots returns the methods that have at least a weight by themselves, and own methods that have
// it with the libraries that they call, without the time of the first ones.
func (t *tally) spots(least float64) []*spot {
	found := make(map[classfile.MethodRef]*spot)
	for m, weight := range t.self {
		if weight >= least {
			found[m] = &spot{top: newNode(m)}
		}
	}
	rest := make(map[classfile.MethodRef]float64)
	for i, p := range t.paths {
		if at := t.owners[i]; at >= 0 && found[p.Methods[0]] == nil {
			rest[p.Methods[at]] += p.Weight
		}
	}
	for m, weight := range rest {
		if weight >= least && found[m] == nil {
			found[m] = &spot{top: newNode(m), isOwner: true}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *spot) int {
		return cmp.Or(cmp.Compare(t.weight(b), t.weight(a)), a.top.method.Compare(b.top.method))
	})
}

// above returns the methods above a spot on a path that leads to it; false for another path.
func (t *tally) above(s *spot, path int) (methods []classfile.MethodRef, ok bool) {
	at := 0
	if s.isOwner {
		at = t.owners[path]
	}
	if at < 0 || t.paths[path].Methods[at] != s.top.method {
		return nil, false
	}
	return t.paths[path].Methods[at+1:], true
}

func (t *tally) weight(s *spot) (sum float64) {
	if !s.isOwner {
		return t.self[s.top.method]
	}
	for i, p := range t.paths {
		if _, ok := t.above(s, i); ok {
			sum += p.Weight
		}
	}
	return sum
}

// share returns the part of all time that a spot has.
func (t *tally) share(s *spot) Share {
	return cct.ShareOf(t.weight(s), t.whole, float64(t.count))
}

// feed adds the stacks that lead to a spot to its paths.
func (t *tally) feed(s *spot) {
	for i, p := range t.paths {
		if above, ok := t.above(s, i); ok {
			s.top.add(above, p.Weight, p.Truncated)
			s.samples += p.Samples
		}
	}
	if s.isOwner {
		return // it ran in many places
	}
	for _, m := range t.table.Methods {
		if m.Method.Ref() != s.top.method || m.Samples == 0 {
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

// owners are the innermost own methods on stacks, with the time in them and in the libraries that
// they call.
type owners struct {
	weights map[classfile.MethodRef]map[classfile.MethodRef]float64 // by the method that ran; the empty method has what no own method called
	whole   float64
	other   float64 // of samples without a Java method on the stack
}

// add takes in a look at the program.
func (o *owners) add(t *tally) {
	o.whole += t.whole
	o.other += t.other
	for i, p := range t.paths {
		var owner classfile.MethodRef
		if at := t.owners[i]; at >= 0 {
			owner = p.Methods[at]
		}
		if o.weights[owner] == nil {
			o.weights[owner] = make(map[classfile.MethodRef]float64)
		}
		o.weights[owner][p.Methods[0]] += p.Weight
	}
}

// A node is a method on a call path to a hot spot. The nodes of a spot are a tree whose
// root is the hot method and whose edges lead to callers.
type node struct {
	method  classfile.MethodRef
	callee  *node // nil in the hot spot
	level   int
	weight  float64 // of the samples that came through here
	entries float64 // of those with nothing above: a thread begins here
	cut     float64 // of those with more above, which the sampler did not see
	callers map[classfile.MethodRef]*node
}

func newNode(m classfile.MethodRef) *node {
	return &node{method: m, callers: make(map[classfile.MethodRef]*node)}
}

// add adds a stack: the methods above this one, the innermost first.
func (n *node) add(above []classfile.MethodRef, weight float64, truncated bool) {
	n.weight += weight
	switch {
	case len(above) > 0:
		next := n.callers[above[0]]
		if next == nil {
			next = newNode(above[0])
			next.callee, next.level = n, n.level+1
			n.callers[above[0]] = next
		}
		next.add(above[1:], weight, truncated)
	case truncated:
		n.cut += weight
	default:
		n.entries += weight
	}
}

// reaches reports whether a method is on the path from here down to the hot spot.
func (n *node) reaches(m classfile.MethodRef) bool {
	for at := n; at != nil; at = at.callee {
		if at.method == m {
			return true
		}
	}
	return false
}

// visit calls do for a node and all above it that have at least a weight.
func (n *node) visit(weight float64, do func(*node)) {
	if n.weight < weight {
		return
	}
	do(n)
	for _, next := range n.callers {
		next.visit(weight, do)
	}
}

// straighten returns the methods of a stack, the innermost first, as the program's author
// thinks of them: methods that only pass a call on are left out, and recursion is cut, so
// that no method occurs twice.
func straighten(stack []classfile.MethodRef) (straight []classfile.MethodRef) {
	at := make(map[classfile.MethodRef]int)
	for _, m := range stack {
		if hotspots.PassesOn(m.Class) || len(straight) > 0 && isBridge(m, straight[len(straight)-1]) {
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

// isBridge reports whether a method exists only to call one with another return type.
func isBridge(m, callee classfile.MethodRef) bool {
	parameters := func(m classfile.MethodRef) string { return m.Descriptor[:strings.LastIndexByte(m.Descriptor, ')')+1] }
	return m != callee && m.Class == callee.Class && m.Name == callee.Name && parameters(m) == parameters(callee)
}
