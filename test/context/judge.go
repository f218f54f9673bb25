package context

import (
	"fmt"
	"slices"
	"strings"
)

// row names what is counted apart: a probe, one of its sequences, a method, and the
// values of the tags that the probe groups by.
type row struct {
	probe, sequence string
	method          string // app.C3.s30
	// label has a line for each tag: tier=gold, "tier" of a null, none of one that is not
	// set. Or it has a line for each caller, innermost first, up to what is not the
	// program's.
	label string
}

func (r row) String() string {
	return fmt.Sprintf("%s within %q of %s [%s]", r.probe, r.sequence, r.method, strings.ReplaceAll(r.label, "\n", " "))
}

// judgement is what the reference says of a program's run.
type judgement struct {
	calls  int // of probed methods
	asked  int // questions: a call of a probed method, and a sequence
	held   int // of those, such as have the answer yes
	counts map[row]uint64
	first  map[row]string // the stack of the first call of each
}

// spotted is a probe with one of its sequences, as it meets one method.
type spotted struct {
	row
	probe    *wishedProbe
	sequence []element
}

// judge replays logs and counts what a wish asks for.
func (w *wish) judge(p *program, threads []*thread) (*judgement, error) {
	j := &judgement{counts: make(map[row]uint64), first: make(map[row]string)}
	spots := w.spots(p)
	in := &interpreter{methods: p.methods, tags: w.tagPoints(p)}
	in.judge = func(c call) {
		if len(spots[c.method.number]) > 0 {
			j.calls++
		}
		for _, s := range spots[c.method.number] {
			j.ask(w, s, c)
		}
	}
	return j, in.replay(threads)
}

func (j *judgement) ask(w *wish, s spotted, c call) {
	j.asked++
	sees := func(tag int) *string {
		value, _ := seen(tag, c.frame)
		return value
	}
	if !holds(s.sequence, c.frame) || s.probe.when != nil && !s.probe.when.true(c.facts, sees) {
		return
	}
	j.held++
	r := s.row
	r.label = w.label(s.probe, c.frame)
	j.counts[r]++
	if j.counts[r] == 1 {
		j.first[r] = fmt.Sprintf("call %d: %s", c.number, trail(c.frame))
	}
}

// label is the values of the tags a probe groups by, or the callers.
func (w *wish) label(p *wishedProbe, call *frame) string {
	var lines []string
	for f := call.outer; f != nil && f.method != nil && len(lines) < p.context; f = f.outer {
		lines = append(lines, f.method.String())
	}
	for _, tag := range p.groups {
		switch value, set := seen(tag, call); {
		case value != nil:
			lines = append(lines, w.tags[tag].name+"="+*value)
		case set:
			lines = append(lines, w.tags[tag].name)
		}
	}
	return strings.Join(lines, "\n")
}

// spots are those of each method, by its number.
func (w *wish) spots(p *program) [][]spotted {
	all := make([][]spotted, len(p.methods))
	for i := range w.probes {
		probe := &w.probes[i]
		for _, m := range p.methods {
			if !slices.ContainsFunc(probe.methods, func(p pattern) bool { return p.matches(m) }) {
				continue
			}
			sequences := probe.within
			if len(sequences) == 0 {
				sequences = [][]element{nil}
			}
			for _, sequence := range sequences {
				r := row{probe: probe.name, sequence: sequenceText(sequence), method: m.String()}
				all[m.number] = append(all[m.number], spotted{r, probe, sequence})
			}
		}
	}
	return all
}

// tagPoints are those of each method, by its number.
func (w *wish) tagPoints(p *program) [][]tagPoint {
	all := make([][]tagPoint, len(p.methods))
	for number, tag := range w.tags {
		for _, m := range p.methods {
			if w.isTagged(tag, m) {
				all[m.number] = append(all[m.number], tagPoint{number, tag.value})
			}
		}
	}
	return all
}

// isTagged reports whether a method sets a tag. The number of each call is set by
// every method that is probed.
func (w *wish) isTagged(tag wishedTag, m *method) bool {
	if tag.name != callTag {
		return tag.at.matches(m)
	}
	return slices.ContainsFunc(w.probes, func(probe wishedProbe) bool {
		return slices.ContainsFunc(probe.methods, func(p pattern) bool { return p.matches(m) })
	})
}
