package condition

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrorKind says what is wrong with a condition.
type ErrorKind string

// The kinds of errors.
const (
	Syntax       ErrorKind = "syntax"       // it cannot be read
	Unknown      ErrorKind = "unknown"      // a name means nothing here
	Mistyped     ErrorKind = "type"         // things that cannot be compared
	Inaccessible ErrorKind = "access"       // the JVM would not let the method read it
	Impure       ErrorKind = "purity"       // a call that could change something, wait or take long
	Untimely     ErrorKind = "moment"       // what is not known yet, or no longer
	TooMuch      ErrorKind = "limit"        // longer or deeper than conditions may be
	Unproven     ErrorKind = "not provable" // a class that would have to be looked at is not there
)

// Error is what is wrong with a condition, and where.
type Error struct {
	Kind   ErrorKind
	Text   string // the whole condition
	Offset int    // in bytes
	Length int
	Detail string
	Remedy string // what to write instead; may be empty
}

// Error is the one-line form.
func (e *Error) Error() string {
	s := fmt.Sprintf("condition, column %d: %s", e.column()+1, e.Detail)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *Error) column() int { return utf8.RuneCountInString(e.Text[:min(e.Offset, len(e.Text))]) }

// Render is the form for people: the condition, a caret below what is wrong, and why.
//
//	$1.tier = "gold"
//	        ^
//	'=' does not compare; write ==
func (e *Error) Render() string {
	end := min(e.Offset+max(e.Length, 1), len(e.Text))
	wide := 1
	if e.Offset < end {
		wide = utf8.RuneCountInString(e.Text[e.Offset:end])
	}
	lines := []string{
		oneLine(e.Text),
		strings.Repeat(" ", e.column()) + strings.Repeat("^", max(wide, 1)),
		e.Detail,
	}
	if e.Remedy != "" {
		lines = append(lines, e.Remedy)
	}
	return strings.Join(lines, "\n")
}

// oneLine keeps the columns of a text and its line breaks from the screen.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
