package pattern

import (
	"strings"
)

// segment matches one name between the separators of a class name, or any
// number of them.
type segment struct {
	glob   string
	any    bool // "**"
	nested bool // written after "$": the name must be that of a nested class
}

// isSeparator reports whether the byte at i parts two names: a '/' always
// (patterns have '.' there), a '$' where it stands alone between two names.
func isSeparator(name string, i int) bool {
	if isSlash(name[i]) {
		return true
	}
	if name[i] != '$' || i == 0 || i+1 == len(name) {
		return false
	}
	before, after := name[i-1], name[i+1]
	return before != '$' && after != '$' && !isSlash(before) && !isSlash(after)
}

func isSlash(c byte) bool { return c == '/' || c == '.' }

// segmentEnd is the position of the separator after the name at pos, or the
// length of the whole.
func segmentEnd(name string, pos int) int {
	for ; pos < len(name); pos++ {
		if isSeparator(name, pos) {
			return pos
		}
	}
	return pos
}

// matchName matches a class name. Trying only the latest "**" again is enough:
// what an earlier one could take in addition, the latest can as well.
func matchName(pattern []segment, name string) bool {
	p, pos := 0, 0
	retry, retryPos := -1, 0
	for pos <= len(name) {
		if p < len(pattern) && pattern[p].any && (!pattern[p].nested || isNested(name, pos)) {
			retry, retryPos = p, pos
			p++
			continue
		}
		end := segmentEnd(name, pos)
		if p < len(pattern) && !pattern[p].any && pattern[p].matches(name, pos, end) {
			p++
			pos = end + 1
			continue
		}
		if retry < 0 {
			return false
		}
		retryPos = segmentEnd(name, retryPos) + 1
		p, pos = retry+1, retryPos
	}
	for p < len(pattern) && pattern[p].any && !pattern[p].nested {
		p++
	}
	return p == len(pattern)
}

func (s *segment) matches(name string, start, end int) bool {
	return (!s.nested || isNested(name, start)) && matchGlob(s.glob, name[start:end])
}

// isNested reports whether the name that begins at pos follows a '$'.
func isNested(name string, pos int) bool { return pos > 0 && pos <= len(name) && name[pos-1] == '$' }

// matchesAll reports whether a glob matches every name.
func matchesAll(glob string) bool { return glob == "*" }

// matchGlob matches a text against a glob in which '*' stands for any run of
// bytes.
func matchGlob(glob, text string) bool {
	if !strings.Contains(glob, "*") {
		return glob == text
	}
	g, t := 0, 0
	retry, retryText := -1, 0
	for t < len(text) {
		switch {
		case g < len(glob) && glob[g] == '*':
			retry, retryText = g, t
			g++
		case g < len(glob) && glob[g] == text[t]:
			g++
			t++
		case retry >= 0:
			retryText++
			g, t = retry+1, retryText
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

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
