// Package expr parses conditions such as
//
//	$1.customer.tier == "gold" && $2 > 100
//
// and values such as $1.customer.name into syntax trees. What an expression means in a
// method is the business of package condition.
//
//	condition  = and { "||" and } .
//	and        = not { "&&" not } .
//	not        = "!" not | comparison | "(" condition ")" .
//	comparison = value [ op value | "in" "(" constant { "," constant } ")"
//	           | "matches" string | "is" class ] .
//	op         = "==" | "!=" | "<" | "<=" | ">" | ">=" .
//	value      = constant | path .
//	path       = ( "$" number | "$" name | "tx." name ) { "." name [ "()" ] | ".(" class ")" | "[" index "]" } .
//	constant   = 12 | 7L | 0x1f | 2.5 | 5ms | 'c' | "text" | true | false | null | CONSTANT .
//
// In the rule files that ship with Sonde ([ParseOwn]), a path may also begin with a static call, $(a.b.C).name(), and calls may
// have a string as their argument. At the end of a path, name("text", $parent) calls the method with a second argument, the ids of
// the traced call that is running. The call is skipped if none is running. name("text", $parent unless p) is also skipped if the
// value of path p is true.
package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Expr is a parsed expression. It is immutable.
type Expr struct {
	text string
	root Node
}

// Text returns the text that was parsed. The two parts of a split expression have the
// text of the whole.
func (e *Expr) Text() string { return e.text }

// String returns the expression in canonical form, which parses to an equal tree.
func (e *Expr) String() string { return e.root.String() }

// Root returns the root of the syntax tree.
func (e *Expr) Root() Node { return e.root }

// Values that are known only when the method has returned or thrown.
const (
	Return    = "return"
	Exception = "exception"
	Elapsed   = "elapsed"
)

// ReadsExit reports whether the expression reads a value that is known only at the exit
// of the method.
func (e *Expr) ReadsExit() bool { return readsExit(e.root) }

// ReadsElapsed reports whether the expression reads $elapsed.
func (e *Expr) ReadsElapsed() bool {
	return slices.ContainsFunc(e.Paths(), func(p *Path) bool { return p.Root == Elapsed })
}

func readsExit(n Node) bool {
	return slices.ContainsFunc(paths(n), func(p *Path) bool {
		return p.Root == Return || p.Root == Exception || p.Root == Elapsed
	})
}

// Paths returns all paths in the expression.
func (e *Expr) Paths() []*Path { return paths(e.root) }

func paths(n Node) (all []*Path) {
	switch n := n.(type) {
	case *Logic:
		return append(paths(n.L), paths(n.R)...)
	case *Not:
		return paths(n.X)
	case *Comparison:
		return append(paths(n.L), paths(n.R)...)
	case *Membership:
		all = paths(n.X)
		for _, x := range n.List {
			all = append(all, paths(x)...)
		}
		return all
	case *Match:
		return paths(n.X)
	case *InstanceOf:
		return paths(n.X)
	case *Path:
		return []*Path{n}
	}
	return nil
}

// Split divides a condition, which may be nil, into the part to check at the entry of the
// method and the part to check at its exit, either of which is nil if there is nothing to
// check. Whatever the entry can decide is checked there, so that calls that fail it cost
// no more than that. A positive slowerThan adds $elapsed >= slowerThan, checked first at
// the exit because it costs least.
func Split(e *Expr, slowerThan time.Duration) (entry, exit *Expr) {
	var early, late []Node
	if slowerThan > 0 {
		bound := &Literal{Kind: Duration, Number: slowerThan.Nanoseconds()}
		late = append(late, &Comparison{Op: ">=", L: &Path{Root: Elapsed}, R: bound})
	}
	text := ""
	if e != nil {
		text = e.text
		for _, n := range conjuncts(e.root) {
			if readsExit(n) {
				late = append(late, n)
			} else {
				early = append(early, n)
			}
		}
	}
	return join(text, early), join(text, late)
}

// conjuncts returns the parts of a condition that && joins.
func conjuncts(n Node) []Node {
	if and, is := n.(*Logic); is && !and.Or {
		return append(conjuncts(and.L), conjuncts(and.R)...)
	}
	return []Node{n}
}

// join joins conditions by &&.
func join(text string, parts []Node) *Expr {
	if len(parts) == 0 {
		return nil
	}
	root := parts[0]
	for _, n := range parts[1:] {
		root = &Logic{Span: root.Place().To(n.Place()), L: root, R: n}
	}
	return &Expr{text, root}
}

// Span is a range of the text, in bytes.
type Span struct{ At, End int }

// Place returns the span.
func (s Span) Place() Span { return s }

// To returns the span from one to another, in whichever order they are.
func (s Span) To(other Span) Span { return Span{min(s.At, other.At), max(s.End, other.End)} }

// Node is a node of the syntax tree.
type Node interface {
	Place() Span
	String() string
}

