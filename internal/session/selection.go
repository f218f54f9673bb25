package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A selection is the outcome of matching loaded classes with a pattern.
type selection struct {
	matched int            // classes that a pattern matches
	picked  []*loadedClass // to be retransformed, by handle
	left    []*loadedClass // left alone, with the reason
}

// selectClasses picks the loaded classes to be retransformed. It changes nothing, but
// asks class loaders for files.
func (s *Session) selectClasses(ctx context.Context, classes []control.Class, wanted Wanted) (*selection, error) {
	matched, err := s.candidates(ctx, classes, func(c control.Class) bool { return wanted.Methods.MatchClass(internalName(c)) })
	if err != nil {
		return nil, err
	}
	selected := &selection{matched: len(matched)}
	var fetched []*loadedClass
	for _, c := range matched {
		if c.reason != "" {
			selected.left = append(selected.left, c)
		} else {
			fetched = append(fetched, c)
		}
	}
	// A class without a file stays: its methods are known when the JVM passes its bytes.
	err = s.fetch(ctx, fetched, func(c *loadedClass) {
		if c.file == nil || hasMatch(c.name, c.file, wanted) {
			selected.picked = append(selected.picked, c)
		}
	})
	slices.SortFunc(selected.picked, func(a, b *loadedClass) int { return cmp.Compare(a.handle, b.handle) })
	return selected, err
}

// hasMatch reports whether a class file has a method with code that a pattern matches. A
// file that cannot be read, or that is another class's, decides nothing.
func hasMatch(name string, file []byte, wanted Wanted) bool {
	class, err := classfile.Parse(file)
	if err != nil || class.Name() != name {
		return true
	}
	spots, err := wanted.Spots(class)
	return err != nil || len(spots) > 0
}

// A Preview is what Instrument would do.
type Preview struct {
	Loaded    int // classes of the JVM
	Matched   int // classes of the JVM that a pattern matches
	Unmatched []Unmatched
	Loaders   []PreviewLoader // those with a class that a pattern matches, the boot loader first
}

// A PreviewLoader is a class loader with its classes that patterns match.
type PreviewLoader struct {
	Number   uint32 // in this session; 0 is the boot loader
	Example  string // one of its classes, with dots
	Classes  int    // classes that would be woven
	Methods  int    // methods of those classes, as far as their files are found
	Fileless int    // classes whose file is not found: their methods are known when they are woven
	Left     []LeftAlone
}

// Preview returns what Instrument would put hooks into, and what it would leave alone.
// Nothing is woven into the JVM, so what only the JVM decides is not part of it: a class
// that the JVM refuses, or that does not run what its file holds.
func (s *Session) Preview(ctx context.Context, wanted Wanted) (*Preview, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	selected, err := s.selectClasses(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	loaders := make(map[uint32]*PreviewLoader)
	loaderOf := func(c *loadedClass) *PreviewLoader {
		if loaders[c.loader] == nil {
			loaders[c.loader] = &PreviewLoader{Number: c.loader, Example: strings.ReplaceAll(c.name, "/", ".")}
		}
		return loaders[c.loader]
	}
	for _, c := range selected.picked {
		s.previewClass(ctx, loaderOf(c), c, wanted)
	}
	for _, c := range selected.left {
		loader := loaderOf(c)
		loader.Left = append(loader.Left, LeftAlone{Class: c.name, Reason: c.reason})
	}
	preview := &Preview{Loaded: len(classes), Matched: selected.matched, Unmatched: unmatched(wanted.Methods.Includes(), classes)}
	for _, number := range slices.Sorted(maps.Keys(loaders)) {
		slices.SortFunc(loaders[number].Left, instrument.CompareLeft)
		preview.Loaders = append(preview.Loaders, *loaders[number])
	}
	return preview, nil
}

// previewClass weaves a class for nobody yet, or finds it woven in the cache, and adds
// the result to its loader.
func (s *Session) previewClass(ctx context.Context, loader *PreviewLoader, c *loadedClass, wanted Wanted) {
	if c.file == nil {
		loader.Classes++
		loader.Fileless++
		return
	}
	out, err := s.weaver.WeavePattern(ctx, c.file, &wanted)
	if err != nil {
		loader.Left = append(loader.Left, LeftAlone{Class: c.name, Reason: firstLine(err.Error())})
		return
	}
	woven := 0
	for _, m := range out.Methods {
		switch {
		case !m.Hooked: // it has only spots, or hooks at its calls
		case m.Result.Woven:
			woven++
		default:
			loader.Left = append(loader.Left, LeftAlone{Class: c.name, Method: m.Member(), Reason: m.Result.Reason.Error()})
		}
	}
	if woven > 0 {
		loader.Classes++
		loader.Methods += woven
	}
}

// An Unmatched is a pattern that matches no loaded class, or no method of the class that it names.
type Unmatched struct {
	Pattern   string
	Lack      string   // what no loaded class has, if the pattern selects methods by more than names; or which method the class lacks
	Near      []string // a few loaded classes, or other names, that are similar, with dots
	IsMissing bool     // the class that the pattern names is loaded, and has no such method
}

// Unmatched returns the patterns that match no class that is loaded now, and those that are Missing.
func (l *Look) Unmatched(ctx context.Context, patterns []*pattern.Pattern) ([]Unmatched, error) {
	classes, err := l.peer.List(ctx)
	if err != nil {
		return nil, l.explain(err)
	}
	missing, err := l.Missing(ctx, patterns)
	return append(unmatched(patterns, classes), missing...), err
}

// Missing returns the patterns that name, without wildcards, a loaded class and a method that it does not have.
func (l *Look) Missing(ctx context.Context, patterns []*pattern.Pattern) (missing []Unmatched, err error) {
	if !slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return len(p.Named()) > 0 }) {
		return nil, nil
	}
	err = l.learnNamed(ctx, patterns, func(u *universe.Universe) {
		for _, p := range patterns {
			if lack := lackOf(u, p.Named()); lack != "" {
				missing = append(missing, Unmatched{Pattern: p.String(), Lack: lack, Near: p.Similar(), IsMissing: true})
			}
		}
	})
	return missing, err
}

