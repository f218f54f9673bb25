package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
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
