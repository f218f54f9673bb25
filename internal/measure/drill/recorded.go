package drill

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// Recorded makes transactions from calls that the JVM's flight recorder has traced. Calls on one thread are nested as their
// times are. Calls that were shorter than the recorder's threshold are known by their number and their mean time only.
type Recorded struct {
	isRoot  func(classfile.MethodRef) bool
	numbers map[classfile.MethodRef]uint32
	methods []classfile.MethodRef // by number, which stands for the hook

	pending map[int64][]jfr.Call // by thread: calls that may be below a call that has not ended
	waiting int                  // their number
	cut     map[int64]time.Time  // by thread: calls that began before are not complete

	timed map[classfile.MethodRef]*timed
}

// timed is what is known about all calls of a method.
type timed struct {
	last    jfr.Timing
	isKnown bool       // there is a last timing
	rate    float64    // calls in a second, between the last two
	traced  []jfr.Call // of a root, since the last timing
}

// mostWaiting bounds the calls that are kept because they may be below a call that has not ended.
const mostWaiting = 200_000

// NewRecorded returns a collection of calls below certain methods.
func NewRecorded(isRoot func(classfile.MethodRef) bool) *Recorded {
	r := &Recorded{isRoot: isRoot, numbers: make(map[classfile.MethodRef]uint32)}
	r.Forget()
	return r
}

// Forget drops what is not complete: other methods are traced from now on.
func (r *Recorded) Forget() {
	r.pending, r.waiting, r.cut = make(map[int64][]jfr.Call), 0, make(map[int64]time.Time)
	r.timed = make(map[classfile.MethodRef]*timed)
}

// Choose makes a method the only root.
func (r *Recorded) Choose(root classfile.MethodRef) {
	r.isRoot = func(m classfile.MethodRef) bool { return m == root }
}

// Roots returns the roots of which calls were traced.
func (r *Recorded) Roots() (roots []classfile.MethodRef) {
	for _, m := range r.methods {
		if r.isRoot(m) {
			roots = append(roots, m)
		}
	}
	return roots
}

// MethodOf returns the method with a number.
func (r *Recorded) MethodOf(number uint32) (m classfile.MethodRef, is bool) {
	if int(number) >= len(r.methods) {
		return m, false
	}
	return r.methods[number], true
}

// MethodsOf returns the methods with some numbers.
func (r *Recorded) MethodsOf(numbers []uint32) (methods []classfile.MethodRef) {
	for _, n := range numbers {
		if m, is := r.MethodOf(n); is {
			methods = append(methods, m)
		}
	}
	return methods
}

// IsOpen reports whether all callees of a method are traced. That is never known: samples show callees.
func (r *Recorded) IsOpen(classfile.MethodRef) bool { return false }

func (r *Recorded) number(m classfile.MethodRef) uint32 {
	n, is := r.numbers[m]
	if !is {
		n = uint32(len(r.methods))
		r.numbers[m], r.methods = n, append(r.methods, m)
	}
	return n
}

// Add adds calls, for each thread in the order of their ends, and returns the calls of roots. A root that another one calls is a
// part of that, unless it was added before.
func (r *Recorded) Add(calls []jfr.Call) (ended []*trace.Transaction) {
	for _, c := range calls {
		m, thread := c.Method.Ref(), c.Thread.JavaID
		if r.waiting++; r.waiting > mostWaiting {
			r.drop()
		}
		r.pending[thread] = append(r.pending[thread], c)
		if !r.isRoot(m) {
			continue
		}
		if t := r.timedOf(m); len(t.traced) < mostWaiting {
			t.traced = append(t.traced, c)
		}
		inside := r.pending[thread]
		from := len(inside) - 1
		for from > 0 && !inside[from-1].Start.Before(c.Start) {
			from--
		}
		tx := r.transaction(inside[from:])
		if tx.Begin.Before(r.cut[thread]) {
			tx.Lost++
		}
		ended = slices.DeleteFunc(ended, func(inner *trace.Transaction) bool {
			return inner.Root.Thread.ID == tx.Root.Thread.ID && !inner.Begin.Before(tx.Begin)
		})
		ended = append(ended, tx)
	}
	return ended
}

// drop forgets all pending calls. Calls of roots that have begun are not complete then.
func (r *Recorded) drop() {
	for thread, calls := range r.pending {
		last := calls[len(calls)-1]
		r.cut[thread] = last.Start.Add(last.Took)
	}
	r.pending, r.waiting = make(map[int64][]jfr.Call), 1
}

