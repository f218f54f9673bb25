// Package probe holds what a user asks to be instrumented, as data: method
// patterns and sets of them.
//
//	Pattern = [ "!" ] Class "." Method [ "(" [ Params ] ")" ] [ ":" Type ] .
//	Class   = Segment { ( "." | "$" ) Segment } .
//	Segment = "**" | name, in which "*" stands for any run of letters .
//	Method  = name, in which "*" stands for any run of letters
//	        | "<init>" | "<clinit>" .
//	Params  = ".." | Type { "," Type } [ "," ".." ] .
//	Type    = ( "int" | … | "*" | Class ) { "[]" } .
//
// The last segment is always the method: com.acme.Order.pay is every overload
// of pay, com.acme.Order.* every method of Order, com.acme.*.* every method of
// the classes directly in com.acme. There is one short form: a pattern that
// ends in ".**" means every method of whatever the rest names and of all
// below it, so com.acme.** is the whole package with its sub-packages,
// com.acme.Order.** the class with its nested classes, and ** everything.
//
// A "*" never leaves its segment, a "**" stands for any number of whole
// segments, none included: **.Service.* takes Service from every package.
// A nested class is a segment of its own: Order.Item and Order$Item both name
// it, Order.* does not reach into it, Order$** is all that is nested in Order
// and not Order itself. A "$" that cannot separate two names,
// as in $Proxy1 or Order$$Lambda, is a letter like any other.
//
// Constructors and static initialisers are methods called <init> and
// <clinit>; a bare "*" matches them too. Without a parameter list any
// parameters match; ".." at its end stands for the rest. In a type a bare "*"
// is any type, primitives and arrays included.
package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// Pattern picks methods by class, name, parameters and result. It is immutable
// and matching allocates nothing.
type Pattern struct {
	text    string
	exclude bool
	class   []segment
	method  string // a glob

	hasParams bool
	params    []typePattern
	rest      bool         // the parameter list ends in ".."
	result    *typePattern // nil: any
}

// String is the pattern as it was written, blanks removed.
func (p *Pattern) String() string { return p.text }

// Excludes reports whether the pattern was written with a leading "!".
func (p *Pattern) Excludes() bool { return p.exclude }

// MatchClass reports whether the pattern can match a method of the class with
// this internal name, such as com/acme/Order$Item.
func (p *Pattern) MatchClass(internalName string) bool {
	return matchName(p.class, internalName)
}

// MatchMethod reports whether the pattern matches a method of this name and
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

// Match reports whether the pattern matches a method of a class.
func (p *Pattern) Match(internalName, name, desc string) bool {
	return p.MatchClass(internalName) && p.MatchMethod(name, desc)
}

// anyMethod reports whether the pattern leaves no method of a class out.
func (p *Pattern) anyMethod() bool {
	return matchesAll(p.method) && p.result == nil && (!p.hasParams || p.rest && len(p.params) == 0)
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

// typePattern matches one type. Exactly one of any, primitive and class says
// what the element type must be.
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

// ClassPattern picks classes by name: what stands before the method in a
// [Pattern], as in com.acme.Order, com.acme.dao.** or **.*Controller. It is
// immutable and matching allocates nothing.
type ClassPattern struct {
	text     string
	segments []segment
}

// ParseClass reads the pattern of a class. The error is a [PatternError].
func ParseClass(text string) (*ClassPattern, error) {
	p := parser{text: removeBlanks(text)}
	pattern := p.class()
	if p.err != nil {
		return nil, p.err
	}
	return pattern, nil
}

func (p *parser) class() *ClassPattern {
	if len(p.text) > maxPattern {
		p.text = p.text[:40] + "…"
		p.fail(0, "longer than 65535 bytes")
		return nil
	}
	if p.text == "" {
		p.fail(0, "a class should stand here, as in com.acme.Order or com.acme.**")
		return nil
	}
	return &ClassPattern{text: p.text, segments: p.segments(0, len(p.text))}
}

// String is the pattern as it was written, blanks removed.
func (c *ClassPattern) String() string { return c.text }

// Match reports whether the pattern names the class with this internal name,
// such as com/acme/Order$Item.
func (c *ClassPattern) Match(internalName string) bool { return matchName(c.segments, internalName) }

// ErrNothingIncluded says that a set has only exclusions, or no pattern.
var ErrNothingIncluded = errors.New("no pattern says what to match: give at least one without a leading !; ** matches every method")

// Set is several patterns seen as one: a method is in it when at least one
// pattern matches and no exclusion does, whatever their order.
type Set struct {
	include, exclude []*Pattern
}

// ParseSet reads the patterns of a set.
func ParseSet(texts ...string) (*Set, error) {
	patterns := make([]*Pattern, len(texts))
	for i, text := range texts {
		var err error
		if patterns[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return NewSet(patterns...)
}

// NewSet joins patterns. It fails with [ErrNothingIncluded] where they could
// never match.
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

// Includes are the patterns without the exclusions.
func (s *Set) Includes() []*Pattern { return s.include }

// MatchClass reports whether the set can hold a method of the class. It is the
// cheap question to ask before a class is read.
func (s *Set) MatchClass(internalName string) bool {
	for _, p := range s.exclude {
		if p.anyMethod() && p.MatchClass(internalName) {
			return false
		}
	}
	for _, p := range s.include {
		if p.MatchClass(internalName) {
			return true
		}
	}
	return false
}

// Match reports whether the set holds a method.
func (s *Set) Match(internalName, name, desc string) bool {
	return matchesOne(s.include, internalName, name, desc) && !matchesOne(s.exclude, internalName, name, desc)
}

func matchesOne(patterns []*Pattern, internalName, name, desc string) bool {
	for _, p := range patterns {
		if p.Match(internalName, name, desc) {
			return true
		}
	}
	return false
}

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
