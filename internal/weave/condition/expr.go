package condition

import (
	"strconv"
	"strings"
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
