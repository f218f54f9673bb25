// Package pprof writes profiles, hot spots and root-cause searches in the pprof format, and reads
// profiles back.
package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/classfile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/callers"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// The values of a sample in a profile.
const (
	callsValue = iota
	selfValue
)

// timeLabel says that the self time of a sample is not that of hooks alone.
const (
	timeLabel      = "time"
	bySamples      = "by sampled stacks"
	splitBySamples = "measured with callees, and divided by sampled stacks"
)

// hookComment begins a comment on a hook that was not on for the whole window. The method
// as in class files follows, then a colon.
const hookComment = "hook of "

// WriteProfile writes what OfProfile returns.
func WriteProfile(w io.Writer, p *cct.Profile) error { return write(w, OfProfile(p)) }

// OfProfile returns a sample for each calling context of each thread. Contexts without
// self time are included for their calls.
func OfProfile(p *cct.Profile) *profile.Profile {
	b := newBuilder(p.Target, p.Methods, p.Began, p.Took)
	b.profile.SampleType = []*profile.ValueType{callsValue: {Type: "calls", Unit: "count"}, selfValue: {Type: "self", Unit: "nanoseconds"}}
	b.profile.DefaultSampleType = "self"
	b.comment("calls below "+strings.Join(p.Roots, ", "), text.Timing(p))
	b.comment(p.Notes...)
	partly := p.Partly()
	for _, q := range p.Quiet {
		if on, is := partly[q.Method]; is {
			b.comment(fmt.Sprintf("%s%s: %s", hookComment, p.Methods[q.Method].Key(), text.On(on, p.Took)))
		}
	}
	values := func(n *cct.Node) []lineValue {
		return []lineValue{{value: []int64{callsValue: int64(n.Calls), selfValue: nanosOf(n.Self.Nanos)}}}
	}
	for _, t := range p.Threads {
		own := &cct.Node{Children: slices.DeleteFunc(slices.Clone(t.Top.Children), func(c *cct.Node) bool { return c.Handed })}
		b.add(own, nil, map[string][]string{"thread": {t.String()}}, values)
	}
	if len(p.Threads) == 0 {
		b.add(p.Merged, nil, nil, values)
	} else {
		b.addHanded(p.Merged, nil, values)
	}
	return b.profile
}

// WriteHot writes what OfHot returns.
func WriteHot(w io.Writer, r *hotspots.Result) error { return write(w, OfHot(r)) }

// OfHot returns a sample for each calling context in which a thread was sampled, and for each line of the
// innermost method.
func OfHot(r *hotspots.Result) *profile.Profile {
	tree := r.Tree(r.Wall)
	kind := "cpu"
	if r.Wall {
		kind = "wall"
	}
	b := newBuilder(r.Target, tree.Methods, r.From, r.To.Sub(r.From))
	b.profile.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: kind, Unit: "nanoseconds"}}
	b.profile.DefaultSampleType = kind
	b.profile.PeriodType, b.profile.Period = b.profile.SampleType[1], int64(r.Unit)
	b.comment(text.HotHead(r, 0)...)
	b.comment(r.Notes...)
	b.add(tree.Top, nil, nil, func(n *cct.Node) (values []lineValue) {
		for _, l := range n.Lines {
			values = append(values, lineValue{l.Line, []int64{int64(l.Samples), nanosOf(l.Nanos)}})
		}
		if len(values) == 0 && n.Self.Nanos > 0 {
			return []lineValue{{value: []int64{int64(n.Timed), nanosOf(n.Self.Nanos)}}}
		}
		return values
	})
	return b.profile
}

