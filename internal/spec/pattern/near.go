package pattern

import (
	"iter"
	"slices"
	"strings"
)

// MostNear bounds how many names are suggested for a pattern that matches nothing.
const MostNear = 3

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
	words := p.words()
	if len(words) == 0 {
		return nil
	}
	ranks := make([][]string, 3)
	for name := range classes {
		if at := rank(simpleName(name), words); at < len(ranks) {
			ranks[at] = append(ranks[at], strings.ReplaceAll(name, "/", "."))
		}
	}
	for _, names := range ranks {
		if slices.Sort(names); len(names) > 0 {
			names = slices.Compact(names)
			return names[:min(len(names), MostNear)]
		}
	}
	return nil
}

// words returns the last two names of a pattern. The very last may be a method, or a class without
// a method.
func (p *Pattern) words() []string {
	text, _, _ := strings.Cut(strings.TrimLeft(p.text, "!@"), "(")
	text, _, _ = strings.Cut(text, ":")
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".$/+", r) })
	return words[max(0, len(words)-2):]
}

// rank says how near a class is to the last two names of a pattern: 0 if it has one of the names,
// 1 if it has nearly the name of the class, 2 if its name contains that; 3 for others.
func rank(simple string, words []string) int {
	last := words[len(words)-1]
	class := strings.ToLower(strings.Trim(words[0], "*"))
	switch {
	case last == simple || len(words) > 1 && strings.EqualFold(words[0], simple):
		return 0
	case isSimilar(simple, words[0]):
		return 1
	case len(class) > 3 && strings.Contains(strings.ToLower(simple), class):
		return 2
	}
	return 3
}

// longestName bounds the names that are compared.
const longestName = 100

// isSimilar reports whether a name differs from another one in few letters.
func isSimilar(name, other string) bool {
	if len(name) > longestName || len(other) > longestName || strings.Contains(other, "*") {
		return false
	}
	return Distance(strings.ToLower(name), strings.ToLower(other)) <= len(other)/4
}

// simpleName returns the last name of a class, which may have dots or slashes.
func simpleName(class string) string { return class[strings.LastIndexAny(class, "./$")+1:] }
