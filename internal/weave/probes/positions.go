package probes

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// mostPositions is the maximum number of elements in a thread's path.
const mostPositions = arena.MostPositions

// Positions maps the bits of a thread's path to elements of sequences. The elements of one
// sequence have consecutive bits. A sequence that is a prefix of another one shares its
// bits.
type Positions struct {
	runs []run
	ever uint32 // positions that have ever been used: threads may still have them in their paths
}

// A run is the consecutive positions of a sequence.
type run struct {
	first    int
	elements []pattern.Element
	texts    []string // the sequences that use it
}

// Next returns the positions of sequences, and whether the paths of threads must be reset
// because positions get another meaning. Sequences that have positions keep them, unless
// there is no space for the others then. The sequences have at most mostPositions elements,
// with those that others use: these must keep their positions, and next is nil where there is
// no space then.
func (p *Positions) Next(wanted, others []*pattern.Sequence) (next *Positions, reset bool) {
	next = &Positions{ever: p.ever}
	for _, r := range p.runs {
		r.texts = slices.Clone(r.texts)
		next.runs = append(next.runs, r)
	}
	if !next.place(wanted) {
		if len(others) > 0 {
			return nil, false
		}
		next = &Positions{}
		next.place(wanted)
		next.ever |= p.ever
		return next, true
	}
	return next, next.used()&^p.used()&p.ever != 0
}

// place assigns positions to sequences, and reports whether there was space for all.
func (p *Positions) place(wanted []*pattern.Sequence) bool {
	ordered := slices.Clone(wanted)
	slices.SortStableFunc(ordered, func(a, b *pattern.Sequence) int { return len(b.Elements) - len(a.Elements) })
	for _, s := range ordered {
		if p.find(s) >= 0 {
			continue
		}
		first := p.room(len(s.Elements))
		if first < 0 {
			return false
		}
		p.runs = append(p.runs, run{first: first, elements: s.Elements})
		p.ever |= bits(first, len(s.Elements))
	}
	for _, s := range wanted {
		r := p.of(s)
		if text := s.String(); !slices.Contains(r.texts, text) {
			r.texts = append(r.texts, text)
		}
	}
	return true
}

// Only returns the positions of some of the sequences.
func (p *Positions) Only(wanted []*pattern.Sequence) *Positions {
	only := &Positions{ever: p.ever}
	for _, r := range p.runs {
		r.texts = slices.Clone(r.texts)
		only.runs = append(only.runs, r)
	}
	only.Keep(wanted)
	return only
}

// Keep removes all sequences but these, and the elements that none of these has.
func (p *Positions) Keep(wanted []*pattern.Sequence) {
	length := make(map[string]int)
	for _, s := range wanted {
		length[s.String()] = len(s.Elements)
	}
	isUnused := func(text string) bool { return length[text] == 0 }
	var kept []run
	for _, r := range p.runs {
		r.texts = slices.DeleteFunc(r.texts, isUnused)
		longest := 0
		for _, text := range r.texts {
			longest = max(longest, length[text])
		}
		if r.elements = r.elements[:longest]; longest > 0 {
			kept = append(kept, r)
		}
	}
	p.runs = kept
}

// of returns the run of a sequence that has positions.
func (p *Positions) of(s *pattern.Sequence) *run { return &p.runs[p.find(s)] }

// find returns the index of the run that begins with a sequence, or -1.
func (p *Positions) find(s *pattern.Sequence) int {
	return slices.IndexFunc(p.runs, func(r run) bool {
		if len(r.elements) < len(s.Elements) {
			return false
		}
		for i, e := range s.Elements {
			if own := r.elements[i]; own.Pattern.String() != e.Pattern.String() || i > 0 && own.Link != e.Link {
				return false
			}
		}
		return true
	})
}

// room returns the first of count consecutive free positions, or -1. It prefers positions
// that have never been used.
func (p *Positions) room(count int) int {
	taken := p.used()
	for _, avoided := range []uint32{taken | p.ever, taken} {
		for first := 0; first+count <= mostPositions; first++ {
			if avoided&bits(first, count) == 0 {
				return first
			}
		}
	}
	return -1
}

func bits(first, count int) uint32 { return (1<<count - 1) << first }

// last returns the bit of a sequence's last element.
func (p *Positions) last(s *pattern.Sequence) uint32 {
	return 1 << (p.of(s).first + len(s.Elements) - 1)
}

// masks are the positions that a method matches, by the link that leads to them.
type masks struct{ first, below, direct uint32 }

func (m masks) none() bool { return m == masks{} }

func (p *Positions) match(method classfile.MethodRef) (m masks) {
	for _, r := range p.runs {
		for i, e := range r.elements {
			if !e.Pattern.Match(method) {
				continue
			}
			switch bit := uint32(1) << (r.first + i); {
			case i == 0:
				m.first |= bit
			case e.Link == pattern.Directly:
				m.direct |= bit
			default:
				m.below |= bit
			}
		}
	}
	return m
}

// learners returns the patterns of elements that depend on what classes contain.
func (p *Positions) learners() (all []*pattern.Pattern) {
	for _, r := range p.runs {
		for _, e := range r.elements {
			if e.Pattern.Learns() {
				all = append(all, e.Pattern)
			}
		}
	}
	return all
}

func (p *Positions) used() (all uint32) {
	for _, r := range p.runs {
		all |= bits(r.first, len(r.elements))
	}
	return all
}
