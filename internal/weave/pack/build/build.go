// Package build weaves a probe set into the classes of archives, without a JVM: for packs,
// and to show in advance what would happen to each class.
//
// It is not known which classes a program will load, nor by which loaders. Therefore a
// condition cannot call a method that another class could override, or read fields of a class
// that has several versions; all versions are woven. Archives are not modified.
package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Settings configure a plan.
type Settings struct {
	Image    string                // lib/modules of a JDK, whose classes conditions may read; may be empty
	Cache    *cache.Cache          // of woven classes; may be nil
	Probes   []byte                // the file the set was read from, for the pack
	Notice   func(string)          // receives messages for the user; may be nil
	Progress func(done, all int64) // receives the number of classes that are done; may be nil
}

// A Planned is the result of a plan: what a set does to the classes of archives.
type Planned struct {
	Classes []Fate           // classes that the set affects, by name
	Probes  []probes.Applied // in the order of the set
	Tags    []probes.Applied
	// Unmatched are patterns that name no method of the archives.
	Unmatched []Unmatched
	Broken    []pack.Left         // classes that the set may affect and that cannot be read
	Notes     []string            // what the set requests and a pack does not do
	Dropped   []string            // likewise: parts of the set that the pack does not have
	Read      int                 // number of classes in the archives
	Woven     instrument.Weavings // where the woven classes came from

	request *probes.Request
	paths   []string
	probes  []byte
	weaver  *instrument.FileWeaver
	draft   *probes.Draft
}

// A Fate is what happens to a class, and why.
type Fate struct {
	Class string        // internal name
	In    string        // archive!/entry; empty for a class of the JDK
	When  probeset.When // Static: it is packed. Unstated: none of its methods can be woven
	Why   string
	// Methods is the number of methods with hooks, or that would have one if the class were packed.
	Methods int
	Left    []pack.Left // methods that the set names and that have no hook

	original []byte
	entry    *cache.Entry // nil if it is not packed
}

// IsJDK reports whether it is a class of the JDK.
func (f *Fate) IsJDK() bool { return f.In == "" }

// IsPacked reports whether the pack holds the class.
func (f *Fate) IsPacked() bool { return f.entry != nil }

