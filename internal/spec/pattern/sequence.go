package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Link is the relation between an element of a sequence and the next call.
type Link uint8

// The links.
const (
	Below    Link = iota // >>: the call happens somewhere below the element
	Directly             // >: the element makes the call itself
)

func (l Link) String() string {
	if l == Directly {
		return ">"
	}
	return ">>"
}

// Element is one element of a sequence.
type Element struct {
	Pattern *Pattern
	Link    Link // from the previous element; Below for the first one
}

// Sequence says below which methods a probe acts.
//
//	Sequence = Element { Link Element } [ Link ] .
//	Link     = ">>" | ">" .
//	Element  = Pattern without "!" .
//
// Web.handle >> Order.* > Pay.charge holds for a call when these methods are on the stack
// of the thread in this order, outermost first, outside the call itself. After ">>" the
// next method is somewhere below, after ">" it is called directly. The link at the end
// leads to the probed method; without one it is ">>".
//
// The ">" of <init> and <clinit> is part of the name: Order.<init>>Pay.charge has one
// link.
type Sequence struct {
	Elements []Element
	Last     Link // from the last element to the probed method
}

// String returns the sequence with one blank around links, and without a ">>" at the end.
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

// MaxElements is the maximum number of elements: the state of a thread has a bit for each.
const MaxElements = 28

const maxSequence = 1 << 16 // bytes

const betweenMethods = "write > for a direct call, >> for a call that may be indirect"

// ParseSequence parses a sequence. The error is an [Error].
func ParseSequence(text string) (*Sequence, error) {
	if len(text) > maxSequence {
		return nil, &Error{Kind: "sequence", Text: text[:40] + "…", Detail: fmt.Sprintf("the sequence is longer than %d bytes", maxSequence)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Kind: "sequence", Text: text, Detail: "the sequence is empty", Remedy: "write the methods that must be on the stack, outermost first, as in 'Web.handle >> Order.pay'"}
	}
	p := sequenceParser{text: text}
	sequence := &Sequence{}
	link := Below
	for p.pos < len(text) {
		pattern, err := p.element()
		if err != nil {
			return nil, err
		}
		if len(sequence.Elements) == MaxElements {
			return nil, p.fail(p.begin, fmt.Sprintf("the sequence has more than %d methods", MaxElements), "leave out outer methods")
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

type sequenceParser struct {
	text  string
	begin int // of the current element, without blanks
	pos   int
}

func (p *sequenceParser) fail(offset int, detail, remedy string) error {
	return &Error{Kind: "sequence", Text: p.text, Offset: offset, Detail: detail, Remedy: remedy}
}

// element parses the text up to the next link or the end.
func (p *sequenceParser) element() (*Pattern, error) {
	start := p.pos
	p.pos = linkAfter(p.text, start)
	raw := p.text[start:p.pos]
	p.begin = start + len(raw) - len(strings.TrimLeftFunc(raw, unicode.IsSpace))
	if p.begin == p.pos {
		return nil, p.fail(p.pos, "a method is expected before > or >>", "write one as in 'Web.handle >> Order.pay'")
	}
	if arrow := strings.TrimRight(raw, "-="); len(arrow) < len(raw) && p.pos < len(p.text) {
		return nil, p.fail(start+len(arrow), "'"+raw[len(arrow):]+">' is not allowed between methods", betweenMethods)
	}
	method, err := Parse(raw)
	var bad *Error
	switch {
	case errors.As(err, &bad):
		return nil, p.fail(start+originalOffset(raw, bad), bad.Detail, "")
	case err != nil:
		return nil, p.fail(p.begin, err.Error(), "")
	case method.Excludes():
		return nil, p.fail(p.begin, "a sequence cannot exclude methods", "leave out the !")
	}
	return method, nil
}

// link parses the link after an element; where there is none, it is Below.
func (p *sequenceParser) link() (Link, error) {
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
	return Below, p.fail(start, "'"+p.text[start:p.pos]+"' is not allowed between methods", betweenMethods)
}

// linkAfter returns the position of the next link from pos on: a '>' that does not end
// <init> or <clinit>.
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

// originalOffset returns the offset of an error in the text as written. Its own offset is
// in the text without blanks at the ends and around commas.
func originalOffset(raw string, bad *Error) int {
	at := 0
	for seen := 0; seen < bad.Offset; {
		r, wide := utf8.DecodeRuneInString(bad.Text[seen:])
		for at < len(raw) {
			here, width := utf8.DecodeRuneInString(raw[at:])
			at += width
			if here == r {
				break
			}
		}
		seen += wide
	}
	// Removed blanks are before the place, not at it.
	rest := bad.Text[bad.Offset:]
	for rest != "" && at < len(raw) && !strings.HasPrefix(raw[at:], rest[:1]) {
		_, width := utf8.DecodeRuneInString(raw[at:])
		at += width
	}
	return min(at, len(raw))
}
