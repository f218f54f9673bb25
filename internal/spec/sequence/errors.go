package sequence

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says what is wrong with a sequence, and where.
type Error struct {
	Text   string // the whole sequence
	Offset int    // byte of Text
	Detail string
	Remedy string // what to write instead; may be empty
}

// Column is the position of the defect in letters, from 1.
func (e *Error) Column() int { return utf8.RuneCountInString(e.Text[:e.Offset]) + 1 }

func (e *Error) Error() string {
	s := fmt.Sprintf("sequence %q, column %d: %s", e.Text, e.Column(), e.Detail)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Caret is the sequence with a line under it that points at the defect. What would
// break the line is shown as a blank.
func (e *Error) Caret() string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, e.Text)
	return line + "\n" + strings.Repeat(" ", e.Column()-1) + "^"
}