// WriteRootCause writes a sample for each call path up from each hot spot, which is the
// innermost frame. Hits are samples of the program, divided by the shares of the paths;
// time is the part of the sampled time that they stand for.
func WriteRootCause(w io.Writer, c *rootcause.Climb) error {
	b := newBuilder(c.Target, c.Methods, c.Began, cmp.Or(c.Sampled.Over, c.Took)) // values are of the sampled time
	b.profile.SampleType = []*profile.ValueType{{Type: "hits", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}
	b.profile.DefaultSampleType = "time"
	b.comment("call paths to hot spots")
	for i := range c.Spots {
		b.addSpot(c, &c.Spots[i])
	}
	return write(w, b.profile)
}

// A lineValue is the value of a sample whose innermost method was at a line; 0 if that is not known.
type lineValue struct {
	line  int
	value []int64
}

func nanosOf(nanos float64) int64 { return int64(math.Round(nanos)) }

type builder struct {
	profile *profile.Profile
	names   []string
	lines   map[methodLine]*profile.Location
	handed  *profile.Location // stands between a call and the work that it handed over; nil if there is none yet
}

type methodLine struct{ method, line int }

// newBuilder begins a profile with a function and a location for each method. The system
// name is the method as in class files, by which Read identifies it.
func newBuilder(target cct.Target, methods []cct.Method, began time.Time, took time.Duration) *builder {
	// With functions in its mapping, a profile is not looked up in binaries.
	mapping := &profile.Mapping{ID: 1, File: target.Command, HasFunctions: true}
	p := &profile.Profile{DurationNanos: int64(took), Comments: []string{target.String()}, Mapping: []*profile.Mapping{mapping}}
	if !began.IsZero() {
		p.TimeNanos = began.UnixNano()
	}
	names := cct.Names(methods)
	for i, m := range methods {
		id := uint64(i) + 1
		function := &profile.Function{ID: id, Name: names[i], SystemName: m.Key(), Filename: sourceFile(m.Class)}
		p.Function = append(p.Function, function)
		p.Location = append(p.Location, &profile.Location{ID: id, Mapping: mapping, Address: id, Line: []profile.Line{{Function: function}}})
	}
	return &builder{profile: p, names: names, lines: map[methodLine]*profile.Location{}}
}

// sourceFile returns the usual source file of a class, so that pprof can show its lines: that of the outermost class.
func sourceFile(class string) string {
	outer, _, _ := strings.Cut(class, "$")
	if outer == "" {
		return class
	}
	return outer + ".java"
}

func (b *builder) locationOf(method, line int) *profile.Location {
	if line <= 0 {
		return b.profile.Location[method]
	}
	at := methodLine{method, line}
	if b.lines[at] == nil {
		b.lines[at] = b.newLocation(profile.Line{Function: b.profile.Function[method], Line: int64(line)})
	}
	return b.lines[at]
}

func (b *builder) newLocation(line profile.Line) *profile.Location {
	id := uint64(len(b.profile.Location)) + 1
	made := &profile.Location{ID: id, Mapping: b.profile.Mapping[0], Address: id, Line: []profile.Line{line}}
	b.profile.Location = append(b.profile.Location, made)
	return made
}

func (b *builder) comment(texts ...string) { b.profile.Comments = append(b.profile.Comments, texts...) }

func write(w io.Writer, p *profile.Profile) error {
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return p.Write(w)
}

// add adds the nodes below a node that have values. path is the calls that lead to it, the outermost
// first; samples have the innermost first.
func (b *builder) add(n *cct.Node, path []*profile.Location, label map[string][]string, values func(*cct.Node) []lineValue) {
	for _, c := range n.Children {
		here := append(b.pathTo(c, path), b.profile.Location[c.Method]) // overwrites the previous child
		for _, at := range values(c) {
			stack := slices.Clone(here)
			slices.Reverse(stack)
			stack[0] = b.locationOf(c.Method, at.line)
			label := label
			if c.Sampled || c.Split {
				label = maps.Clone(label)
				if label == nil {
					label = map[string][]string{}
				}
				label[timeLabel] = []string{bySamples}
				if c.Split {
					label[timeLabel] = []string{splitBySamples}
				}
			}
			b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: stack, Label: label, Value: at.value})
		}
		b.add(c, here, label, values)
	}
}

// addHanded adds the work below a node that was handed to other threads.
func (b *builder) addHanded(n *cct.Node, path []*profile.Location, values func(*cct.Node) []lineValue) {
	for _, c := range n.Children {
		if c.Handed {
			b.add(&cct.Node{Children: []*cct.Node{c}}, path, nil, values)
		} else {
			b.addHanded(c, append(path, b.profile.Location[c.Method]), values)
		}
	}
}

// pathTo returns the path to a node: to work that was handed over it has one location more than to a callee.
func (b *builder) pathTo(n *cct.Node, path []*profile.Location) []*profile.Location {
	if !n.Handed {
		return path
	}
	if b.handed == nil {
		function := &profile.Function{ID: uint64(len(b.profile.Function)) + 1, Name: text.HandedFrame, SystemName: text.HandedFrame}
		b.profile.Function = append(b.profile.Function, function)
		b.handed = b.newLocation(profile.Line{Function: function})
	}
	return append(path, b.handed)
}

func (b *builder) addSpot(c *rootcause.Climb, s *rootcause.Spot) {
	label := map[string][]string{"hot spot": {b.names[s.Method]}}
	for _, path := range callers.Paths(s) {
		part := s.Share.Part * path.Part
		hits := int64(math.Round(part * float64(c.Sampled.Samples)))
		nanos := int64(math.Round(part * float64(c.Sampled.Over)))
		if hits == 0 && nanos == 0 {
			continue
		}
		stack := make([]*profile.Location, len(path.Methods))
		for i, method := range path.Methods {
			stack[i] = b.profile.Location[method]
		}
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: stack, Label: label, Value: []int64{hits, nanos}})
	}
}

