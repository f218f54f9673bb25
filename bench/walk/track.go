package main

import (
	"errors"
	"slices"
	"time"
)

// A progress is how far a program is.
type progress struct {
	done float64 // operations
	cpu  time.Duration
}

// A reading is both programs' progress at a moment.
type reading struct {
	at            time.Time
	touched, twin progress
}

// A track is all readings, in order.
type track []reading

// A span is a time from one moment to another.
type span struct{ from, until time.Time }

func (s span) length() time.Duration { return max(s.until.Sub(s.from), 0) }

// within are the readings in a span.
func (t track) within(s span) track {
	begin := slices.IndexFunc(t, func(r reading) bool { return !r.at.Before(s.from) })
	if begin < 0 {
		return nil
	}
	end := begin
	for end < len(t) && !t[end].at.After(s.until) {
		end++
	}
	return t[begin:end]
}

// window is how much processor time the pieces have in which speeds are compared.
const window = 2 * time.Second

// windows cuts what was read in a span into pieces.
func (t track) windows(s span) []track {
	var all []track
	rest := t.within(s)
	begin := 0
	for i := range rest {
		if rest[i].touched.cpu-rest[begin].touched.cpu >= window-every/2 {
			all = append(all, rest[begin:i+1])
			begin = i
		}
	}
	return all
}

var errIdle = errors.New("a program had no processor time: the machine is too busy")

// rate is what a program did for a second of its processor time.
func rate(from, until progress) (float64, error) {
	used := until.cpu - from.cpu
	if used <= 0 {
		return 0, errIdle
	}
	return (until.done - from.done) / used.Seconds(), nil
}

// share is what the touched program did of what its twin did, each for the same
// processor time.
func (t track) share() (float64, error) {
	first, last := t[0], t[len(t)-1]
	touched, err := rate(first.touched, last.touched)
	if err != nil {
		return 0, err
	}
	twin, err := rate(first.twin, last.twin)
	if err != nil {
		return 0, err
	}
	if twin == 0 {
		return 0, errIdle
	}
	return touched / twin, nil
}

// shares are those of all windows in spans.
func (t track) shares(spans ...span) (shares []float64) {
	for _, s := range spans {
		for _, w := range t.windows(s) {
			if share, err := w.share(); err == nil {
				shares = append(shares, share)
			}
		}
	}
	return shares
}

// lost is the processor time of the touched program in a span that brought nothing,
// if it should have done a share of what its twin did for the same.
func (t track) lost(s span, expected float64) time.Duration {
	part := t.within(s)
	if len(part) < 2 || expected <= 0 {
		return 0
	}
	first, last := part[0], part[len(part)-1]
	twin, err := rate(first.twin, last.twin)
	if err != nil || twin == 0 {
		return 0
	}
	used := last.touched.cpu - first.touched.cpu
	return used - time.Duration((last.touched.done-first.touched.done)/(twin*expected)*float64(time.Second))
}

// after is the moment at which the touched program has had so much processor time
// more than at another.
func (t track) after(at time.Time, used time.Duration) time.Time {
	var first *reading
	for i := range t {
		switch {
		case t[i].at.Before(at):
		case first == nil:
			first = &t[i]
		case t[i].touched.cpu-first.touched.cpu >= used:
			return t[i].at
		}
	}
	return at
}

// used is the processor time the touched program had in a span.
func (t track) used(s span) time.Duration {
	part := t.within(s)
	if len(part) == 0 {
		return 0
	}
	return part[len(part)-1].touched.cpu - part[0].touched.cpu
}

// without is what is left of a span when others are taken out of it.
func (s span) without(others []span) []span {
	left := []span{s}
	for _, o := range others {
		var next []span
		for _, one := range left {
			for _, piece := range []span{{one.from, earlier(one.until, o.from)}, {later(one.from, o.until), one.until}} {
				if piece.length() > 0 {
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

// union joins spans that touch one another.
func union(spans []span) []span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b span) int { return a.from.Compare(b.from) })
	var all []span
	for _, s := range sorted {
		if last := len(all) - 1; last >= 0 && !s.from.After(all[last].until) {
			all[last].until = later(all[last].until, s.until)
			continue
		}
		all = append(all, s)
	}
	return all
}