// transaction returns the last call with all calls that it contains, in the order of their ends.
func (r *Recorded) transaction(calls []jfr.Call) *trace.Transaction {
	calls = slices.Clone(calls)
	slices.Reverse(calls) // so that the outer one of two calls with the same times comes first
	slices.SortStableFunc(calls, func(a, b jfr.Call) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Took, a.Took))
	})
	begin := calls[0].Start
	var way []*trace.Call // calls that contain the next one
	for _, c := range calls {
		m := c.Method.Ref()
		made := &trace.Call{
			Spot: r.number(m), Class: m.ClassName(), Method: m.Name, Descriptor: m.Descriptor, Thread: trace.Thread{ID: uint64(c.Thread.JavaID), Name: c.Thread.Name},
			Start: c.Start.Sub(begin), Measured: c.Took, Duration: c.Took, Self: c.Took, Depth: len(way),
		}
		for len(way) > 1 && made.Start >= way[len(way)-1].Start+way[len(way)-1].Measured {
			way = way[:len(way)-1]
		}
		if len(way) > 0 {
			outer := way[len(way)-1]
			outer.Children = append(outer.Children, made)
			outer.Self = max(0, outer.Self-made.Duration)
		}
		way = append(way, made)
	}
	return &trace.Transaction{Root: way[0], Begin: begin, Duration: way[0].Duration}
}

func (r *Recorded) timedOf(m classfile.MethodRef) *timed {
	if r.timed[m] == nil {
		r.timed[m] = &timed{}
	}
	return r.timed[m]
}

// A Short stands for calls of a root that were shorter than the recorder's threshold.
type Short struct {
	Spot  uint32
	Calls int
	Mean  time.Duration
}

// AddTimings adds sums of calls, those of a method by time, after the traced calls before them were added. It returns the calls of roots
// since the timing before that were not traced, from a moment on.
func (r *Recorded) AddTimings(timings []jfr.Timing, from time.Time) (short []Short) {
	for _, now := range timings {
		m := now.Method.Ref()
		t := r.timedOf(m)
		before, isKnown := t.last, t.isKnown && t.last.Calls <= now.Calls
		t.last, t.isKnown = now, true
		calls, sum := now.Calls-before.Calls, sumOf(now)-sumOf(before)
		after := t.traced[:0]
		for _, c := range t.traced {
			if c.Start.Add(c.Took).After(now.At) {
				after = append(after, c)
				continue
			}
			calls, sum = calls-1, sum-c.Took
		}
		t.traced = after
		if !isKnown {
			continue
		}
		if seconds := now.At.Sub(before.At).Seconds(); seconds > 0 {
			t.rate = float64(now.Calls-before.Calls) / seconds
		}
		if r.isRoot(m) && calls > 0 && !before.At.Before(from) {
			short = append(short, Short{r.number(m), int(calls), max(0, sum/time.Duration(calls))})
		}
	}
	return short
}

// sumOf returns the time of all calls.
func sumOf(t jfr.Timing) time.Duration { return time.Duration(float64(t.Calls) * float64(t.Mean)) }

// Rate returns how many calls of all methods there were in a second, by the last timings.
func (r *Recorded) Rate() (calls float64) {
	for _, t := range r.timed {
		calls += t.rate
	}
	return calls
}

// TooFrequent returns which methods must not be traced any more, so that there are at most some calls in a second: the most
// frequent ones, without those to keep.
func (r *Recorded) TooFrequent(most float64, keeps func(classfile.MethodRef) bool) (methods []classfile.MethodRef) {
	others := slices.DeleteFunc(slices.Collect(maps.Keys(r.timed)), keeps)
	slices.SortFunc(others, func(a, b classfile.MethodRef) int {
		return cmp.Or(cmp.Compare(r.timed[b].rate, r.timed[a].rate), a.Compare(b))
	})
	for rate := r.Rate(); rate > most && len(methods) < len(others); {
		next := others[len(methods)]
		methods, rate = append(methods, next), rate-r.timed[next].rate
	}
	return methods
}

// AddShort adds normal calls of the root of which only the number and the mean time are known.
func (t *Tree) AddShort(s Short) {
	if t.Root == nil {
		t.Root = &Node{Spot: s.Spot}
	}
	n, each := float64(s.Calls), float64(s.Mean)
	t.Normal += s.Calls
	sums := &t.Root.Normal
	sums.Calls += uint64(s.Calls)
	sums.Time, sums.Self = sums.Time+n*each, sums.Self+n*each
	sums.timeSquared, sums.selfSquared = sums.timeSquared+n*each*each, sums.selfSquared+n*each*each
}

// Traceable returns the methods below the last method of a path that the flight recorder may trace, callers before callees: methods that
// samples of slow calls show, in its own time or in its whole time, that are not the JDK's, and that the program itself contains or calls. Inside
// libraries, methods are often called so often that tracing would slow the program. So are methods that are always
// innermost and inlined; samples show them anyway.
func (e *Evidence) Traceable(c Choice, isWhole bool, isOwn func(class string) bool) []classfile.MethodRef {
	isSought := make(map[classfile.MethodRef]bool)
	for _, frames := range e.inside(c, isWhole) {
		isByOwn := isOwn(strings.ReplaceAll(c.Last().Class, ".", "/"))
		for i, f := range slices.Backward(frames) {
			m := f.Method.Ref()
			if !canHaveHook(m.Class) {
				continue
			}
			if (isByOwn || isOwn(m.Class)) && (i > 0 || f.Kind != jfr.Inlined) {
				isSought[m] = true
			}
			isByOwn = isOwn(m.Class)
		}
	}
	return slices.DeleteFunc(e.OnTheWay(c, isWhole), func(m classfile.MethodRef) bool { return !isSought[m] || !sampler.IsTraceable(m) })
}
