package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// ErrOtherPProf is what a pprof file of another program is refused with.
var ErrOtherPProf = errors.New("this pprof file is not of sonde: it has no sample types calls/count and self/nanoseconds")

// pprofNote is what a profile read from pprof says of itself.
const pprofNote = "read from a pprof file, which holds no errors: every difference looks sure"

// readPProf makes a tree of samples again. Errors, exceptions and all about the run
// but its length are not in a pprof file.
func readPProf(data []byte) (*cct.Profile, error) {
	from, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	calls, self := sampleIndex(from, "calls"), sampleIndex(from, "self")
	if calls < 0 || self < 0 {
		return nil, ErrOtherPProf
	}
	p := &cct.Profile{Took: time.Duration(from.DurationNanos), Merged: &cct.Node{Method: -1}, Notes: []string{pprofNote}}
	if from.TimeNanos != 0 {
		p.Began = time.Unix(0, from.TimeNanos).UTC()
	}
	if len(from.Mapping) > 0 {
		p.Target.Command = from.Mapping[0].File
	}
	methods := map[uint64]int{}
	for _, f := range from.Function { // also of methods that were not called
		methodOf(p, methods, f)
	}
	readComments(p, from.Comments)
	for _, s := range from.Sample {
		n := p.Merged
		for _, location := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(location.Line) {
				n = childOf(n, methodOf(p, methods, line.Function))
			}
		}
		n.Calls += uint64(max(0, s.Value[calls]))
		n.Self = n.Self.Plus(sure(float64(s.Value[self])))
		if n.Self.Nanos > 0 {
			n.Timed = n.Calls
		}
	}
	addUp(p.Merged)
	return p, nil
}

// readComments takes the timing, and which hooks were not on throughout, from the
// comments that writePProf writes.
func readComments(p *cct.Profile, comments []string) {
	for _, comment := range comments {
		for _, timing := range []cct.Timing{cct.Exact, cct.Sampled, cct.Auto} {
			if strings.HasPrefix(comment, string(timing)+": ") {
				p.Timing = timing
			}
		}
		rest, is := strings.CutPrefix(comment, pprofHook)
		if !is {
			continue
		}
		key, text, _ := strings.Cut(rest, ": ")
		at := slices.IndexFunc(p.Methods, func(m cct.Method) bool { return keyOf(m) == key })
		if at >= 0 {
			p.Quiet = append(p.Quiet, cct.Quiet{Method: at, On: readOn(text), Reason: text})
		}
	}
}

// readOn is how long a hook was on, as onText says it; 0 where it was off.
func readOn(text string) time.Duration {
	rest, _ := strings.CutPrefix(text, "on for ")
	on, _, _ := strings.Cut(rest, " of ")
	took, err := time.ParseDuration(strings.ReplaceAll(on, " ", ""))
	if err != nil {
		return 0
	}
	return took
}

func sampleIndex(p *profile.Profile, kind string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == kind })
}

// methodOf finds a function among the methods, or adds it.
func methodOf(p *cct.Profile, known map[uint64]int, f *profile.Function) int {
	index, seen := known[f.ID]
	if !seen {
		index = len(p.Methods)
		known[f.ID] = index
		p.Methods = append(p.Methods, parseMethod(f.SystemName))
	}
	return index
}

// parseMethod takes class.name(descriptor) apart.
func parseMethod(full string) cct.Method {
	head, tail, found := strings.Cut(full, "(")
	at := strings.LastIndexByte(head, '.')
	if at < 0 {
		return cct.Method{Name: full}
	}
	m := cct.Method{Class: head[:at], Name: head[at+1:]}
	if found {
		m.Descriptor = "(" + tail
	}
	return m
}

func childOf(n *cct.Node, method int) *cct.Node {
	for _, c := range n.Children {
		if c.Method == method {
			return c
		}
	}
	c := &cct.Node{Method: method}
	n.Children = append(n.Children, c)
	return c
}

// addUp fills in the totals.
func addUp(n *cct.Node) {
	n.Total = n.Self
	for _, c := range n.Children {
		addUp(c)
		n.Total = n.Total.Plus(c.Total)
	}
	slices.SortStableFunc(n.Children, func(a, b *cct.Node) int { return cmp.Compare(b.Total.Nanos, a.Total.Nanos) })
}

// sure is a time whose error is not known.
func sure(nanos float64) cct.Time { return cct.Time{Nanos: nanos, Low: nanos, High: nanos} }