// lackOf says which method a loaded class does not have; "" if one of some methods exists, or if that is not known.
func lackOf(u *universe.Universe, methods []classfile.MethodRef) (lack string) {
	for _, m := range methods {
		for _, c := range u.Named(m.Class) {
			file := u.Open(c)
			if file == nil || hasMethod(file, m.Name) {
				return ""
			}
			lack = fmt.Sprintf("class %s has no method %s of its own", strings.ReplaceAll(m.Class, "/", "."), m.Name)
		}
	}
	return lack
}

func unmatched(patterns []*pattern.Pattern, classes []control.Class) (lost []Unmatched) {
	names := func(yield func(string) bool) {
		for _, class := range classes {
			if !yield(class.Name) {
				return
			}
		}
	}
	for _, pattern := range patterns {
		one := Unmatched{Pattern: pattern.String()}
		if pattern.IsByName() {
			if slices.ContainsFunc(classes, func(c control.Class) bool { return pattern.MatchClass(internalName(c)) }) {
				continue
			}
		} else {
			if pattern.IsMet() {
				continue
			}
			one.Lack = pattern.Lack()
		}
		isNamed := func(c control.Class) bool { return pattern.MatchClass(internalName(c)) }
		if !slices.ContainsFunc(classes, isNamed) {
			one.Near = pattern.Near(names)
		}
		lost = append(lost, one)
	}
	return lost
}

func hasMethod(class *classfile.Class, name string) bool {
	return slices.ContainsFunc(class.Methods, func(m classfile.Member) bool {
		found, _, err := class.MemberName(&m)
		return err == nil && string(found) == name
	})
}

// SelectsByType reports whether patterns of a set select methods by more than names, or may do so when
// classes have loaded that they name. It reads the classes that the set names.
func (l *Look) SelectsByType(ctx context.Context, set *pattern.Set) (bool, error) {
	patterns := set.Patterns()
	switch {
	case slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return !p.IsByName() }):
		return true, nil
	case !slices.ContainsFunc(patterns, (*pattern.Pattern).MayNeedTypes):
		return false, nil
	}
	isByType := false
	err := l.learnNamed(ctx, patterns, func(u *universe.Universe) {
		// The class of a method may be an interface that has not loaded.
		isByType = slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return !p.IsByName() || p.MayNeedTypes() && !p.IsKnown(u) })
	})
	return isByType, err
}

// learnNamed reads the classes that patterns name without wildcards, shows them to the patterns, and passes them on.
func (l *Look) learnNamed(ctx context.Context, patterns []*pattern.Pattern, use func(*universe.Universe)) error {
	isNamed := func(class string) bool {
		return slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return p.MayNeedTypes() && p.MatchClass(class) })
	}
	if _, err := l.prefetch(ctx, isNamed, isNamed); err != nil {
		return err
	}
	known, err := l.Known(ctx)
	if err != nil {
		return err
	}
	library := jimage.OfJVM(l.JVM())
	defer func() { _ = library.Close() }()
	u := universe.Of(library, slices.DeleteFunc(known, func(c LoadedClass) bool { return !isNamed(c.Name) }))
	pattern.LearnAll(u, patterns)
	use(u)
	return nil
}
