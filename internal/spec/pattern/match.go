package pattern

import "strings"

// segment matches one name between the separators of a class name, or any
// number of them.
type segment struct {
	glob   string
	any    bool // "**"
	nested bool // written after "$": the name must be that of a nested class
}

// isSeparator reports whether the byte at i separates two names: a '/' always (a '.' in
// patterns), a '$' where it is alone between two names.
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

// segmentEnd returns the position of the separator after the name at pos, or the length of
// the whole.
func segmentEnd(name string, pos int) int {
	for ; pos < len(name); pos++ {
		if isSeparator(name, pos) {
			return pos
		}
	}
	return pos
}

// matchName matches a class name. It is enough to retry the latest "**": it can match
// whatever an earlier one could match in addition.
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

// isNested reports whether the name at pos follows a '$'.
func isNested(name string, pos int) bool { return pos > 0 && pos <= len(name) && name[pos-1] == '$' }

// matchGlob matches a text against a glob in which '*' stands for any run of bytes.
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

// ClassBounds returns a prefix and a suffix that the internal name of every matching class
// has if each "$" in it is replaced by "/". It is for a cheap first check before
// MatchClass.
func (p *Pattern) ClassBounds() (prefix, suffix string) {
	switch {
	case p.called != nil:
		return p.callers.ClassBounds()
	case p.NeedsTypes():
		return "", ""
	}
	globs := make([]string, len(p.class))
	for i, s := range p.class {
		globs[i] = separators.Replace(s.glob)
	}
	whole := strings.Join(globs, "/")
	first, last := strings.IndexByte(whole, '*'), strings.LastIndexByte(whole, '*')
	if first < 0 {
		return whole, ""
	}
	// A "**" may match nothing, so there need be no separator next to it.
	prefix, suffix = whole[:first], whole[last+1:]
	if strings.HasPrefix(whole[first:], "**") {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	if strings.HasSuffix(whole[:last+1], "**") {
		suffix = strings.TrimPrefix(suffix, "/")
	}
	return prefix, suffix
}

var separators = strings.NewReplacer("$", "/", ".", "/")

// Distance returns the edit distance of two names: how many letters to insert, remove or
// replace, or pairs to swap.
func Distance(a, b string) int {
	older, before, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		older, before, row = before, row, older
		row[0] = i + 1
		for j := range len(b) {
			replaced := before[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, before[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
