package waterfall

import (
	"strings"
	"unicode/utf8"
)

// Styles of a terminal, as it is told of them.
type style string

const (
	normal style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	violet style = "35"
	cyan   style = "36"
)

// A line is put together of pieces, each with its style. Its width is known whatever
// the styles are.
type line struct {
	text    strings.Builder
	width   int
	colours bool
}

func (l *line) add(s style, text string) {
	if text == "" {
		return
	}
	l.width += utf8.RuneCountInString(text)
	if l.colours && s != normal {
		l.text.WriteString("\x1b[" + string(s) + "m" + text + "\x1b[0m")
		return
	}
	l.text.WriteString(text)
}

// pad fills up to a column.
func (l *line) pad(column int) { l.add(normal, strings.Repeat(" ", max(0, column-l.width))) }

// right adds a text that ends at a column.
func (l *line) right(s style, text string, column int) {
	l.pad(column - utf8.RuneCountInString(text))
	l.add(s, text)
}

func (l *line) String() string { return strings.TrimRight(l.text.String(), " ") }
