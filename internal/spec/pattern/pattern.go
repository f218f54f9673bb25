// Package pattern selects methods: by patterns, sets of patterns, and sequences of the
// methods below which a probe acts.
//
//	Pattern = [ "!" ] ( Methods | Methods " calls " Named ) .
//	Methods = Named | "@" Class .
//	Named   = Class [ "+" ] "." Method [ "(" [ Params ] ")" ] [ ":" Type ] .
//	Class   = Segment { ( "." | "$" ) Segment } .
//	Segment = "**" | name, in which "*" stands for any run of letters .
//	Method  = name, in which "*" stands for any run of letters
//	        | "<init>" | "<clinit>" .
//	Params  = ".." | Type { "," Type } [ "," ".." ] .
//	Type    = ( "int" | … | "*" | Class ) { "[]" } .
//
// The last segment is always the method: com.acme.Order.pay is every overload of pay,
// com.acme.Order.* every method of Order, com.acme.*.* every method of the classes
// directly in com.acme. There is one short form: a pattern that ends in ".**" means every
// method of the package or class that precedes it, and of everything below. So com.acme.** is the
// whole package with its subpackages, com.acme.Order.** the class with its nested
// classes, and ** everything.
//
// A "*" never leaves its segment; a "**" stands for any number of whole segments,
// including none: **.Service.* matches Service in every package. A nested class is a
// segment of its own: Order.Item.price and Order$Item.price both name its method, Order.*
// does not match its methods, and Order$**.* matches every method of the classes nested in Order, but none of
// Order itself. A "$" that cannot separate two names, as in $Proxy1 or Order$$Lambda, is an ordinary letter.
//
// Order#pay and Order::pay are other spellings of Order.pay, com/acme/Order.pay is one of
// com.acme.Order.pay, and Order::new of Order.<init>.
//
// Constructors and static initializers are methods called <init> and <clinit>; a bare "*"
// matches them, too. Without a parameter list any parameters match; ".." at its end
// stands for the remaining ones. In a type a bare "*" is any type, including primitives
// and arrays.
//
// Some patterns select methods by more than their names. They match these methods only after LearnAll
// or LearnLoaded has read the classes.
//
//   - java.sql.Statement.execute* names a class without wildcards. Methods that have no code
//     there stand for their implementations in all subtypes, others for themselves.
//   - java.util.Map+.get is get in Map and in all subtypes of Map.
//   - @com.acme.Timed is every method that carries the annotation, and every method, without
//     constructors, of the classes that carry it. A method without code stands for its
//     implementations.
//   - com.acme.** calls java.net.Socket.connect is every method of com.acme.** that contains
//     such a call.
package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// Pattern selects methods by class, name, parameters and result, and perhaps by more than
// names. But for what it has learned it is immutable. It is safe for concurrent use, and
// matching does not allocate.
type Pattern struct {
	text     string
	exclude  bool
	class    []segment
	subtypes bool   // and its subtypes
	method   string // a glob

	hasParams bool
	params    []typePattern
	rest      bool         // the parameter list ends in ".."
	result    *typePattern // nil: any

	annotation      []segment // selects the methods that carry it
	callers, called *Pattern  // selects the methods of callers that call a method of called
	learned         *learned  // nil if names are enough, whatever classes contain
}

// String returns the pattern as it was written, without blanks.
func (p *Pattern) String() string { return p.text }

// Excludes reports whether the pattern was written with a leading "!".
func (p *Pattern) Excludes() bool { return p.exclude }

// MatchClass reports whether the pattern can match a method of the class with
// this internal name, such as com/acme/Order$Item.
func (p *Pattern) MatchClass(internalName string) bool {
	return p.namesClass(internalName) && !p.subtypes || p.learned != nil && p.learned.hasClass(internalName)
}

// namesClass reports whether the pattern names a class.
func (p *Pattern) namesClass(internalName string) bool {
	return p.class != nil && matchName(p.class, internalName)
}

// MatchMethod reports whether the pattern names a method of this name and
// descriptor, whatever its class.
func (p *Pattern) MatchMethod(name, desc string) bool {
	if !matchGlob(p.method, name) {
		return false
	}
	if !p.hasParams && p.result == nil {
		return true
	}
	m, err := descriptor.ParseMethod(desc)
	if err != nil {
		return false
	}
	if p.result != nil && !p.result.match(m.Return()) {
		return false
	}
	return !p.hasParams || p.matchParams(m)
}

// Match reports whether the pattern matches a method.
func (p *Pattern) Match(m classfile.MethodRef) bool {
	return p.namesClass(m.Class) && !p.subtypes && p.MatchMethod(m.Name, m.Descriptor) || p.learned != nil && p.learned.hasMethod(m)
}

// anyMethod reports whether the pattern matches every method of the classes that it names.
func (p *Pattern) anyMethod() bool {
	return p.class != nil && !p.subtypes && p.method == "*" && p.result == nil && (!p.hasParams || p.rest && len(p.params) == 0)
}

