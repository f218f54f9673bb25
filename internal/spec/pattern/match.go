package pattern

import "strings"

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
