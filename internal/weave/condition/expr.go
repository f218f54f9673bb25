package condition

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Expr is a condition that was read: its shape, and nothing about what it means.
type Expr struct {
	text string
	root node
}

// Text returns the condition as it was written.
func (e *Expr) Text() string { return e.text }

// String returns the condition in the canonical form, which reads back as itself.
func (e *Expr) String() string { return e.root.String() }

// span is a piece of the text.
type span struct{ at, end int }

func (s span) place() span { return s }

// to is the span from one to another, whichever stands first.
func (s span) to(other span) span { return span{min(s.at, other.at), max(s.end, other.end)} }

// node is a part of a condition.
type node interface {
	place() span
	String() string
}

type (
	// logic is l && r or l || r.
	logic struct {
		span
		or   bool
		l, r node
	}
	// negation is !x.
	negation struct {
		span
		x node
	}
	// comparison is l op r.
	comparison struct {
		span
		op   string
		l, r node
	}
	// membership is x in (a, b, ...).
	membership struct {
		span
		x    node
		list []node
	}
	// likeness is x matches "glob".
	likeness struct {
		span
		x       node
		pattern *literal
	}
	// instance is x is a.b.C.
	instance struct {
		span
		x     node
		class string // as written, with dots
		named span
	}
	// literal is a constant.
	literal struct {
		span
		kind   litKind
		number int64 // of an integer, duration (nanoseconds), char, or boolean (0, 1)
		float  float64
		text   string // of a string; of a number as written
		long   bool   // said to be one
	}
	// name is a bare word: a constant of an enum.
	name struct {
		span
		text string
	}
	// path is something the method has, and the way from there.
	path struct {
		span
		root  string // what is behind the $: a number, a parameter's name, this, ...; tx for a tag
		steps []step
	}
	step struct {
		span
		name  string   // of a member
		call  bool     // with ()
		index *literal // in brackets; else nil
	}
)

type litKind uint8

const (
	litInt litKind = iota
	litFloat
	litDuration
	litChar
	litString
	litBool
	litNull
)

func (n *logic) String() string {
	op := " && "
	if n.or {
		op = " || "
	}
	return "(" + n.l.String() + op + n.r.String() + ")"
}

func (n *negation) String() string { return "!(" + n.x.String() + ")" }

func (n *comparison) String() string { return n.l.String() + " " + n.op + " " + n.r.String() }

func (n *membership) String() string {
	var list []string
	for _, x := range n.list {
		list = append(list, x.String())
	}
	return n.x.String() + " in (" + strings.Join(list, ", ") + ")"
}

func (n *likeness) String() string { return n.x.String() + " matches " + n.pattern.String() }

func (n *instance) String() string { return n.x.String() + " is " + n.class }

func (n *name) String() string { return n.text }

func (n *literal) String() string {
	switch n.kind {
	case litInt:
		if n.long {
			return strconv.FormatInt(n.number, 10) + "L"
		}
		return strconv.FormatInt(n.number, 10)
	case litFloat:
		s := strconv.FormatFloat(n.float, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case litDuration:
		return strconv.FormatInt(n.number, 10) + "ns"
	case litChar:
		return "'" + escape(string(rune(n.number)), '\'') + "'"
	case litString:
		return `"` + escape(n.text, '"') + `"`
	case litBool:
		return strconv.FormatBool(n.number != 0)
	}
	return "null"
}

func (n *path) String() string {
	var b strings.Builder
	if n.root != "tx" {
		b.WriteByte('$')
	}
	b.WriteString(n.root)
	for _, s := range n.steps {
		switch {
		case s.index != nil:
			b.WriteString("[" + s.index.String() + "]")
		case s.call:
			b.WriteString("." + s.name + "()")
		default:
			b.WriteString("." + s.name)
		}
	}
	return b.String()
}

// escape writes a text so that the lexer reads it back.
func escape(text string, quote rune) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00` + string(hex[r>>4]) + string(hex[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

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

// glob is a pattern in which '*' stands for any text and '?' for any one char. It is
// matched by a fixed sequence of searches, one for each piece between stars, each
// from where the last one ended: linear in the pattern, and never tried again. A
// regular expression could take exponential time inside a method of the program.
type glob struct {
	pieces []piece // between stars; one where there is none
}

// piece is text without stars: parts of it that stand apart by '?'.
type piece struct {
	parts []part
	size  int // in chars
}

// part is plain text at an offset of its piece.
type part struct {
	at   int
	text string
}

// mostPieces bounds the code that a pattern becomes.
const mostPieces = 12

// compileGlob reads a pattern. The detail says what is wrong with it.
func compileGlob(text string) (g glob, detail, remedy string) {
	var p piece
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			p.parts = append(p.parts, part{p.size - chars(b.String()), b.String()})
			b.Reset()
		}
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes) && strings.ContainsRune(`*?\`, runes[i+1]):
			i++
			b.WriteRune(runes[i])
			p.size++
		case r == '*':
			flush()
			if p.size > 0 || len(g.pieces) == 0 {
				g.pieces = append(g.pieces, p)
			}
			p = piece{}
			if i == len(runes)-1 {
				g.pieces = append(g.pieces, p)
			}
		case r == '?':
			flush()
			p.size++
		default:
			b.WriteRune(r)
			p.size += chars(string(r))
		}
	}
	flush()
	if p.size > 0 || len(g.pieces) == 0 {
		g.pieces = append(g.pieces, p)
	}
	if len(g.pieces) > mostPieces {
		return g, "the pattern has too many stars", ""
	}
	for i := 1; i < len(g.pieces)-1; i++ {
		if p := g.pieces[i]; len(p.parts) != 1 || p.parts[0].at != 0 || chars(p.parts[0].text) != p.size {
			return g, "'?' between two stars", "use '?' before the first star or behind the last one"
		}
	}
	return g, "", ""
}

// chars is how many chars a text has in Java.
func chars(text string) int { return len(utf16.Encode([]rune(text))) }