// Plan determines what a set does to the classes of jars, wars, directories and class files,
// and weaves the classes that a pack would hold.
func Plan(ctx context.Context, paths []string, set *probeset.Set, s Settings) (*Planned, error) {
	set, dropped := packable(set)
	request, err := probes.NewRequest(set, nil)
	if err != nil {
		return nil, err
	}
	resolveInJDK(request, s.Image)
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
	draft, err := probes.NewDraft(probes.DraftRequest{Set: set, Classes: classes, Image: s.Image, Flags: arena.Spreads, Weaver: weaver})
	for what, is := isAheadOfTime(err); is; what, is = isAheadOfTime(err) {
		dropped = append(dropped, fmt.Sprintf("in a pack, there is no %v", err))
		var more []string
		set, more = without(set, what)
		dropped = append(dropped, more...)
		draft, err = probes.NewDraft(probes.DraftRequest{Set: set, Classes: classes, Image: s.Image, Flags: arena.Spreads, Weaver: weaver})
	}
	if err == nil {
		request, err = probes.NewRequest(set, nil)
	}
	if err != nil {
		return nil, err
	}
	p := &Planned{
		Probes: draft.Probes, Tags: draft.Tags, Broken: in.broken, Notes: append(unheeded(set, draft), draft.Warnings...), Read: in.read, Dropped: dropped,
		request: request, paths: paths, probes: s.Probes, weaver: weaver, draft: draft,
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

// resolveInJDK finds out which methods of the JDK that a request names have no code.
func resolveInJDK(request *probes.Request, image string) {
	library := jimage.OpenLibrary(image)
	defer func() { _ = library.Close() }()
	request.Resolve(universe.New(library))
}

// obstacle returns why a class gets no hooks in advance, or "".
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

// Refusal returns why no pack can be made of the plan, or nil.
func (p *Planned) Refusal() error {
	if !slices.ContainsFunc(p.Classes, func(f Fate) bool { return f.entry != nil }) {
		return ErrEmpty
	}
	return nil
}

// Content returns the content of the pack. The same archives and set give the same content.
func (p *Planned) Content() (*pack.Content, error) {
	if err := p.Refusal(); err != nil {
		return nil, err
	}
	watches, err := p.weaver.Table()
	if err != nil {
		return nil, err
	}
	c := &pack.Content{
		Build: agent.AgentBuild(), Engine: cache.Engine(), Title: p.title(), Probes: p.probes, Watches: watches, Left: p.left(),
	}
	c.Names, c.Records = p.names()
	c.Tags = make([]string, len(p.request.Numbers))
	for name, number := range p.request.Numbers {
		c.Tags[number] = name
	}
	for i := range p.Classes {
		if f := &p.Classes[i]; f.entry != nil {
			c.Classes = append(c.Classes, pack.Class{Entry: f.entry, Original: f.original})
		}
	}
	return c, nil
}

// mostTitle is the number of inputs that a title names.
const mostTitle = 5

// title names the inputs.
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

// names returns the names of spots that measure, and those of templates of the user; anchors and tag points have no results.
func (p *Planned) names() (all []pack.Name, records []pack.Record) {
	for _, s := range p.weaver.Woven() {
		name, is := p.draft.Spots[s.ID]
		switch {
		case !is || !s.Measures():
		case s.Kind == instrument.Watches:
			all = append(all, pack.Name{
				ID: s.ID, Class: s.Class, Method: s.Name, Descriptor: s.Descriptor, Probe: name.Probe, Sequence: name.Sequence, Groups: name.GroupBy,
			})
		default:
			records = append(records, pack.Record{ID: s.ID, Probe: name.Probe, Record: name.Record, Groups: name.GroupBy})
		}
	}
	return all, records
}

// left returns everything that the set names and that has no hook, except classes of the JDK.
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

// ErrEmpty reports that there is nothing to pack.
var ErrEmpty = errors.New("nothing to pack: no method of these classes gets a hook; sonde plan shows why")

// An ImageError reports an input that is a JDK.
type ImageError struct{ Path string }

func (e *ImageError) Error() string {
	return e.Path + ": is a JDK run-time image, whose classes load before a pack could weave them: use sonde apply on the running program"
}

// packable returns a set with the levels lowered to what a pack can provide, and what that changes.
func packable(set *probeset.Set) (lowered *probeset.Set, dropped []string) {
	lowered = &probeset.Set{Tags: set.Tags, HandOff: set.HandOff, Weave: set.Weave, Probes: slices.DeleteFunc(slices.Clone(set.Probes), func(p probeset.Probe) bool { return p.Goal })}
	for i := range set.Goals {
		dropped = append(dropped, fmt.Sprintf("the pack does not contain goal %s: goals need a running Sonde", set.Goals[i].Title()))
	}
	for i := range lowered.Probes {
		p := &lowered.Probes[i]
		if p.Level > probeset.Time {
			dropped = append(dropped, fmt.Sprintf("in a pack, probe %s has level time: level %v needs a running Sonde", p.Name, p.Level))
		}
		p.Level, p.Captures = min(p.Level, probeset.Time), nil
	}
	return lowered, dropped
}

// isAheadOfTime reports whether a probe or tag does not fit only because classes are not known before the
// program runs: sonde apply can use it.
func isAheadOfTime(err error) (what string, is bool) {
	var unfit *probes.UnfitError
	var reason *expr.Error
	if !errors.As(err, &unfit) || !errors.As(err, &reason) || reason.Kind != expr.Unproven {
		return "", false
	}
	return unfit.What, true
}

// without returns a set without a probe or tag. Without a tag, results are not grouped by it, and probes
// whose conditions read it are dropped, too, because they would never act.
func without(set *probeset.Set, what string) (rest *probeset.Set, dropped []string) {
	rest = &probeset.Set{HandOff: set.HandOff, Weave: set.Weave}
	tag, isTag := strings.CutPrefix(what, "tag ")
	for _, t := range set.Tags {
		if !isTag || t.Name != tag {
			rest.Tags = append(rest.Tags, t)
		}
	}
	for _, p := range set.Probes {
		switch {
		case what == "probe "+p.Name:
			continue
		case isTag && readsTag(p.When, tag):
			dropped = append(dropped, fmt.Sprintf("in a pack, there is no probe %s, because its condition reads the tag %s", p.Name, tag))
			continue
		case isTag && slices.Contains(p.GroupBy, tag):
			dropped = append(dropped, fmt.Sprintf("in a pack, results of probe %s are not grouped by %s", p.Name, tag))
			p.GroupBy = slices.DeleteFunc(slices.Clone(p.GroupBy), func(name string) bool { return name == tag })
		}
		rest.Probes = append(rest.Probes, p)
	}
	return rest, dropped
}

func readsTag(when *expr.Expr, tag string) bool {
	return when != nil && slices.ContainsFunc(when.Paths(), func(p *expr.Path) bool { return p.Root == "tx" && len(p.Steps) > 0 && p.Steps[0].Name == tag })
}

// probesThat returns the names of probes that match, joined.
func probesThat(set *probeset.Set, match func(*probeset.Probe) bool) string {
	var names []string
	for i := range set.Probes {
		if p := &set.Probes[i]; match(p) {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, ", ")
}

// unheeded returns notes on requests of a set that a pack does not fulfil.
func unheeded(set *probeset.Set, draft *probes.Draft) (notes []string) {
	hasEvents := make(map[string]bool)
	for _, name := range draft.Spots {
		hasEvents[name.Probe] = hasEvents[name.Probe] || name.Record.Kind == weave.Event
	}
	if ending := probesThat(set, func(p *probeset.Probe) bool { return p.For > 0 || p.Calls > 0 }); ending != "" {
		notes = append(notes, fmt.Sprintf("in a pack, the keys for: and calls: of %s have no effect: hooks stay as long as the program runs", ending))
	}
	if apart := probesThat(set, func(p *probeset.Probe) bool { return p.Context > 0 || len(p.GroupBy) > 0 || hasEvents[p.Name] }); apart != "" {
		notes = append(notes, fmt.Sprintf("results of %s are grouped by tags, callers or texts of events: in a pack, the first %d groups of all probes together are distinguished, and the rest is counted as (other); sonde apply distinguishes more", apart, arena.MostUnanswered))
	}
	if len(draft.Wide) > 0 {
		notes = append(notes, fmt.Sprintf("%s may name methods of the JDK, too: a pack cannot contain these; use sonde apply for them", strings.Join(draft.Wide, ", ")))
	}
	if draft.HandOff {
		notes = append(notes, "in a pack, contexts and tags do not follow tasks to other threads: use sonde apply for that (hand-off: false disables it)")
	}
	return notes
}