// ErrOther is the error for a pprof file that Sonde did not write.
var ErrOther = errors.New("this pprof file was not written by sonde profile: it has no sample types calls/count and self/nanoseconds")

// Read makes a profile of the samples that WriteProfile wrote. A pprof file holds no errors,
// no exceptions, and nothing about the run but its length.
func Read(data []byte) (*cct.Profile, error) {
	from, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	calls, self := sampleIndex(from, "calls"), sampleIndex(from, "self")
	if calls < 0 || self < 0 {
		return nil, ErrOther
	}
	p := &cct.Profile{Took: time.Duration(from.DurationNanos), Merged: &cct.Node{Method: -1}, Notes: []string{diff.NoErrors}}
	if from.TimeNanos != 0 {
		p.Began = time.Unix(0, from.TimeNanos).UTC()
	}
	if len(from.Mapping) > 0 {
		p.Target.Command = from.Mapping[0].File
	}
	methods := map[uint64]int{}
	for _, f := range from.Function { // including methods that were not called
		if f.SystemName != text.HandedFrame {
			methodOf(p, methods, f)
		}
	}
	readComments(p, from.Comments)
	for _, s := range from.Sample {
		n, handed, depth := p.Merged, false, 0
		for _, location := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(location.Line) {
				if line.Function.SystemName == text.HandedFrame {
					handed = true
					continue
				}
				if depth++; depth > cct.MostDepth {
					return nil, fmt.Errorf("pprof: a stack has more than %d calls", cct.MostDepth)
				}
				n, handed = childOf(n, methodOf(p, methods, line.Function), handed), false
			}
		}
		if times := s.Label[timeLabel]; len(times) > 0 {
			n.Sampled, n.Split = n.Sampled || times[0] == bySamples, n.Split || times[0] == splitBySamples
		}
		n.Calls += uint64(max(0, s.Value[calls]))
		n.Self = n.Self.Plus(cct.Exactly(float64(s.Value[self])))
		if n.Self.Nanos > 0 {
			n.Timed = n.Calls
		}
	}
	addUp(p.Merged)
	return p, nil
}

// readComments reads from comments which calls were timed, and which hooks were not on for
// the whole window.
func readComments(p *cct.Profile, comments []string) {
	for _, comment := range comments {
		for _, timing := range []cct.Timing{cct.Exact, cct.Sampled, cct.Auto, cct.Stacks} {
			if strings.HasPrefix(comment, string(timing)+": ") {
				p.Timing = timing
			}
		}
		rest, is := strings.CutPrefix(comment, hookComment)
		if !is {
			continue
		}
		key, text, _ := strings.Cut(rest, ": ")
		at := slices.IndexFunc(p.Methods, func(m cct.Method) bool { return m.Key() == key })
		if at >= 0 {
			p.Quiet = append(p.Quiet, cct.Quiet{Method: at, On: readOn(text), Reason: text})
		}
	}
}

// readOn returns how long a hook was on from what text.On wrote; 0 if it was off.
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

// methodOf returns the index of the method of a function, adding the method if needed.
func methodOf(p *cct.Profile, known map[uint64]int, f *profile.Function) int {
	index, seen := known[f.ID]
	if !seen {
		index = len(p.Methods)
		known[f.ID] = index
		p.Methods = append(p.Methods, parseMethod(f.SystemName))
	}
	return index
}

// parseMethod is the inverse of cct.Method.Key.
func parseMethod(full string) cct.Method {
	if m, ok := classfile.ParseMethodRef(full); ok {
		return cct.Method{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}
	}
	at := strings.LastIndexByte(full, '.')
	return cct.Method{Class: full[:max(at, 0)], Name: full[at+1:]}
}

func childOf(n *cct.Node, method int, handed bool) *cct.Node {
	for _, c := range n.Children {
		if c.Method == method && c.Handed == handed {
			return c
		}
	}
	c := &cct.Node{Method: method, Handed: handed}
	n.Children = append(n.Children, c)
	return c
}

// addUp sets the totals, and sorts children by them.
func addUp(n *cct.Node) {
	n.Total = n.Self
	for _, c := range n.Children {
		addUp(c)
		if !c.Handed {
			n.Total = n.Total.Plus(c.Total)
		}
	}
	slices.SortStableFunc(n.Children, func(a, b *cct.Node) int { return cmp.Compare(b.Total.Nanos, a.Total.Nanos) })
}
