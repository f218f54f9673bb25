package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// PatternError says what is wrong with a pattern, and where.
type PatternError struct {
	Pattern string
	Offset  int // byte of Pattern
	Detail  string
}

// Column is the position of the defect in letters, from 1.
func (e *PatternError) Column() int {
	return utf8.RuneCountInString(e.Pattern[:e.Offset]) + 1
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %q, column %d: %s", e.Pattern, e.Column(), e.Detail)
}

// Caret is the pattern with a line under it that points at the defect.
func (e *PatternError) Caret() string {
	return e.Pattern + "\n" + strings.Repeat(" ", e.Column()-1) + "^"
}
