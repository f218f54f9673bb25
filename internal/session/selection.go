package session

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A candidate is a loaded class that may hold a wanted method.
type candidate struct {
	handle, loader uint32
	name           string // internal
	file           []byte // its class file; nil where its loader finds none
	reason         string // why it is left alone, or why there is no file
}

// A selection is what became of the loaded classes.
type selection struct {
	matched int         // named by a pattern
	picked  []candidate // to be retransformed, by handle
	left    []candidate // not to be
}

func (s *selection) leave(c candidate, reason string) {
	c.reason = reason
	s.left = append(s.left, c)
}

// choose picks from the loaded classes those to be retransformed. It changes
// nothing, but asks class loaders.
func (s *Session) choose(ctx context.Context, classes []control.Class, wanted wishes) (*selection, error) {
	chosen := &selection{}
	var candidates []candidate
	sample := make(map[uint32]uint32) // a class of each loader
	for _, class := range classes {
		c := candidate{handle: class.Handle, loader: class.Loader, name: internalName(class)}
		if !wanted.matchClass(c.name) {
			continue
		}
		chosen.matched++
		if class.Flags&control.Modifiable == 0 {
			chosen.leave(c, "the JVM does not let it be changed")
			continue
		}
		if reason := exemption(c.name); reason != "" {
			chosen.leave(c, reason)
			continue
		}
		candidates = append(candidates, c)
		sample[c.loader] = c.handle
	}
	blind, err := s.blindLoaders(ctx, sample)
	if err != nil {
		return nil, err
	}
	candidates = slices.DeleteFunc(candidates, func(c candidate) bool {
		reason := blind[c.loader]
		if reason != "" {
			chosen.leave(c, "its class loader does not see the hooks: "+reason)
		}
		return reason != ""
	})
	chosen.picked, err = s.fetch(ctx, candidates, wanted)
	return chosen, err
}

// blindLoaders asks each loader for the hooks; it gives the reasons of those
// that do not find them.
func (s *Session) blindLoaders(ctx context.Context, sample map[uint32]uint32) (map[uint32]string, error) {
	var ask []uint32
	loaderOf := make(map[uint32]uint32)
	for loader, handle := range sample {
		if loader != 0 {
			ask = append(ask, handle)
			loaderOf[handle] = loader
		}
	}
	blind := make(map[uint32]string)
	if len(ask) == 0 {
		return blind, nil
	}
	seen, err := s.peer.Sees(ctx, ask)
	if err != nil {
		return nil, s.explain(err)
	}
	for handle, reason := range seen {
		blind[loaderOf[handle]] = reason
	}
	return blind, nil
}

// fetch gets the class files of classes from their loaders, and drops those
// classes that have no wanted method after all. One without a file stays: what
// it holds shows when the JVM hands it over.
func (s *Session) fetch(ctx context.Context, candidates []candidate, wanted wishes) ([]candidate, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	byHandle := make(map[uint32]candidate, len(candidates))
	handles := make([]uint32, 0, len(candidates))
	for _, c := range candidates {
		byHandle[c.handle] = c
		handles = append(handles, c.handle)
	}
	var keep []candidate
	err := s.peer.Fetch(ctx, handles, func(handle uint32, file []byte, reason string) {
		c := byHandle[handle]
		if file != nil && !holdsWanted(c.name, file, wanted) {
			return
		}
		c.file, c.reason = slices.Clone(file), reason
		keep = append(keep, c)
	})
	if err != nil {
		return nil, s.explain(err)
	}
	slices.SortFunc(keep, func(a, b candidate) int { return cmp.Compare(a.handle, b.handle) })
	return keep, nil
}

// holdsWanted reports whether a class file has a wanted method with code. A file
// that cannot be read, or is another class's, decides nothing.
func holdsWanted(name string, file []byte, wanted wishes) bool {
	class, err := classfile.Parse(file)
	if err != nil || class.Name() != name {
		return true
	}
	for i := range class.Methods {
		m := &class.Methods[i]
		method, descriptor, err := class.MemberName(m)
		if err != nil {
			return true
		}
		if class.Find(m.Attributes, classfile.KindCode) == nil {
			continue
		}
		if _, is := wanted.find(name, string(method), string(descriptor)); is {
			return true
		}
	}
	return false
}

// wishes are all that was asked for, in the order in which it was.
type wishes []Wanted

// find gives the first wish that holds a method.
func (w wishes) find(class, name, descriptor string) (Wanted, bool) {
	for _, wanted := range w {
		if wanted.Methods.Match(class, name, descriptor) {
			return wanted, true
		}
	}
	return Wanted{}, false
}

// matchClass reports whether a class may hold a method that is wanted.
func (w wishes) matchClass(class string) bool {
	return slices.ContainsFunc(w, func(wanted Wanted) bool { return wanted.Methods.MatchClass(class) })
}

// An Unmatched is a pattern that names no class that is loaded.
type Unmatched struct {
	Pattern string
	Near    []string // loaded classes of the same simple name, with dots; the first few
}

// mostNear bounds how many classes are suggested for one pattern.
const mostNear = 3

func unmatched(set *pattern.Set, classes []control.Class) []Unmatched {
	var lost []Unmatched
	for _, pattern := range set.Includes() {
		if slices.ContainsFunc(classes, func(c control.Class) bool { return pattern.MatchClass(internalName(c)) }) {
			continue
		}
		lost = append(lost, Unmatched{pattern.String(), near(pattern.String(), classes)})
	}
	return lost
}

// near finds classes that a pattern may have meant: those whose last name is
// one of the pattern's last two. The very last may be a method, or a class to
// which no method was added.
func near(pattern string, classes []control.Class) []string {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	names := strings.FieldsFunc(strings.TrimSuffix(pattern, ".**"), isSeparator)
	names = slices.DeleteFunc(names[max(0, len(names)-2):], func(name string) bool { return strings.Contains(name, "*") })
	var found []string
	for _, class := range classes {
		if len(found) == mostNear {
			break
		}
		at := strings.LastIndexFunc(class.Name, isSeparator)
		if slices.Contains(names, class.Name[at+1:]) && !slices.Contains(found, class.Name) {
			found = append(found, class.Name)
		}
	}
	slices.Sort(found)
	return found
}

func isSeparator(r rune) bool { return r == '.' || r == '$' }

func internalName(class control.Class) string { return strings.ReplaceAll(class.Name, ".", "/") }

// Unmatched are the patterns of a set that name no class that is loaded now.
func (s *Session) Unmatched(ctx context.Context, set *pattern.Set) ([]Unmatched, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	return unmatched(set, classes), nil
}
