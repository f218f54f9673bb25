package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/cct"
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

// callsDiffer is by what part calls per root call must differ to be worth a line:
// less comes and goes with the mix of requests.
const callsDiffer = 0.1

// A Difference is what two profiles have different, per call of their roots, so that
// runs of different length can be compared.
type Difference struct {
	Before, After Run
	Total         cct.Time // After less Before, of one call of the root
	Methods       []Change // by the size of the change, those that are sure first
	Contexts      []Change
	Notes         []string
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
	Delta         cct.Time // own time, After less Before, with both errors
	Verdict       Verdict
}

// Figures are a method's or context's, per call of the root.
type Figures struct {
	Calls float64
	Self  cct.Time
	Known bool // whether the time is
}

// Diff compares two profiles.
func Diff(before, after *cct.Profile) *Difference {
	d := &Difference{Before: newRun(before), After: newRun(after)}
	d.Total = minus(d.After.Total, d.Before.Total)
	c := comparer{before, after, perRoot{d.Before.Calls}, perRoot{d.After.Calls}}
	d.Methods = inOrder(c.methods())
	d.Contexts = inOrder(c.contexts())
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
	c := Change{Path: path, Before: before, After: after, Delta: minus(after.Self, before.Self)}
	often := math.Abs(after.Calls-before.Calls) > callsDiffer*math.Max(after.Calls, before.Calls)
	known := before.Known && after.Known
	switch {
	case before.Calls == 0:
		c.Verdict = New
	case after.Calls == 0:
		c.Verdict = Gone
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
