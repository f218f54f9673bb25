package probeset

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a set.
type Problem struct {
	File   string // empty for a set that was not read from one
	Line   int    // 0 where it has none
	Where  string // such as "probe checkout, when"; may be empty
	Detail string
	Remedy string // may be empty
}

// String is one line: probes.yaml:12: probe checkout, when: …; write ==.
func (p Problem) String() string {
	var s strings.Builder
	switch {
	case p.Line > 0:
		fmt.Fprintf(&s, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&s, "%s: ", p.File)
	}
	if p.Where != "" {
		s.WriteString(p.Where + ": ")
	}
	s.WriteString(p.Detail)
	if p.Remedy != "" {
		s.WriteString("; " + p.Remedy)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s.String())
}

// Error is all that is wrong with a set, in the order of its lines; at least one.
type Error struct{ Problems []Problem }

// Error is a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// mostProblems bounds what is told of one file: who reads a thousand lines of a wrong
// one has more to do than they say.
const mostProblems = 100

// failure is the error for problems, nil for none.
func failure(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	if more := len(problems) - mostProblems; more > 0 {
		problems = append(problems[:mostProblems:mostProblems], Problem{
			File: problems[0].File, Detail: fmt.Sprintf("and %d more problems", more),
		})
	}
	return &Error{Problems: problems}
}
