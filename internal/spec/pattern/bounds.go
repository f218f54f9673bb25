package pattern

import "strings"

// ClassBounds returns what the internal name of every class the pattern can
// match begins and ends with, once each "$" in it is read as "/". It is for a
// first, cheap question; MatchClass has the answer.
func (p *Pattern) ClassBounds() (prefix, suffix string) {
	var all []string
	for i, s := range p.class {
		if s.any {
			return plain(prefixOf(p.class[:i])), end(p.class[i+1:])
		}
		all = append(all, s.glob)
	}
	whole := strings.Join(all, "/")
	if star := strings.IndexByte(whole, '*'); star >= 0 {
		return plain(whole[:star]), plain(whole[strings.LastIndexByte(whole, '*')+1:])
	}
	return plain(whole), ""
}

// prefixOf joins segments up to the first wildcard. What follows a "**" may be
// nothing, so no separator is put behind the last.
func prefixOf(segments []segment) string {
	var parts []string
	for _, s := range segments {
		if star := strings.IndexByte(s.glob, '*'); star >= 0 {
			return strings.Join(append(parts, s.glob[:star]), "/")
		}
		parts = append(parts, s.glob)
	}
	return strings.Join(parts, "/")
}

// end is what a name ends with whose last segments are these.
func end(segments []segment) string {
	var parts []string
	for i := len(segments) - 1; i >= 0; i-- {
		s := segments[i]
		if s.any {
			break
		}
		if star := strings.LastIndexByte(s.glob, '*'); star >= 0 {
			parts = append([]string{s.glob[star+1:]}, parts...)
			break
		}
		parts = append([]string{s.glob}, parts...)
	}
	return plain(strings.Join(parts, "/"))
}

func plain(name string) string {
	return separators.Replace(name)
}

// separators become what internal names have between packages.
var separators = strings.NewReplacer("$", "/", ".", "/")
