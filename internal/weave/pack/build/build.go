// Package loom weaves what a set of probes wants into the classes of archives, without a
// JVM: for packs, and to say beforehand what would become of each class.
//
// Nobody knows yet which classes a program will load, nor by which loaders. So conditions
// call nothing that another class could override, and read nothing of which there are
// several; and a class is woven in each form in which an archive has it. The archives are
// only read.
package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Settings are what a plan is made with.
type Settings struct {
	Image    string                // lib/modules of a JDK, whose classes conditions may read; may be empty
	Cache    *cache.Cache          // where woven classes are kept; nil keeps none
	Probes   []byte                // the file the set was read from: packs keep it
	Notice   func(string)          // is told what a user should read meanwhile; may be nil
	Progress func(done, all int64) // is told how many classes are done; may be nil
}

// A Planned is what a set would do to the classes of archives.
type Planned struct {
	Classes []Fate           // those that the set concerns, by name
	Probes  []probes.Applied // in the order of the set
	Tags    []probes.Applied
	// Unmatched are patterns that name no method of the archives.
	Unmatched []Unmatched
	Broken    []pack.Left         // classes that may be concerned and cannot be read
	Notes     []string            // what a pack does not do of what the set asks for
	Read      int                 // how many classes there are
	Woven     instrument.Weavings // where the woven ones came from

	set     *probeset.Set
	request *probes.Request
	paths   []string
	probes  []byte
	weaver  *instrument.FileWeaver
	draft   *probes.Draft
}

// A Fate is what becomes of a class, and why.
type Fate struct {
	Class string        // internal name
	In    string        // archive!/entry; empty for a class of the JDK
	When  probeset.When // Static: it is packed. Unstated: nothing of it can be woven
	Why   string
	// Methods is how many have hooks, or would have where the class is not packed.
	Methods int
	Left    []pack.Left // methods that are named and have none

	original []byte
	entry    *cache.Entry // nil where it is not packed
}

// IsJDK reports whether it is a class of the JDK.
func (f *Fate) IsJDK() bool { return f.In == "" }

// IsPacked reports whether a pack holds it.
func (f *Fate) IsPacked() bool { return f.entry != nil }

// Plan finds out what a set would do to the classes of jars, wars, directories and class
// files, and weaves those that a pack would hold.
func Plan(ctx context.Context, paths []string, set *probeset.Set, s Settings) (*Planned, error) {
	lowered := timed(set)
	request, err := probes.NewRequest(lowered, nil)
	if err != nil {
		return nil, err
	}
	in, err := readInputs(ctx, paths, request)
	if err != nil {
		return nil, err
	}
	weaver, err := instrument.NewFileWeaver(instrument.Settings{Cache: s.Cache, Notice: s.Notice})
	if err != nil {
		return nil, err
	}
	classes := make([]universe.Loaded, len(in.classes))
	for i, c := range in.classes {
		classes[i] = universe.Loaded{Name: c.name, Loader: c.loader, File: c.file, Reason: obstacle(c.name, set)}
	}
	draft, err := probes.NewDraft(probes.DraftRequest{
		Set: lowered, Classes: classes, Image: s.Image, Flags: arena.Spreads, Weaver: weaver,
	})
	if err != nil {
		return nil, err
	}
	p := &Planned{
		Probes: draft.Probes, Tags: draft.Tags, Broken: in.broken, Notes: append(unheeded(set, draft), draft.Warnings...), Read: in.read,
		set: set, request: request, paths: paths, probes: s.Probes, weaver: weaver, draft: draft,
	}
	if err := p.weave(ctx, in.classes, classes, set, s.Progress); err != nil {
		return nil, err
	}
	p.addNamed(in.classes, set)
	p.addUnmatched(set)
	p.Woven = weaver.Weavings()
	slices.SortStableFunc(p.Classes, func(a, b Fate) int { return strings.Compare(a.Class, b.Class) })
	return p, nil
}

// obstacle is why a class gets no hooks beforehand; "" where it does.
func obstacle(class string, set *probeset.Set) string {
	when, rule := set.When(class)
	switch {
	case strings.HasPrefix(class, "java/"):
		return "only the JDK can have classes of java.*"
	case when == probeset.Unstated || when == probeset.Static:
		return ""
	}
	return rule
}

// Refusal is why no pack can be made of it; nil where one can.
func (p *Planned) Refusal() error {
	if err := levelError(p.set); err != nil {
		return err
	}
	if !slices.ContainsFunc(p.Classes, func(f Fate) bool { return f.entry != nil }) {
		return ErrEmpty
	}
	return nil
}