func (p *Pattern) matchParams(m descriptor.Method) bool {
	n := 0
	for i, t := range m.Params() {
		if i == len(p.params) {
			return p.rest
		}
		if !p.params[i].match(t) {
			return false
		}
		n++
	}
	return n == len(p.params)
}

// typePattern matches one type. Exactly one of any, primitive and class is set; it
// describes the element type.
type typePattern struct {
	any       bool
	primitive byte // its letter in descriptors, 'V' for void
	class     []segment
	dims      int
}

func (tp *typePattern) match(t descriptor.Type) bool {
	dims := t.Dimensions()
	if tp.any {
		return dims >= tp.dims
	}
	if dims != tp.dims {
		return false
	}
	t = t[dims:]
	if tp.primitive != 0 {
		return t.Kind() == tp.primitive
	}
	return t.Kind() == 'L' && matchName(tp.class, t.ClassName())
}

// ClassPattern selects classes by name: it is the part of a [Pattern] before the method,
// as in com.acme.Order, com.acme.dao.** or **.*Controller. It is immutable, and matching
// does not allocate.
type ClassPattern struct {
	text     string
	segments []segment
}

// ParseClass parses the pattern of a class. The error is an [Error].
func ParseClass(text string) (*ClassPattern, error) {
	p := newParser(text)
	if p.text == "" {
		p.fail(0, "a class is expected here, as in com.acme.Order or com.acme.**")
	}
	pattern := &ClassPattern{text: p.text, segments: p.segments(0, len(p.text))}
	if p.err != nil {
		return nil, p.err
	}
	return pattern, nil
}

// String returns the pattern as it was written, without blanks.
func (c *ClassPattern) String() string { return c.text }

// Match reports whether the pattern matches the class with this internal name, such as
// com/acme/Order$Item.
func (c *ClassPattern) Match(internalName string) bool { return matchName(c.segments, internalName) }

// ErrNothingIncluded is the error of a set that has no pattern, or only exclusions.
var ErrNothingIncluded = errors.New("no pattern includes methods: give at least one without a leading !; ** matches every method")

// Set is a set of patterns. It contains a method if at least one pattern matches it and no
// exclusion does, whatever their order.
type Set struct {
	include, exclude []*Pattern
}

// ParseAll parses several patterns.
func ParseAll(texts ...string) ([]*Pattern, error) {
	patterns := make([]*Pattern, len(texts))
	for i, text := range texts {
		var err error
		if patterns[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// ParseSet parses the patterns of a set.
func ParseSet(texts ...string) (*Set, error) {
	patterns, err := ParseAll(texts...)
	if err != nil {
		return nil, err
	}
	return NewSet(patterns...)
}

// NewSet returns the set of some patterns, or [ErrNothingIncluded] if they can never match.
func NewSet(patterns ...*Pattern) (*Set, error) {
	s := &Set{}
	for _, p := range patterns {
		if p.exclude {
			s.exclude = append(s.exclude, p)
		} else {
			s.include = append(s.include, p)
		}
	}
	if len(s.include) == 0 {
		return nil, ErrNothingIncluded
	}
	return s, nil
}

// Includes returns the patterns without the exclusions.
func (s *Set) Includes() []*Pattern { return s.include }

// Patterns returns all patterns, exclusions last.
func (s *Set) Patterns() []*Pattern { return slices.Concat(s.include, s.exclude) }

// MatchClass reports whether the set can contain a method of the class. It is a cheap
// check before a class is read.
func (s *Set) MatchClass(internalName string) bool {
	matches := func(p *Pattern) bool { return p.MatchClass(internalName) }
	excludes := func(p *Pattern) bool { return p.anyMethod() && p.namesClass(internalName) }
	return slices.ContainsFunc(s.include, matches) && !slices.ContainsFunc(s.exclude, excludes)
}

// Match reports whether the set contains a method.
func (s *Set) Match(m classfile.MethodRef) bool {
	matches := func(p *Pattern) bool { return p.Match(m) }
	return slices.ContainsFunc(s.include, matches) && !slices.ContainsFunc(s.exclude, matches)
}

// Error is an error in a pattern or a sequence, with its place.
type Error struct {
	Kind   string // pattern or sequence
	Text   string // all of it
	Offset int    // in bytes
	Detail string
	Remedy string // what to write instead; may be empty
}

// Column returns the position of the error in characters, from 1.
func (e *Error) Column() int { return utf8.RuneCountInString(e.Text[:e.Offset]) + 1 }

func (e *Error) Error() string {
	s := fmt.Sprintf("%s %q, column %d: %s", e.Kind, e.Text, e.Column(), e.Detail)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Caret returns the text on one line and, below it, a caret that marks the error.
func (e *Error) Caret() string { return Caret(e.Text, e.Column()-1, 1) }

// Caret returns a text on one line and, below it, carets that mark some columns.
func Caret(text string, column, width int) string {
	return OneLine(text) + "\n" + strings.Repeat(" ", column) + strings.Repeat("^", width)
}

// OneLine returns a text with one column for each character.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
