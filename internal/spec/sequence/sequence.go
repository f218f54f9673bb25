// Package sequence reads the sequences of methods that say where a probe acts.
//
//	Sequence = Element { Link Element } [ Link ] .
//	Link     = ">>" | ">" .
//	Element  = a pattern of package probe, without "!" .
//
// Web.handle >> Order.* > Pay.charge holds for a call when those methods are on
// the thread's stack in this order, outermost first, outside the call itself. Behind
// ">>" the next is somewhere below, behind ">" it is called directly. The link at the
// end leads to the probed method; without one that is ">>".
//
// The ">" of <init> and <clinit> is part of the name: Order.<init>>Pay.charge has one
// link.
package sequence

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Link says where the next call is, seen from an element.
type Link uint8

// The links.
const (
	Below    Link = iota // >>: somewhere below it
	Directly             // >: it makes the call itself
)

func (l Link) String() string {
	if l == Directly {
		return ">"
	}
	return ">>"
}

// Element is one method of a sequence.
type Element struct {
	Pattern *pattern.Pattern
	// Link leads from the element before this one; the first has none, so Below.
	Link Link
}

// Sequence is methods that lie on a thread's stack in this order, outer to inner.
type Sequence struct {
	Elements []Element
	Last     Link // leads from the last element to the probed method
}

// String is the sequence as Parse reads it, with one blank around links. The last
// link is written where it is not what goes without saying.
func (s *Sequence) String() string {
	var text strings.Builder
	for i, e := range s.Elements {
		if i > 0 {
			text.WriteString(" " + e.Link.String() + " ")
		}
		text.WriteString(e.Pattern.String())
	}
	if s.Last == Directly {
		text.WriteString(" >")
	}
	return text.String()
}

// MostElements is how many a sequence can have: the state of a thread has a bit for
// each.
const MostElements = 28

const mostText = 1 << 16 // bytes

// Parse reads a sequence. The error is an [Error].
func Parse(text string) (*Sequence, error) {
	if len(text) > mostText {
		return nil, &Error{Text: text[:40] + "…", Detail: fmt.Sprintf("longer than %d bytes", mostText)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Text: text, Detail: "empty", Remedy: "write the methods that must be on the stack, outermost first, as in 'Web.handle >> Order.pay'"}
	}
	p := parser{text: text}
	sequence := &Sequence{}
	link := Below
	for p.pos < len(text) {
		pattern, err := p.element()
		if err != nil {
			return nil, err
		}
		if len(sequence.Elements) == MostElements {
			return nil, p.fail(p.begin, fmt.Sprintf("more than %d methods", MostElements), "the outer ones can be left out")
		}
		sequence.Elements = append(sequence.Elements, Element{Pattern: pattern, Link: link})
		if link, err = p.link(); err != nil {
			return nil, err
		}
		if strings.TrimSpace(text[p.pos:]) == "" {
			break
		}
	}
	sequence.Last = link
	return sequence, nil
}

// parser goes through a text once.
type parser struct {
	text  string
	begin int // of the element at hand, without blanks
	pos   int
}

func (p *parser) fail(offset int, detail, remedy string) error {
	return &Error{Text: p.text, Offset: offset, Detail: detail, Remedy: remedy}
}

// element reads up to the next link, or to the end.
func (p *parser) element() (*pattern.Pattern, error) {
	start := p.pos
	p.pos = linkAfter(p.text, start)
	raw := p.text[start:p.pos]
	p.begin = start + len(raw) - len(strings.TrimLeftFunc(raw, unicode.IsSpace))
	if p.begin == p.pos {
		return nil, p.fail(p.pos, "a method should stand before this link", "write one as in 'Web.handle >> Order.pay'")
	}
	if arrow := strings.TrimRight(raw, "-="); len(arrow) < len(raw) && p.pos < len(p.text) {
		return nil, p.fail(start+len(arrow), "'"+raw[len(arrow):]+">' is no link", "> stands for directly, >> for somewhere below")
	}
	method, err := pattern.Parse(raw)
	var bad *pattern.PatternError
	switch {
	case errors.As(err, &bad):
		return nil, p.fail(start+originalOffset(raw, bad), bad.Detail, "")
	case err != nil:
		return nil, p.fail(p.begin, err.Error(), "")
	case method.Excludes():
		return nil, p.fail(p.begin, "a method that must not be on the stack cannot be asked for", "leave the ! out")
	}
	return method, nil
}

// link reads what stands between two elements, or behind the last; where nothing
// does, that is Below.
func (p *parser) link() (Link, error) {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] == '>' {
		p.pos++
	}
	switch p.pos - start {
	case 0, 2:
		return Below, nil
	case 1:
		return Directly, nil
	}
	return Below, p.fail(start, "'"+p.text[start:p.pos]+"' is no link", "> stands for directly, >> for somewhere below")
}

// linkAfter is where the next link begins from pos on: at a '>' that does not end the
// name of a constructor or static initialiser.
func linkAfter(text string, pos int) int {
	for i := pos; i < len(text); i++ {
		if text[i] != '>' {
			continue
		}
		if name := text[pos:i]; strings.HasSuffix(name, "<init") || strings.HasSuffix(name, "<clinit") {
			continue
		}
		return i
	}
	return len(text)
}

// originalOffset is where in the text as written a defect is, whose place is told in
// the text without the blanks at the ends and around commas.
func originalOffset(raw string, bad *pattern.PatternError) int {
	at := 0
	for told := 0; told < bad.Offset; {
		r, wide := utf8.DecodeRuneInString(bad.Pattern[told:])
		for at < len(raw) {
			here, width := utf8.DecodeRuneInString(raw[at:])
			at += width
			if here == r {
				break
			}
		}
		told += wide
	}
	// Blanks that were taken out stand before the place, not at it.
	rest := bad.Pattern[bad.Offset:]
	for rest != "" && at < len(raw) && !strings.HasPrefix(raw[at:], rest[:1]) {
		_, width := utf8.DecodeRuneInString(raw[at:])
		at += width
	}
	return min(at, len(raw))
}

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
