package probes

import (
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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

	Spots map[uint32]SpotName // by id
}

// A Named class has methods that a set names.
type Named struct {
	Class    string // internal
	Loader   uint32 // as in the request; 0 for classes of the JDK
	Methods  int
	Patterns []string // the patterns that name them
}

// NewDraft compiles a set and adds its spots to a weaver. When the classes load, unknown
// classes may load too, and every class but the woven one may have another version.
// Therefore conditions call only getters of the woven class that nothing can override.
func NewDraft(r DraftRequest) (*Draft, error) {
	request, err := NewRequest(r.Set, nil)
	if err != nil {
		return nil, err
	}
	classes := NewClasses(jimage.OpenLibrary(r.Image), instrument.TagsClass())
	defer func() { _ = classes.Library.Close() }()
	classes.IsAhead = true
	for _, c := range r.Classes {
		classes.Add(c)
	}
	positions, _ := (&Positions{}).Next(request.Sequences, nil)
	p, err := Compile(classes, request, positions, r.Flags)
	if err != nil {
		return nil, err
	}
	d := &Draft{
		Named: p.named(r.Classes), Wide: p.wide(), Warnings: p.Warnings(), HandOff: p.HandsOff(),
		Spots: make(map[uint32]SpotName),
	}
	d.Probes, d.Tags = p.Report()
	var spots []instrument.Spot
	for _, name := range slices.Sorted(maps.Keys(p.Spots)) {
		s := p.Spots[name]
		spots = append(spots, s.Spot)
		if s.Measures() {
			id := r.Weaver.SpotID(s.Spot)
			d.Spots[id] = s.Describe(id)
		}
	}
	r.Weaver.Add(spots, p.Bridges())
	return d, nil
}

// named returns the classes without spots that have methods the plan's set names.
func (p *Plan) named(classes []universe.Loaded) (all []Named) {
	add := func(c *universe.Class) {
		if !p.MatchClass(c.Name) {
			return
		}
		one := Named{Class: c.Name, Loader: uint32(c.Loader)}
		patterns := make(map[string]bool)
		for _, m := range p.classes.Methods(c) {
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
	left := universe.New(p.classes.Library)
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
	for _, name := range p.classes.Library.Classes() {
		isShadowed := slices.ContainsFunc(p.classes.Named(name), func(c *universe.Class) bool { return c.Loader != 0 })
		if p.classes.Library.IsJDK(name) && !isShadowed && isNamed(name) {
			add(&universe.Class{Name: name})
		}
	}
	return all
}

// wide returns the patterns that may name classes of any package.
func (p *Plan) wide() (texts []string) {
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
func (p *Plan) nameMethod(m universe.Method, patterns map[string]bool) (is bool) {
	for _, n := range p.namers {
		is = is || n.methods.Match(m.MethodRef)
	}
	for _, pattern := range p.patterns {
		if pattern.Match(m.MethodRef) {
			patterns[pattern.String()] = true
		}
	}
	return is || !p.Positions.match(m.MethodRef).none()
}
