package pattern

import (
	"iter"
	"slices"
	"strings"
)

// mostNear bounds how many names are suggested for a pattern that matches nothing.
const mostNear = 3

// Similar returns annotations, calls, or methods of the named class, whose names are similar to that in a pattern
// which matches nothing, as far as they were learned.
func (p *Pattern) Similar() []string {
	if p.learned == nil {
		return nil
	}
	p.learned.lock.RLock()
	defer p.learned.lock.RUnlock()
	return slices.Sorted(slices.Values(p.learned.near))
}

// Near returns what a pattern that matches nothing may have meant, with dots: what is Similar, or else
// classes. Their names may have dots or slashes. The nearest are the first.
func (p *Pattern) Near(classes iter.Seq[string]) []string {
	if near := p.Similar(); len(near) > 0 {
		return near
	}
	if p.called != nil {
		return p.callers.Near(classes)
	}
	var same, similar []string
	class, last := p.lastNames()
	for name := range classes {
		simple, dotted := simpleName(name), strings.ReplaceAll(name, "/", ".")
		switch {
		case simple == last || strings.EqualFold(simple, class):
			same = append(same, dotted)
		case isSimilar(simple, class) || isSimilar(simple, last):
			similar = append(similar, dotted)
		}
	}
	if len(same) == 0 {
		same = similar
	}
	slices.Sort(same)
	same = slices.Compact(same)
	return same[:min(len(same), mostNear)]
}

// lastNames returns the name of the class in a pattern, without its package, and the very last name, which is a
// method, or a class if the method was left out.
func (p *Pattern) lastNames() (class, last string) {
	text, _, _ := strings.Cut(strings.TrimLeft(p.text, "!@"), "(")
	text, _, _ = strings.Cut(text, ":")
	names := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".$/+", r) })
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	switch {
	case p.annotation != nil:
		class = last
	case len(names) > 1:
		class = names[len(names)-2]
	}
	return class, last
}

// longestName bounds the names that are compared.
const longestName = 100

// isSimilar reports whether a name differs from another one in few letters.
func isSimilar(name, other string) bool {
	most := len(other) / 4
	if other == "" || max(len(name), len(other)) > longestName || strings.Contains(other, "*") {
		return false
	}
	if longer := len(name) - len(other); longer > most || -longer > most { // the usual case, at little cost
		return false
	}
	return Distance(strings.ToLower(name), strings.ToLower(other)) <= most
}

// simpleName returns the last name of a class, which may have dots or slashes.
func simpleName(class string) string { return class[strings.LastIndexAny(class, "./$")+1:] }
