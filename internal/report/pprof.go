package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
)

// What a sample's values are.
const (
	pprofCalls = iota
	pprofSelf
)

// pprofHook begins the comment of a hook that was not on for the whole window; the
// method follows as class files have it, then a colon.
const pprofHook = "hook of "

// writePProf writes a sample for each calling context of each thread. Contexts
// without a time of their own are there too: their calls count.
func writePProf(w io.Writer, p *cct.Profile) error {
	b := &pprofBuilder{names: names(p.Methods), profile: &profile.Profile{
		SampleType:        []*profile.ValueType{pprofCalls: {Type: "calls", Unit: "count"}, pprofSelf: {Type: "self", Unit: "nanoseconds"}},
		DefaultSampleType: "self",
		DurationNanos:     int64(p.Took),
		Comments:          append([]string{title(p.Target), "from " + strings.Join(p.Roots, ", ") + " down", timingText(p)}, p.Notes...),
	}}
	partly := p.Partly()
	for _, q := range p.Quiet {
		if on, is := partly[q.Method]; is {
			b.profile.Comments = append(b.profile.Comments, fmt.Sprintf("%s%s: %s", pprofHook, keyOf(p.Methods[q.Method]), onText(on, p.Took)))
		}
	}
	if !p.Began.IsZero() {
		b.profile.TimeNanos = p.Began.UnixNano()
	}
	// With functions in its mapping, a profile is not looked up in binaries.
	mapping := &profile.Mapping{ID: 1, File: p.Target.Command, HasFunctions: true}
	b.profile.Mapping = []*profile.Mapping{mapping}
	for i, m := range p.Methods {
		b.addMethod(uint64(i)+1, m, mapping)
	}
	for _, t := range p.Threads {
		b.label = map[string][]string{"thread": {threadName(t)}}
		b.add(t.Top, nil)
	}
	if len(p.Threads) == 0 {
		b.add(p.Merged, nil)
	}
	if err := b.profile.CheckValid(); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return b.profile.Write(w)
}

type pprofBuilder struct {
	profile *profile.Profile
	names   []string
	label   map[string][]string
}

// addMethod adds a function and the one location it has. The system name is the
// method as class files have it, and is what reading back takes.
func (b *pprofBuilder) addMethod(id uint64, m cct.Method, mapping *profile.Mapping) {
	function := &profile.Function{ID: id, Name: b.names[id-1], SystemName: keyOf(m), Filename: m.Class}
	b.profile.Function = append(b.profile.Function, function)
	b.profile.Location = append(b.profile.Location, &profile.Location{
		ID: id, Mapping: mapping, Address: id, Line: []profile.Line{{Function: function}},
	})
}

// add adds what is below a node. path is the calls that lead to it, the outermost
// first; samples have them the other way round.
func (b *pprofBuilder) add(n *cct.Node, path []*profile.Location) {
	for _, c := range n.Children {
		here := append(path, b.profile.Location[c.Method]) // each callee takes the place of the one before
		stack := make([]*profile.Location, len(here))
		for i, l := range here {
			stack[len(here)-1-i] = l
		}
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{
			Location: stack, Label: b.label,
			Value: []int64{pprofCalls: int64(c.Calls), pprofSelf: int64(math.Round(c.Self.Nanos))},
		})
		b.add(c, here)
	}
}

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

// writeClimbPProf writes a sample for each way up from each hot spot, which is the
// innermost. Hits are samples of the program, divided by what is known of the ways;
// time is the part of the sampled time that they stand for.
func writeClimbPProf(w io.Writer, c *rootcause.Climb) error {
	b := &pprofBuilder{names: climbNames(c), profile: &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "hits", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		DurationNanos:     int64(c.Took),
		Comments:          []string{title(cct.Target(c.Target)), "the ways up from hot spots"},
	}}
	if !c.Began.IsZero() {
		b.profile.TimeNanos = c.Began.UnixNano()
	}
	mapping := &profile.Mapping{ID: 1, File: c.Target.Command, HasFunctions: true}
	b.profile.Mapping = []*profile.Mapping{mapping}
	for i, m := range c.Methods {
		b.addMethod(uint64(i)+1, cct.Method(m), mapping)
	}
	for i := range c.Spots {
		b.addSpot(c, &c.Spots[i])
	}
	if err := b.profile.CheckValid(); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return b.profile.Write(w)
}

func (b *pprofBuilder) addSpot(c *rootcause.Climb, s *rootcause.Spot) {
	label := map[string][]string{"hot spot": {b.names[s.Method]}}
	for _, way := range ascent.WaysOf(s) {
		part := s.Share.Part * way.Part
		hits := int64(math.Round(part * float64(c.Sampled.Samples)))
		nanos := int64(math.Round(part * float64(c.Sampled.Over)))
		if hits == 0 && nanos == 0 {
			continue
		}
		stack := make([]*profile.Location, len(way.Methods))
		for i, method := range way.Methods {
			stack[i] = b.profile.Location[method]
		}
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: stack, Label: label, Value: []int64{hits, nanos}})
	}
}

// writeCollapsed writes a line for each calling context that has a time of its own:
// the calls that lead to it, and nanoseconds.
func writeCollapsed(w io.Writer, p *cct.Profile) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	frames := names(p.Methods)
	for i := range frames {
		frames[i] = strings.ReplaceAll(frames[i], ";", ":") // it parts frames
	}
	var walk func(n *cct.Node, path string)
	walk = func(n *cct.Node, path string) {
		for _, c := range n.Children {
			here := frames[c.Method]
			if path != "" {
				here = path + ";" + here
			}
			if nanos := math.Round(c.Self.Nanos); nanos > 0 {
				_, _ = fmt.Fprintf(out, "%s %.0f\n", here, nanos)
			}
			walk(c, here)
		}
	}
	walk(p.Merged, "")
	return out.Flush()
}