// The nodes.
type (
	// Logic is L && R or L || R.
	Logic struct {
		Span
		Or   bool
		L, R Node
	}
	// Not is !X.
	Not struct {
		Span
		X Node
	}
	// Comparison is L Op R.
	Comparison struct {
		Span
		Op   string
		L, R Node
	}
	// Membership is X in (a, b, ...).
	Membership struct {
		Span
		X    Node
		List []Node
	}
	// Match is X matches "glob".
	Match struct {
		Span
		X       Node
		Pattern *Literal
	}
	// InstanceOf is X is a.b.C.
	InstanceOf struct {
		Span
		X         Node
		Class     string // as written, with dots
		ClassSpan Span
	}
	// Literal is a constant.
	Literal struct {
		Span
		Kind   LiteralKind
		Number int64 // of an integer, duration (nanoseconds), char, or boolean (0, 1)
		Float  float64
		Text   string // of a string
		Long   bool   // an integer with the suffix L
	}
	// Name is a bare word: a constant of an enum.
	Name struct {
		Span
		Text string
	}
	// Path is a value of the method, and the steps from there.
	Path struct {
		Span
		Root  string // the name after the $: a number, a parameter, this, ...; tx for a tag; "" with a class
		Class string // whose static method the first step calls; as written, with dots
		Steps []Step
	}
	// Step is a field, a call, an element, or the same object as another class.
	Step struct {
		Span
		Name  string
		Class string   // as written, with dots; empty in other steps
		Call  bool     // with ()
		Arg   *Literal // of a call, a string; nil without one
		Hands bool     // the call has the name of the running traced call as its second argument
		// Unless is the value, a boolean, that keeps such a call from being made; nil without one.
		Unless *Path
		Index  *Literal // of an element; otherwise nil
	}
)

// LiteralKind is the kind of a constant.
type LiteralKind uint8

// The kinds of constants.
const (
	Int LiteralKind = iota
	Float
	Duration
	Char
	String
	Bool
	Null
)

func (n *Logic) String() string {
	op := " && "
	if n.Or {
		op = " || "
	}
	return "(" + n.L.String() + op + n.R.String() + ")"
}

func (n *Not) String() string { return "!(" + n.X.String() + ")" }

func (n *Comparison) String() string { return n.L.String() + " " + n.Op + " " + n.R.String() }

func (n *Membership) String() string {
	var list []string
	for _, x := range n.List {
		list = append(list, x.String())
	}
	return n.X.String() + " in (" + strings.Join(list, ", ") + ")"
}

func (n *Match) String() string { return n.X.String() + " matches " + n.Pattern.String() }

func (n *InstanceOf) String() string { return n.X.String() + " is " + n.Class }

func (n *Name) String() string { return n.Text }

func (n *Literal) String() string {
	switch n.Kind {
	case Int:
		if n.Long {
			return strconv.FormatInt(n.Number, 10) + "L"
		}
		return strconv.FormatInt(n.Number, 10)
	case Float:
		s := strconv.FormatFloat(n.Float, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case Duration:
		return strconv.FormatInt(n.Number, 10) + "ns"
	case Char:
		return "'" + escape(string(rune(n.Number)), '\'') + "'"
	case String:
		return `"` + escape(n.Text, '"') + `"`
	case Bool:
		return strconv.FormatBool(n.Number != 0)
	}
	return "null"
}

func (n *Path) String() string {
	var b strings.Builder
	if n.Root != "tx" {
		b.WriteByte('$')
	}
	if b.WriteString(n.Root); n.Class != "" {
		b.WriteString("(" + n.Class + ")")
	}
	for _, s := range n.Steps {
		switch {
		case s.Index != nil:
			b.WriteString("[" + s.Index.String() + "]")
		case s.Class != "":
			b.WriteString(".(" + s.Class + ")")
		case s.Arg != nil:
			b.WriteString("." + s.Name + "(" + s.Arg.String())
			if s.Hands {
				b.WriteString(", $" + parentName)
			}
			if s.Unless != nil {
				b.WriteString(" " + unlessWord + " " + s.Unless.String())
			}
			b.WriteByte(')')
		case s.Call:
			b.WriteString("." + s.Name + "()")
		default:
			b.WriteString("." + s.Name)
		}
	}
	return b.String()
}

// escape escapes a text for the lexer.
func escape(text string, quote rune) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ErrorKind is a kind of error in an expression.
type ErrorKind string

// The kinds of errors.
const (
	Syntax       ErrorKind = "syntax"       // it cannot be parsed
	Unknown      ErrorKind = "unknown"      // an unknown name
	Mistyped     ErrorKind = "type"         // operands that cannot be compared
	Inaccessible ErrorKind = "access"       // a member that the JVM does not let the method use
	Impure       ErrorKind = "purity"       // a call that could change something, wait or take long
	Untimely     ErrorKind = "moment"       // a value that is not known at that moment
	TooMuch      ErrorKind = "limit"        // longer or deeper than allowed
	Unproven     ErrorKind = "not provable" // a class that would have to be checked is not loaded
)

// Error is an error in an expression, with its place.
type Error struct {
	Kind   ErrorKind
	Text   string // the whole expression
	Offset int    // in bytes
	Length int
	Detail string
	Remedy string // what to write instead; may be empty
}

// NewError returns an error at a place of a text.
func NewError(kind ErrorKind, text string, at Span, detail, remedy string) *Error {
	return &Error{Kind: kind, Text: text, Offset: at.At, Length: at.End - at.At, Detail: detail, Remedy: remedy}
}

// Error returns the one-line form.
func (e *Error) Error() string {
	s := fmt.Sprintf("condition, column %d: %s", e.column()+1, e.Detail)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *Error) column() int { return utf8.RuneCountInString(e.Text[:min(e.Offset, len(e.Text))]) }

// Caret returns the text on one line and, below it, carets that mark the error.
//
//	$1.tier = "gold"
//	        ^
func (e *Error) Caret() string {
	end := min(e.Offset+max(e.Length, 1), len(e.Text))
	width := 1
	if e.Offset < end {
		width = utf8.RuneCountInString(e.Text[e.Offset:end])
	}
	return pattern.Caret(e.Text, e.column(), max(width, 1))
}
