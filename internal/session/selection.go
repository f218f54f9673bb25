package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
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
	preview := &Preview{Loaded: len(classes), Matched: selected.matched, Unmatched: unmatched(wanted.Methods, classes)}
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

// An Unmatched is a pattern that matches no loaded class.
type Unmatched struct {
	Pattern string
	Near    []string // a few loaded classes of the same simple name, with dots
}

// Unmatched returns the patterns of a set that match no class that is loaded now.
func (s *Session) Unmatched(ctx context.Context, set *pattern.Set) ([]Unmatched, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	return unmatched(set, classes), nil
}

// mostNear bounds how many classes are suggested for one pattern.
const mostNear = 3

func unmatched(set *pattern.Set, classes []control.Class) (lost []Unmatched) {
	for _, pattern := range set.Includes() {
		if slices.ContainsFunc(classes, func(c control.Class) bool { return pattern.MatchClass(internalName(c)) }) {
			continue
		}
		var near []string
		for _, class := range classes {
			if len(near) < mostNear && pattern.IsNear(class.Name) && !slices.Contains(near, class.Name) {
				near = append(near, class.Name)
			}
		}
		slices.Sort(near)
		lost = append(lost, Unmatched{pattern.String(), near})
	}
	return lost
}
