package liveprobes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Reach says which classes a set needs, before any class is read.
type Reach struct{ request *request }

// ReachOf returns the reach of a set, or an error that says what is wrong with the set.
func ReachOf(set *probeset.Set) (*Reach, error) {
	r, err := read(set, nil)
	if err != nil {
		return nil, err
	}
	return &Reach{r}, nil
}

// Names reports whether a class may have a method that the set names.
func (r *Reach) Names(class string) bool { return r.request.matchClass(class) }

// NeedsAll reports whether the set needs more classes than it names.
func (r *Reach) NeedsAll() bool { return r.request.needsAll() }

// A DraftRequest is a set for class files that no JVM has loaded yet.
type DraftRequest struct {
	Set *probeset.Set
	// Classes are all known classes. A class with a Reason gets no spots, but conditions
	// may read it. Classes of the same name have different loaders.
	Classes []universe.Loaded
	Image   string      // a JDK's run-time image; empty where there is none
	Flags   arena.Flags // added to hooks that time calls
	Weaver  *instrument.FileWeaver
}

// A Draft is the effect of a set on class files. The weaver has its spots.
type Draft struct {
	Probes, Tags []Applied
	// Named are classes that have methods the set names but get no spots: classes with a
	// Reason, in the order of the request, then classes of the JDK, by name.
	Named []Named
	// Wide are patterns that begin with a wildcard, so they may also name classes of the
	// JDK, which are not searched for them.
	Wide     []string
	Warnings []string // for the user
	// HandOff says that contexts would have to follow tasks to other threads.
	HandOff bool

	names  map[uint32]SpotName
	groups map[uint32][]string
}

// A Named class has methods that a set names.
type Named struct {
	Class    string // internal
	Loader   uint32 // as in the request; 0 for classes of the JDK
	Methods  int
	Patterns []string // the patterns that name them
}

// Spot describes the spot with an id, and returns the tags by which its results are
// grouped.
func (d *Draft) Spot(id uint32) (name SpotName, groups []string, is bool) {
	name, is = d.names[id]
	return name, d.groups[id], is
}

// NewDraft compiles a set and adds its spots to a weaver. When the classes load, unknown
// classes may load too, and every class but the woven one may have another version.
// Therefore conditions call only getters of the woven class that nothing can override.
func NewDraft(ctx context.Context, r DraftRequest) (*Draft, error) {
	t := &drafting{FileWeaver: r.Weaver, classes: r.Classes}
	w := newWatch(t, jimage.OpenLibrary(r.Image), Options{Flags: r.Flags})
	defer w.Close()
	w.universe.IsAhead = true
	report, err := w.Apply(ctx, r.Set)
	if err != nil {
		return nil, err
	}
	return &Draft{
		Probes: report.Probes, Tags: report.Tags, Named: w.plan.named(w.universe, r.Classes), Wide: w.plan.wide(), Warnings: report.Warnings, HandOff: t.handOff,
		names: w.names, groups: w.groups,
	}, nil
}

// named returns the classes without spots that have methods the plan's set names.
func (p *plan) named(u *universe.Universe, classes []universe.Loaded) (all []Named) {
	add := func(c *universe.Class) {
		if !p.matchClass(c.Name) {
			return
		}
		one := Named{Class: c.Name, Loader: uint32(c.Loader)}
		patterns := make(map[string]bool)
		for _, m := range u.Methods(c) {
			if p.nameMethod(m, patterns) {
				one.Methods++
			}
		}
		if one.Methods > 0 {
			one.Patterns = slices.Sorted(maps.Keys(patterns))
			all = append(all, one)
		}
	}
	// These classes get no spots, so they are in a universe of their own.
	left := universe.New(u.Library)
	left.IsAhead = true
	for i := range classes {
		if c := &classes[i]; c.Reason != "" {
			left.Add(*c)
		}
	}
	for i := range classes {
		for _, c := range left.Named(classes[i].Name) {
			if classes[i].Reason != "" && c.Loader == int(classes[i].Loader) {
				add(c)
			}
		}
	}
	narrow := slices.DeleteFunc(slices.Clone(p.patterns), isWide)
	isNamed := func(name string) bool {
		return slices.ContainsFunc(narrow, func(pattern *pattern.Pattern) bool { return pattern.MatchClass(name) })
	}
	for _, name := range u.Library.Classes() {
		isShadowed := slices.ContainsFunc(u.Named(name), func(c *universe.Class) bool { return c.Loader != 0 })
		if u.Library.IsJDK(name) && !isShadowed && isNamed(name) {
			add(&universe.Class{Name: name})
		}
	}
	return all
}

