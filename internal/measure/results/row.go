package results

import (
	"cmp"
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Timing says which calls are timed.
type Timing string

// The timings.
const (
	Exact   Timing = "exact"   // every call
	Sampled Timing = "sampled" // some calls, chosen at random
	Untimed Timing = "none"    // no call
)

// A Row is a method, a method in one context, or a probe, with its measurements.
type Row struct {
	Class, Name, Descriptor string // the class with dots
	ID                      uint32
	Number                  uint32 // identifies a row of a ledger in all its results
	Probe                   string // empty if unknown
	Methods                 int    // of a probe
	Timing                  Timing
	Thinned                 bool // fewer calls were timed than asked for, to keep a budget

	// Within and Label distinguish a row from others of its method. InContext is set if
	// the row was measured in a context at all; Context is the text for people.
	InContext bool
	Within    string
	Label     Label
	Context   string

	arena.Totals
	PerSecond   float64      // calls
	Uncertainty *Uncertainty // of sampled times; nil if unknown
}

// ParseRow returns the row of a method, given as class.name(descriptor).
func ParseRow(full string) Row {
	m, ok := classfile.ParseMethodRef(full)
	if !ok {
		return Row{Name: full}
	}
	return Row{Class: m.ClassName(), Name: m.Name, Descriptor: m.Descriptor}
}

// newRow returns a row of a ledger.
func newRow(name *pack.Name, number uint32, label Label, totals *arena.Totals) Row {
	row := Row{
		Class: name.Class, Name: name.Method, Descriptor: name.Descriptor, ID: name.ID, Number: number, Probe: name.Probe,
		InContext: true, Within: name.Sequence, Label: label, Totals: *totals,
	}
	row.Timing = TimingOf(row)
	return row
}

// ended is how many calls could have been timed. Calls without timing are counted as
// ended: few of many are still running.
func (r *Row) ended() uint64 { return r.Calls - min(r.Calls, r.Active+r.Totals.Untimed) }

// Mean returns the mean time of the timed calls in nanoseconds, or -1 if there are none.
func (r *Row) Mean() float64 {
	if r.Timed == 0 {
		return -1
	}
	return float64(r.Nanos) / float64(r.Timed)
}

// P99 returns the time that 99 of 100 calls did not exceed, or -1 if it is unknown.
func (r *Row) P99() float64 { return P99(&r.Totals) }

// P99 returns the time that 99 of 100 calls did not exceed, or -1 if it is unknown.
func P99(t *arena.Totals) float64 {
	if nanos, isKnown := t.Quantile(0.99); isKnown {
		return nanos
	}
	return -1
}

// Total returns the time of all calls. Exact times include running calls so far; sampled
// times are scaled up to all calls that have ended.
func (r *Row) Total() float64 {
	switch {
	case r.Timing != Sampled:
		return float64(r.Nanos) + float64(r.Running)
	case r.Timed == 0:
		return 0
	}
	return float64(r.Nanos) * float64(r.ended()) / float64(r.Timed)
}

// SelfTime returns Total without callees that have hooks. It is 0 for sampled calls, whose
// callees are not timed for it because that would make the calls longer.
func (r *Row) SelfTime() float64 {
	if r.Timing == Sampled {
		return 0
	}
	return float64(r.Self)
}

// HasTimes reports whether any call has a time.
func (r *Row) HasTimes() bool { return r.Timed > 0 || r.Running > 0 }

// IsCalled reports whether a call is known or may be missing.
func (r *Row) IsCalled() bool { return r.Calls > 0 || r.Active > 0 || r.Undecided > 0 || r.LowerBound }

// TimingOf returns the timing that measurements show. A call may end between two readings,
// so a few missing times mean nothing.
func TimingOf(rows ...Row) Timing {
	var ended, timed uint64
	for i := range rows {
		ended += rows[i].ended()
		timed += rows[i].Timed
	}
	switch {
	case timed == 0 && ended > 0:
		return Untimed
	case timed < ended/2:
		return Sampled
	}
	return Exact
}

// Orders are the keys that rows can be sorted by, the largest first.
var Orders = map[string]func(r *Row) float64{
	"calls": func(r *Row) float64 { return float64(r.Calls) },
	"total": (*Row).Total,
	"self":  (*Row).SelfTime,
	"mean":  (*Row).Mean,
	"max":   func(r *Row) float64 { return float64(r.Max) },
	"threw": func(r *Row) float64 { return float64(r.Threw) },
	"name":  func(*Row) float64 { return 0 },
}

// SortRows sorts rows by one of the Orders, and rows that are equal in it by name.
func SortRows(rows []Row, by string) {
	key := Orders[by]
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Descriptor, b.Descriptor), cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Context, b.Context))
	})
}

// An Uncertainty estimates the random error of a sampled mean. The measurements between
// two readings are a batch; the differences between batches show the error, also if slow
// calls come in bursts. The cost of timing itself is the same in all batches and is not
// included.
//
//	m = ΣN / ΣT      nanoseconds and timed calls of all batches
//	variance of m ≈ B / (B-1) · Σ (N - m·T)² / (ΣT)²
type Uncertainty struct {
	nanos, timed float64 // at the last reading
	batches      float64
	nn, nt, tt   float64 // ΣN², ΣN·T, ΣT²
	sumN, sumT   float64
}

// Add takes the totals of a method at a reading.
func (u *Uncertainty) Add(totals *arena.Totals) {
	n, t := float64(totals.Nanos)-u.nanos, float64(totals.Timed)-u.timed
	u.nanos, u.timed = float64(totals.Nanos), float64(totals.Timed)
	if t == 0 && n == 0 {
		return
	}
	u.batches++
	u.sumN, u.sumT = u.sumN+n, u.sumT+t
	u.nn, u.nt, u.tt = u.nn+n*n, u.nt+n*t, u.tt+t*t
}

// leastBatches is the number from which the interval holds as often as it claims: with
// eight batches of one call it held in 56 of 100 cases, with fifteen in 78.
const leastBatches = 30

// Error returns half of the 95 % interval of the mean as a part of the mean, or -1 if too
// little is known. A nil Uncertainty knows nothing.
func (u *Uncertainty) Error() float64 {
	if u == nil || u.batches < leastBatches || u.sumN <= 0 || u.sumT <= 0 {
		return -1
	}
	mean := u.sumN / u.sumT
	squares := max(0, u.nn-2*mean*u.nt+mean*mean*u.tt)
	deviation := math.Sqrt(u.batches/(u.batches-1)*squares) / u.sumT
	return 2 * deviation / mean
}