// Content is what a pack of it holds. The same archives and the same set give the same
// content.
func (p *Planned) Content() (*pack.Content, error) {
	if err := p.Refusal(); err != nil {
		return nil, err
	}
	watches, err := p.weaver.Table()
	if err != nil {
		return nil, err
	}
	c := &pack.Content{
		Build: agent.AgentBuild(), Engine: cache.Engine(), Title: p.title(), Probes: p.probes, Watches: watches, Names: p.names(), Left: p.left(),
	}
	for i := range p.Classes {
		if f := &p.Classes[i]; f.entry != nil {
			c.Classes = append(c.Classes, pack.Class{Entry: f.entry, Original: f.original})
		}
	}
	return c, nil
}

// mostTitle bounds how many inputs are named.
const mostTitle = 5

// title names what was packed.
func (p *Planned) title() string {
	var names []string
	for i, path := range p.paths {
		if i == mostTitle {
			names = append(names, "…")
			break
		}
		names = append(names, filepath.Base(path))
	}
	return strings.Join(names, ", ")
}

// names are what spots that watch are about; anchors and tag points have no results.
func (p *Planned) names() (all []pack.Name) {
	for _, s := range p.weaver.Woven() {
		name, groups, is := p.draft.Spot(s.ID)
		if s.Kind != instrument.Watches || !is {
			continue
		}
		all = append(all, pack.Name{
			ID: s.ID, Class: s.Class, Method: s.Name, Descriptor: s.Descriptor, Probe: name.Probe, Sequence: name.Sequence, Groups: groups,
		})
	}
	return all
}

// left is all that the set names and that has no hook. Classes of the JDK never have one.
func (p *Planned) left() (all []pack.Left) {
	for i := range p.Classes {
		f := &p.Classes[i]
		if f.When != probeset.Static && f.When != probeset.Unstated && !f.IsJDK() {
			all = append(all, pack.Left{Class: f.Class, Reason: f.Why})
		}
		all = append(all, f.Left...)
	}
	all = append(all, p.Broken...)
	slices.SortFunc(all, compareLeft)
	return slices.Compact(all) // classes of one name may share them
}

// ErrEmpty says that there is nothing to pack.
var ErrEmpty = errors.New("nothing to pack: no method of these classes gets a hook; sonde plan tells why")

// A LevelError says that probes do more than a pack can.
type LevelError struct {
	Probe string
	Level probeset.Level
	More  int // probes of which the same is true
}

func (e *LevelError) Error() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" (and %d more)", e.More)
	}
	return fmt.Sprintf("probe %s%s: level %v needs a Sonde that reads while the program runs, and a pack goes without: write level: time", e.Probe, more, e.Level)
}

// An ImageError says that an input is a JDK.
type ImageError struct{ Path string }

func (e *ImageError) Error() string {
	return e.Path + ": is a JDK's run-time image, whose classes are loaded before a pack could weave them: sonde apply does that in a running program"
}

// levelError is that of a set; nil where no probe asks for too much.
func levelError(set *probeset.Set) error {
	var first *LevelError
	for i := range set.Probes {
		switch p := &set.Probes[i]; {
		case p.Level <= probeset.Time:
		case first == nil:
			first = &LevelError{Probe: p.Name, Level: p.Level}
		default:
			first.More++
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// timed is a set whose probes do no more than a pack can.
func timed(set *probeset.Set) *probeset.Set {
	lowered := *set
	lowered.Probes = make([]probeset.Probe, len(set.Probes))
	for i, p := range set.Probes {
		p.Level = min(p.Level, probeset.Time)
		lowered.Probes[i] = p
	}
	return &lowered
}

// toldApart are the probes that have results by tags, or by callers.
func toldApart(set *probeset.Set) (names []string) {
	for i := range set.Probes {
		if p := &set.Probes[i]; p.Context > 0 || len(p.GroupBy) > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// unheeded are remarks on what a pack does not do of what a set asks for.
func unheeded(set *probeset.Set, draft *probes.Draft) (notes []string) {
	var ending []string
	for i := range set.Probes {
		if p := &set.Probes[i]; p.For > 0 || p.Calls > 0 {
			ending = append(ending, p.Name)
		}
	}
	if len(ending) > 0 {
		notes = append(notes, fmt.Sprintf("for and calls of %s end nothing in a pack: its hooks stay while the program runs", strings.Join(ending, ", ")))
	}
	if apart := toldApart(set); len(apart) > 0 {
		notes = append(notes, fmt.Sprintf("results by tags or callers (%s) tell %d values apart in a pack, all probes together, and count the rest as (other): sonde apply tells more", strings.Join(apart, ", "), arena.MostUnanswered))
	}
	if len(draft.Wide) > 0 {
		notes = append(notes, fmt.Sprintf("%s may name methods of the JDK, too: no pack has those, sonde apply weaves them", strings.Join(draft.Wide, ", ")))
	}
	if draft.HandOff {
		notes = append(notes, "contexts and tags do not follow tasks to other threads in a pack: that takes sonde apply (hand-off: false says it is not wanted)")
	}
	return notes
}