// wide returns the patterns that may name classes of any package.
func (p *plan) wide() (texts []string) {
	for _, pattern := range p.patterns {
		if text := pattern.String(); isWide(pattern) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func isWide(p *pattern.Pattern) bool {
	prefix, _ := p.ClassBounds()
	return prefix == ""
}

// nameMethod reports whether a probe, a tag or a sequence names a method, and adds the
// patterns that match it.
func (p *plan) nameMethod(m universe.Method, patterns map[string]bool) (is bool) {
	for _, one := range p.probes {
		is = is || one.methods.Match(m.Class, m.Name, m.Descriptor)
	}
	for _, pattern := range p.patterns {
		if pattern.Match(m.Class, m.Name, m.Descriptor) {
			patterns[pattern.String()] = true
		}
	}
	for _, t := range p.tags {
		is = is || t.At.Match(m.Class, m.Name, m.Descriptor)
	}
	return is || !p.positions.match(m.Class, m.Name, m.Descriptor).none()
}

// drafting is a target without a JVM: all its classes are as good as loaded, and what is
// watched is told to a weaver. Nothing is ever measured.
type drafting struct {
	*instrument.FileWeaver
	classes []universe.Loaded
	handOff bool
}

// Prefetch gives all there is.
func (d *drafting) Prefetch(context.Context, func(string) bool, func(string) bool) ([]universe.Loaded, error) {
	return d.classes, nil
}

// Survey has nothing to add.
func (d *drafting) Survey(context.Context, func(string) bool) ([]universe.Loaded, error) {
	return nil, nil
}

// Known has nothing to add.
func (d *drafting) Known(context.Context) ([]universe.Loaded, error) { return nil, nil }

// OnLoading asks nobody: no class loads.
func (d *drafting) OnLoading(context.Context, []string, func(string, []byte) []instrument.Spot) error {
	return nil
}

// Watch tells the weaver.
func (d *drafting) UpdateSpots(_ context.Context, request session.SpotRequest) (*session.Installation, error) {
	d.Add(request.Add, request.Bridges)
	d.handOff = request.HandOff
	return &session.Installation{}, nil
}

var errNoJVM = errors.New("there is no JVM to do that")

// SwitchSpots is not possible: a draft is made once.
func (d *drafting) SwitchSpots(context.Context, map[uint32]arena.Probe) error { return errNoJVM }

// SetRings is not possible: nobody would read what is traced.
func (d *drafting) SetRings(uint32, uint32) error { return errNoJVM }

// Discover has labels told by arrivals, for which a pack has room.
func (d *drafting) Discover(time.Duration) error { return nil }

// Arrivals are none.
func (d *drafting) Arrivals(uint64) ([]arena.Arrival, error) { return nil, nil }

// Answer has nobody to answer.
func (d *drafting) Answer(uint64) {}

// Sum is of nothing.
func (d *drafting) Sum() (*arena.Summary, error) { return &arena.Summary{}, nil }

// Threads are none.
func (d *drafting) Threads() ([]arena.Thread, error) { return nil, nil }

// Now is never.
func (d *drafting) Now() int64 { return 0 }

// ContextLosses are none.
func (d *drafting) ContextLosses() (ambiguous, contexts uint64) { return 0, 0 }

// Owes is nothing.
func (d *drafting) HasPending() bool { return false }
