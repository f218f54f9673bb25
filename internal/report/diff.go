package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Verdict says what can be said of a change.
type Verdict string

// The verdicts. Slower and Faster are given only where the two intervals have
// nothing in common.
const (
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	New     Verdict = "new"     // not called before
	Gone    Verdict = "gone"    // not called after
	Calls   Verdict = "calls"   // called more or less often, with no sure change of time
	Same    Verdict = "same"    // nothing sure
	Untimed Verdict = "untimed" // of one side or both no time is known
)

// When calls or times differ surely. Many rows are compared at once, and times of calls
// have long tails: the usual two standard errors would find a change in every list.
const (
	// callsDiffer is by what part calls per root call must differ to be worth a line.
	callsDiffer = 0.1
	// chanceErrors is how many standard errors chance may make up.
	chanceErrors = 4
	// leastChance is how likely it may be that a method was not called by chance for it
	// to be new or gone. What a call leads to in a loop makes it look likelier than it is.
	leastChance = 1e-6
)

// A Difference is what two profiles have different, per call of their roots, so that
// runs of different length can be compared.
type Difference struct {
	Before, After Run
	Total         cct.Time // After less Before, of one call of the root
	Methods       []Change // by the size of the change, those that are sure first
	Contexts      []Change
	Uncompared    []Uncompared
	Notes         []string
}

// An Uncompared is a method that was not measured in the same way on both sides. Its time
// is its callers' on both, in all that is compared.
type Uncompared struct {
	Method        string
	Before, After Hook
	held          float64 // part of the roots' time
}

// A Run is one of the two.
type Run struct {
	Title string
	Calls uint64   // of the roots
	Total cct.Time // of one of them
}

// A Change is a method, or one calling context of it.
type Change struct {
	Path          []string // the calls that lead to it, the outermost first; of a method only itself
	Before, After Figures
	Delta         cct.Time // own time, After less Before, with both errors and what chance may make of it
	Verdict       Verdict
}

// Figures are a method's or context's, per call of the root.
type Figures struct {
	Calls float64
	Self  cct.Time
	Known bool // whether the time is

	roots uint64  // calls of them
	reach float64 // the part of them that led here, at most
	// Standard errors by how many calls of the root lead here: it is one request that
	// leads to many contexts, so these go the same way in all of them.
	callsMix, selfMix float64
	variance          float64 // of Self, by how calls differ: on their own in each context
	cut               float64 // the part of the roots' calls that the window does not hold whole
}

// selfChance is the standard error of Self.
func (f Figures) selfChance() float64 { return math.Hypot(f.selfMix, math.Sqrt(f.variance)) }

// add takes in another context.
func (f *Figures) add(other Figures) {
	if other.Calls == 0 && other.Self == (cct.Time{}) {
		return
	}
	f.Calls += other.Calls
	f.Self = f.Self.Plus(other.Self)
	f.Known = f.Known || other.Known
	f.reach = math.Max(f.reach, other.reach)
	f.callsMix += other.callsMix
	f.selfMix += other.selfMix
	f.variance += other.variance
	f.cut = math.Max(f.cut, other.cut)
}

// Diff compares two profiles.
func Diff(before, after *cct.Profile) *Difference {
	c := newComparer(before, after)
	d := &Difference{Before: newRun(before), After: newRun(after), Uncompared: c.uncompared()}
	methods, contexts := c.changes()
	var was, is Figures
	for _, change := range contexts {
		was.add(change.Before)
		is.add(change.After)
	}
	d.Total = apart(minus(d.After.Total, d.Before.Total), c.before.whole(was), c.after.whole(is))
	d.Methods, d.Contexts = inOrder(methods), inOrder(contexts)
	d.Notes = remarks(before, after)
	return d
}

func newRun(p *cct.Profile) Run {
	r := Run{Title: title(p.Target)}
	for _, root := range p.Merged.Children {
		r.Calls += root.Calls
	}
	r.Total = p.Merged.Total.Over(float64(r.Calls))
	return r
}

// minus is the difference of two times: each may err in either direction.
func minus(a, b cct.Time) cct.Time {
	return cct.Time{Nanos: a.Nanos - b.Nanos, Low: a.Low - b.High, High: a.High - b.Low}
}

// apart is a difference with what chance may make of it on either side.
func apart(t cct.Time, before, after Figures) cct.Time {
	chance := chanceErrors*math.Hypot(before.selfChance(), after.selfChance()) + before.cut*before.Self.Nanos + after.cut*after.Self.Nanos
	return cct.Time{Nanos: t.Nanos, Low: t.Low - chance, High: t.High + chance}
}

// isNew reports whether a method that was never called in one run, but in the other, was
// not merely missed.
func isNew(never, called Figures) bool {
	return called.Calls > 0 && math.Pow(1-called.reach, float64(never.roots)) < leastChance
}

// inOrder puts the surest and largest first, and leaves alone what is alike.
func inOrder(list []Change) []Change {
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(math.Abs(b.Delta.Nanos), math.Abs(a.Delta.Nanos)),
			cmp.Compare(math.Abs(b.After.Calls-b.Before.Calls), math.Abs(a.After.Calls-a.Before.Calls)))
	})
	return list
}

// rank puts sure changes of time before those of calls alone, and these before the
// rest.
func rank(c Change) int {
	switch c.Verdict {
	case Slower, Faster, New, Gone:
		return 0
	case Calls:
		return 1
	}
	return 2
}

func newChange(path []string, before, after Figures) Change {
	c := Change{Path: path, Before: before, After: after, Delta: apart(minus(after.Self, before.Self), before, after)}
	off := math.Abs(after.Calls - before.Calls)
	often := off > callsDiffer*math.Max(after.Calls, before.Calls) && off > chanceErrors*math.Hypot(before.callsMix, after.callsMix)+before.cut*before.Calls+after.cut*after.Calls
	known := before.Known && after.Known
	switch {
	case before.Calls == 0 && isNew(before, after):
		c.Verdict = New
	case after.Calls == 0 && isNew(after, before):
		c.Verdict = Gone
	case before.Calls == 0 || after.Calls == 0:
		c.Verdict = Same
	case known && c.Delta.Low > 0:
		c.Verdict = Slower
	case known && c.Delta.High < 0:
		c.Verdict = Faster
	case often:
		c.Verdict = Calls
	case !known:
		c.Verdict = Untimed
	default:
		c.Verdict = Same
	}
	return c
}

// remarks are what makes two profiles hard to compare.
func remarks(a, b *cct.Profile) []string {
	var list []string
	say := func(what, before, after string) {
		if before != after && before != "" && after != "" {
			list = append(list, what+" differ: "+before+" before, "+after+" after")
		}
	}
	say("roots", strings.Join(a.Roots, " "), strings.Join(b.Roots, " "))
	say("JDKs", a.Target.JDK, b.Target.JDK)
	say("timings", string(a.Timing), string(b.Timing))
	if slices.Contains(a.Notes, pprofNote) || slices.Contains(b.Notes, pprofNote) {
		list = append(list, pprofNote)
	}
	return list
}
