package twin

import (
	"errors"
	"slices"
	"time"
)

// A Track is all readings, in order.
type Track []Reading

// A Span is a time from one moment to another.
type Span struct{ From, Until time.Time }

// Length is how long it takes.
func (s Span) Length() time.Duration { return max(s.Until.Sub(s.From), 0) }

// Within are the readings in a span.
func (t Track) Within(s Span) Track {
	begin := slices.IndexFunc(t, func(r Reading) bool { return !r.At.Before(s.From) })
	if begin < 0 {
		return nil
	}
	end := begin
	for end < len(t) && !t[end].At.After(s.Until) {
		end++
	}
	return t[begin:end]
}

// Window is how much processor time both programs have in the pieces in which speeds are
// compared.
const Window = 2 * time.Second

// Windows cuts what was read in a span into pieces.
func (t Track) Windows(s Span) []Track {
	var all []Track
	rest := t.Within(s)
	begin := 0
	for i := range rest {
		both := min(rest[i].Touched.CPU-rest[begin].Touched.CPU, rest[i].Twin.CPU-rest[begin].Twin.CPU)
		if both >= Window-Every/2 {
			all = append(all, rest[begin:i+1])
			begin = i
		}
	}
	return all
}

var errIdle = errors.New("a program had no processor time: the machine is too busy")

// rate is what a program did for a second of its processor time.
func rate(from, until Progress) (float64, error) {
	used := until.CPU - from.CPU
	if used <= 0 {
		return 0, errIdle
	}
	return (until.Done - from.Done) / used.Seconds(), nil
}

// Share is what the touched program did of what its twin did, each for the same
// processor time.
func (t Track) Share() (float64, error) {
	first, last := t[0], t[len(t)-1]
	touched, err := rate(first.Touched, last.Touched)
	if err != nil {
		return 0, err
	}
	twin, err := rate(first.Twin, last.Twin)
	if err != nil {
		return 0, err
	}
	if twin == 0 {
		return 0, errIdle
	}
	return touched / twin, nil
}

// Shares are those of all windows in spans.
func (t Track) Shares(spans ...Span) (shares []float64) {
	for _, s := range spans {
		for _, w := range t.Windows(s) {
			if share, err := w.Share(); err == nil {
				shares = append(shares, share)
			}
		}
	}
	return shares
}

// Lost is the processor time of the touched program in a span that brought nothing,
// if it should have done a share of what its twin did for the same.
func (t Track) Lost(s Span, expected float64) time.Duration {
	part := t.Within(s)
	if len(part) < 2 || expected <= 0 {
		return 0
	}
	first, last := part[0], part[len(part)-1]
	twin, err := rate(first.Twin, last.Twin)
	if err != nil || twin == 0 {
		return 0
	}
	used := last.Touched.CPU - first.Touched.CPU
	return used - time.Duration((last.Touched.Done-first.Touched.Done)/(twin*expected)*float64(time.Second))
}

// After is the moment at which the touched program has had so much processor time
// more than at another.
func (t Track) After(at time.Time, used time.Duration) time.Time {
	var first *Reading
	for i := range t {
		switch {
		case t[i].At.Before(at):
		case first == nil:
			first = &t[i]
		case t[i].Touched.CPU-first.Touched.CPU >= used:
			return t[i].At
		}
	}
	return at
}

// Used is the processor time the touched program had in a span.
func (t Track) Used(s Span) time.Duration {
	part := t.Within(s)
	if len(part) == 0 {
		return 0
	}
	return part[len(part)-1].Touched.CPU - part[0].Touched.CPU
}

// Without is what is left of a span when others are taken out of it.
func (s Span) Without(others []Span) []Span {
	left := []Span{s}
	for _, o := range others {
		var next []Span
		for _, one := range left {
			for _, piece := range []Span{{one.From, earlier(one.Until, o.From)}, {later(one.From, o.Until), one.Until}} {
				if piece.Length() > 0 {
					next = append(next, piece)
				}
			}
		}
		left = next
	}
	return left
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Union joins spans that touch one another.
func Union(spans []Span) []Span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return a.From.Compare(b.From) })
	var all []Span
	for _, s := range sorted {
		if last := len(all) - 1; last >= 0 && !s.From.After(all[last].Until) {
			all[last].Until = later(all[last].Until, s.Until)
			continue
		}
		all = append(all, s)
	}
	return all
}
