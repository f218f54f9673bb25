package liveprobes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A plan holds the spots of a set in the loaded classes.
type plan struct {
	*request
	positions *positions
	spots     map[string]*planned // by class.Name(descriptor)#key
	bridges   map[string]bool
	hooked    map[classfile.MethodRef]bool // methods that have a spot
	relied    map[classfile.MethodRef]bool // methods that conditions call
	probeSums map[string]*summary          // by name
	tagSums   map[string]*summary
	calls     map[classfile.MethodRef]int // methods that traced methods call, with the levels left
	levels    int                         // of the deepest trace
	insides   int                         // number of spots that belong to traces
	spared    map[string]bool             // classes that rules exclude, and whether they would have hooks otherwise
}

// A planned spot.
type planned struct {
	instrument.Spot
	method      universe.Method
	probe       *probeRequest     // nil for anchors, tags and spots that belong to traces
	tag         *tagRequest       // nil for others
	sequence    *pattern.Sequence // nil where the probe acts everywhere
	captures    []CaptureName
	depends     []condition.Depends
	conditional bool
	off         string // why it was switched off; "" while it is on
}

// hasContext reports whether there is a context that tasks could take to other threads.
func (p *plan) hasContext() bool {
	for _, s := range p.spots {
		if s.Kind != instrument.Watches || s.Flags&arena.Traced != 0 {
			return true
		}
	}
	return false
}

// anchors returns how many methods are elements of sequences.
func (p *plan) anchors() (n int) {
	for _, s := range p.spots {
		if s.Kind == instrument.Anchors {
			n++
		}
	}
	return n
}

func spotName(s *instrument.Spot) string {
	return s.Class + "." + s.Name + s.Descriptor + "#" + s.Key
}

// A summary collects the effect of a probe or a tag.
type summary struct {
	Applied
	missing  map[string]bool    // patterns that have matched no method so far
	taken    map[string]bool    // methods it acts in
	found    int                // methods that were named
	unfit    LeftOut            // the first of them in which it does not act
	spared   []LeftOut          // classes that rules exclude
	anchored map[string]bool    // patterns of sequences that match methods with hooks
	gaps     map[string]LeftOut // patterns of sequences that match in excluded classes, with the first such class
}

func newSummary(name string) *summary {
	return &summary{
		Applied: Applied{Name: name}, missing: make(map[string]bool), taken: make(map[string]bool), anchored: make(map[string]bool), gaps: make(map[string]LeftOut),
	}
}

func newPlan(r *request, p *positions) *plan {
	return &plan{
		request: r, positions: p, spots: make(map[string]*planned), bridges: make(map[string]bool),
		hooked: make(map[classfile.MethodRef]bool), relied: make(map[classfile.MethodRef]bool),
		probeSums: make(map[string]*summary), tagSums: make(map[string]*summary), calls: make(map[classfile.MethodRef]int),
		spared: make(map[string]bool),
	}
}

// anchorKey, insideKey and the key of a probe or tag distinguish the spots of a method.
// They are derived from the definition of the spot, so it has the same id in every run.
const (
	anchorKey = "anchor"
	insideKey = "inside"
)

func (p *probeRequest) key(s *pattern.Sequence) string {
	words := []string{"probe", p.Name}
	if s != nil {
		words = append(words, "within "+s.String())
	}
	if p.When != nil {
		words = append(words, "when "+p.When.Text())
	}
	if p.SlowerThan > 0 {
		words = append(words, fmt.Sprintf("slower %dns", p.SlowerThan.Nanoseconds()))
	}
	for _, value := range p.Captures {
		words = append(words, "capture "+value.Text())
	}
	if len(p.Allow) > 0 {
		words = append(words, "allow "+strings.Join(p.Allow, ","))
	}
	if len(p.GroupBy) > 0 {
		words = append(words, "by "+strings.Join(p.GroupBy, ","))
	}
	if p.Context > 0 {
		words = append(words, "context "+strconv.Itoa(p.Context))
	}
	return strings.Join(words, "|")
}

func (t *tagRequest) key() string { return "tag|" + t.Name + "|" + t.Value.Text() }

// setting returns the flags and the sampling period of a probe's hooks at a level.
func (p *probeRequest) setting(level probeset.Level, more arena.Flags) (arena.Flags, uint32) {
	flags := arena.On
	period := uint32(0)
	if p.exit != nil {
		flags |= arena.Late
	}
	if level >= probeset.Trace {
		flags |= arena.Flat | arena.Root | arena.Traced
		if level == probeset.Trace {
			flags |= arena.Here // capture no values
		}
		if p.Sample > 1 {
			flags, period = flags|arena.Sampled, p.Sample
		}
		return flags, period
	}
	flags |= arena.Flat
	if level == probeset.Time {
		flags |= more
		if p.Sample > 1 {
			flags, period = flags|arena.Sampled, p.Sample
		} else {
			flags |= arena.Timed
		}
	}
	return flags, period
}

// insideFlags are the flags of methods that belong to traces of other methods.
const insideFlags = arena.On | arena.Flat | arena.Inside | arena.Traced

// put adds a spot to the plan.
func (p *plan) put(s *planned) {
	p.spots[spotName(&s.Spot)] = s
	for _, d := range s.depends {
		for _, m := range d.Methods {
			p.relied[m] = true
		}
	}
}

// name describes a spot.
func (s *planned) name(id uint32) SpotName {
	n := SpotName{
		ID: id, Class: s.Class, Name: s.Name, Descriptor: s.Descriptor, Conditional: s.conditional, Captures: s.captures,
		Inside: s.Kind == instrument.Watches && s.probe == nil,
	}
	if s.probe != nil {
		n.Probe = s.probe.Name
	}
	if s.sequence != nil {
		n.Sequence = s.sequence.String()
	}
	return n
}

// report returns the effect of probes and tags, in the order of the set.
func (p *plan) report() (probes, tags []Applied) {
	for _, probe := range p.probes {
		probes = append(probes, p.probeSums[probe.Name].applied())
	}
	for _, tag := range p.tags {
		if !slices.ContainsFunc(tags, func(a Applied) bool { return a.Name == tag.Name }) {
			tags = append(tags, p.tagSums[tag.Name].applied())
		}
	}
	return probes, tags
}

func (s *summary) applied() Applied {
	a := s.Applied
	a.Unmatched = nil
	for text := range s.missing {
		a.Unmatched = append(a.Unmatched, text)
	}
	slices.Sort(a.Unmatched)
	slices.Sort(a.Methods)
	return a
}
