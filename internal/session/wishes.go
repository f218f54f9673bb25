package session

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

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
