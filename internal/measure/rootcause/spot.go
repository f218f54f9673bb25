package rootcause

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// A spot is a hot method, and the ways to it.
type spot struct {
	top     *way
	share   climb.Share
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
func (s *spot) cools(share climb.Share, samples int) bool {
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
func (t *tally) share(m method) climb.Share {
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
func shareOf(weight, whole, n float64) climb.Share {
	return climb.Share(hotspots.ShareOf(weight, whole, n))
}
