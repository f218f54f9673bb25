package calltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A NoMethodError says that no method with code matches what was asked for.
type NoMethodError struct {
	Pattern string
	// Class is a loaded class that matches, with dots; "" where none does.
	Class string
	// Bodiless is a method that matches but has no code, being native or abstract.
	Bodiless string
	Native   bool
	// Near are classes, or methods of Class, that may have been meant.
	Near []string
}

func (e *NoMethodError) Error() string {
	switch {
	case e.Class == "" && slices.Contains(e.Near, e.Pattern):
		return fmt.Sprintf("%s is a class, and no method of it was named: %s.* is every method", e.Pattern, e.Pattern)
	case e.Class == "" && len(e.Near) > 0:
		return fmt.Sprintf("no loaded class matches %s; loaded is %s", e.Pattern, strings.Join(e.Near, ", "))
	case e.Class == "":
		return fmt.Sprintf("no loaded class matches %s: it may not have been used yet; sonde count waits for classes that load", e.Pattern)
	case e.Native:
		return fmt.Sprintf("%s is native, and has no code to look into: name a method with code", e.Bodiless)
	case e.Bodiless != "" && len(e.Near) > 0:
		return fmt.Sprintf("%s has no code to look into; methods that implement it are %s", e.Bodiless, strings.Join(e.Near, ", "))
	case e.Bodiless != "":
		return fmt.Sprintf("%s has no code to look into, and no loaded class implements it: name a method with code", e.Bodiless)
	case len(e.Near) > 0:
		return fmt.Sprintf("%s matches %s, but no method of it; it has %s", e.Pattern, e.Class, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("%s matches %s, which has no method with code: name another class", e.Pattern, e.Class)
}

// mostNear bounds how many names are suggested.
const mostNear = 4

// Find returns the methods with code that a set holds. Where there is none the error is
// a *NoMethodError.
func (w *World) Find(set *pattern.Set) ([]callgraph.Method, error) {
	found := w.graph.Find(set.Match)
	if len(found) > 0 {
		return found, nil
	}
	pattern := set.Includes()[0]
	missed := &NoMethodError{Pattern: pattern.String()}
	for _, name := range w.names() {
		if !pattern.MatchClass(name) {
			continue
		}
		missed.Class = dotted(name)
		declared := w.graph.Declared(name)
		for _, m := range declared {
			if pattern.Match(m.Class, m.Name, m.Descriptor) {
				nature, _ := w.graph.Nature(m)
				missed.Bodiless, missed.Native, missed.Near = dotted(m.Class)+"."+m.Name, nature.Native, w.implementers(m)
				return nil, missed
			}
		}
		if missed.Near = nearMethods(methodPart(pattern.String()), declared); len(missed.Near) > 0 {
			return nil, missed
		}
	}
	if missed.Class == "" {
		missed.Near = w.nearClasses(pattern.String())
	}
	return nil, missed
}

// implementers are methods with code that an abstract one may stand for.
func (w *World) implementers(m callgraph.Method) (near []string) {
	for _, name := range w.names() {
		if len(near) == mostNear {
			break
		}
		for _, own := range w.graph.FindIn(name, func(n, d string) bool { return n == m.Name && d == m.Descriptor }) {
			if w.graph.IsSubtype(name, m.Class) {
				near = append(near, dotted(own.Class)+"."+own.Name)
			}
		}
	}
	return near
}

func (w *World) names() []string {
	names := make([]string, 0, len(w.classes))
	for name := range w.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func methodPart(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	return pattern[strings.LastIndexByte(pattern, '.')+1:]
}

// nearMethods are the names most like one; where none is like it, the first few.
func nearMethods(name string, declared []callgraph.Method) []string {
	var names []string
	for _, m := range declared {
		if !slices.Contains(names, m.Name) && m.Name != "<clinit>" {
			names = append(names, m.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
	alike := slices.IndexFunc(names, func(other string) bool { return distance(name, other) > max(2, len(name)/3) })
	if alike <= 0 { // none is, or all are
		alike = len(names)
	}
	return names[:min(alike, mostNear)]
}

// nearClasses are loaded classes whose last name is one of the pattern's last two: the
// very last may be a method, or a class to which no method was added. The program's own
// come first.
func (w *World) nearClasses(pattern string) (near []string) {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	parts := strings.FieldsFunc(pattern, isSeparator)
	parts = slices.DeleteFunc(parts[max(0, len(parts)-2):], func(part string) bool { return strings.Contains(part, "*") })
	for _, ofJDK := range []bool{false, true} {
		for _, name := range w.names() {
			last := name[strings.LastIndexFunc(name, isSeparator)+1:]
			isNear := slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, last) })
			if isNear && w.classes[name].jdk == ofJDK && len(near) < mostNear {
				near = append(near, dotted(name))
			}
		}
	}
	return near
}

func isSeparator(r rune) bool { return r == '.' || r == '$' || r == '/' }

func dotted(class string) string { return strings.ReplaceAll(class, "/", ".") }

// distance is how many letters must be put in, taken out or replaced to make one name
// of another; capitals count as small ones.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
