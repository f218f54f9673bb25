package build

import (
	"context"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
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
	Classes []Fate               // those that the set concerns, by name
	Probes  []liveprobes.Applied // in the order of the set
	Tags    []liveprobes.Applied
	// Unmatched are patterns that name no method of the archives.
	Unmatched []Unmatched
	Broken    []pack.Left      // classes that may be concerned and cannot be read
	Notes     []string         // what a pack does not do of what the set asks for
	Read      int              // how many classes there are
	Woven     session.Weavings // where the woven ones came from

	set    *probeset.Set
	reach  *liveprobes.Reach
	paths  []string
	probes []byte
	weaver *session.Weaver
	draft  *liveprobes.Draft
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
	reach, err := liveprobes.ReachOf(lowered)
	if err != nil {
		return nil, err
	}
	in, err := readInputs(ctx, paths, reach)
	if err != nil {
		return nil, err
	}
	weaver, err := session.NewWeaver(session.Settings{Cache: s.Cache, Notice: s.Notice})
	if err != nil {
		return nil, err
	}
	rules := set.Rules()
	classes := make([]session.LoadedClass, len(in.classes))
	for i, c := range in.classes {
		classes[i] = session.LoadedClass{Name: c.name, Loader: c.loader, File: c.file, Reason: obstacle(c.name, rules)}
	}
	draft, err := liveprobes.NewDraft(ctx, liveprobes.DraftRequest{
		Set: lowered, Classes: classes, Image: s.Image, Flags: arena.Spreads, Weaver: weaver,
	})
	if err != nil {
		return nil, err
	}
	p := &Planned{
		Probes: draft.Probes, Tags: draft.Tags, Broken: in.broken, Notes: append(unheeded(set, draft), draft.Warnings...), Read: in.read,
		set: set, reach: reach, paths: paths, probes: s.Probes, weaver: weaver, draft: draft,
	}
	if err := p.weave(ctx, in.classes, classes, rules, s.Progress); err != nil {
		return nil, err
	}
	p.addNamed(in.classes, rules)
	p.addUnmatched(rules)
	p.Woven = weaver.Weavings()
	slices.SortStableFunc(p.Classes, func(a, b Fate) int { return strings.Compare(a.Class, b.Class) })
	return p, nil
}

// obstacle is why a class gets no hooks beforehand; "" where it does.
func obstacle(class string, rules *probeset.Rules) string {
	when, rule := rules.When(class)
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
