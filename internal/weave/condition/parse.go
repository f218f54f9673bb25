package condition

import (
	"fmt"
	"slices"
)

// Limits of conditions: they run in somebody else's hot method.
const (
	mostText  = 4096 // bytes
	mostNodes = 200
	mostDepth = 40
)

// Parse reads a condition. The error is an *Error.
func Parse(text string) (*Expr, error) {
	p := parser{lexer: lexer{text: text}}
	if len(text) > mostText {
		return nil, &Error{Kind: TooMuch, Text: text, Offset: mostText, Detail: fmt.Sprintf("longer than %d bytes", mostText)}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, p.fail(p.tok.span, "empty", `write something like $1.tier == "gold"`)
	}
	root, err := p.or()
	if err == nil && p.tok.kind != tokEnd {
		err = p.surprise()
	}
	if err != nil {
		return nil, err
	}
	return &Expr{text: text, root: root}, nil
}

// parser reads by descent, one token ahead.
type parser struct {
	lexer
	tok   token
	prev  span // of the token before
	nodes int
	depth int
}

func (p *parser) advance() *Error {
	p.prev = p.tok.span
	var err *Error
	p.tok, err = p.next()
	return err
}

func (p *parser) is(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

// take passes a sign if it is the one that is said.
func (p *parser) take(sign string) (bool, *Error) {
	if !p.is(tokSign, sign) {
		return false, nil
	}
	return true, p.advance()
}

// count holds the limits.
func (p *parser) count(at span) *Error {
	if p.nodes++; p.nodes > mostNodes {
		return &Error{Kind: TooMuch, Text: p.text, Offset: at.at, Length: at.end - at.at, Detail: fmt.Sprintf("more than %d parts", mostNodes)}
	}
	if p.depth > mostDepth {
		return &Error{Kind: TooMuch, Text: p.text, Offset: at.at, Length: at.end - at.at, Detail: fmt.Sprintf("nested more than %d deep", mostDepth)}
	}
	return nil
}

// remedies help those who come from other languages.
var remedies = map[string]string{
	"=": "write == to compare", "&": "write &&", "|": "write ||", "and": "write &&", "or": "write ||", "not": "write !",
	"?.": "write a plain '.': every one is null-safe", "+": "conditions do not calculate", "*": "conditions do not calculate",
	"/": "conditions do not calculate", "%": "conditions do not calculate", "-": "conditions do not calculate",
	"like": "write matches", "instanceof": "write is", "contains": `write matches "*...*"`,
}

// surprise refuses the token at hand.
func (p *parser) surprise() *Error {
	if p.tok.kind == tokEnd {
		return p.fail(p.tok.span, "something is missing at the end", "")
	}
	return p.fail(p.tok.span, fmt.Sprintf("unexpected %s", p.text[p.tok.at:p.tok.end]), remedies[p.tok.text])
}

func (p *parser) or() (node, *Error) { return p.chain("||", p.and) }

func (p *parser) and() (node, *Error) { return p.chain("&&", p.not) }

func (p *parser) chain(op string, part func() (node, *Error)) (node, *Error) {
	p.depth++
	defer func() { p.depth-- }()
	l, err := part()
	for err == nil {
		var more bool
		if more, err = p.take(op); err != nil || !more {
			break
		}
		var r node
		if r, err = part(); err != nil {
			break
		}
		made := &logic{l.place().to(r.place()), op == "||", l, r}
		l, err = made, p.count(made.span)
	}
	return l, err
}

func (p *parser) not() (node, *Error) {
	start := p.tok.span
	if found, err := p.take("!"); err != nil || !found {
		if err != nil {
			return nil, err
		}
		return p.compare()
	}
	p.depth++
	defer func() { p.depth-- }()
	if err := p.count(start); err != nil {
		return nil, err
	}
	x, err := p.not()
	if err != nil {
		return nil, err
	}
	return &negation{start.to(x.place()), x}, nil
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() (node, *Error) {
	l, err := p.primary()
	if err != nil {
		return nil, err
	}
	var made node
	switch {
	case p.tok.kind == tokSign && slices.Contains(comparisons, p.tok.text):
		op := p.tok.text
		if err := p.advance(); err != nil {
			return nil, err
		}
		r, err := p.primary()
		if err != nil {
			return nil, err
		}
		made = &comparison{l.place().to(r.place()), op, l, r}
	case p.is(tokWord, "in"):
		made, err = p.membership(l)
	case p.is(tokWord, "matches"):
		made, err = p.likeness(l)
	case p.is(tokWord, "is"):
		made, err = p.instance(l)
	default:
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if p.tok.kind == tokSign && slices.Contains(comparisons, p.tok.text) {
		return nil, p.fail(p.tok.span, "a comparison of a comparison", "join two comparisons by &&")
	}
	return made, p.count(made.place())
}

func (p *parser) membership(l node) (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if found, err := p.take("("); err != nil || !found {
		return nil, p.orSurprise(err)
	}
	m := &membership{x: l}
	for {
		x, err := p.primary()
		if err != nil {
			return nil, err
		}
		m.list = append(m.list, x)
		found, err := p.take(",")
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
	}
	end := p.tok.span
	if found, err := p.take(")"); err != nil || !found {
		return nil, p.orSurprise(err)
	}
	m.span = l.place().to(end)
	return m, nil
}

func (p *parser) orSurprise(err *Error) *Error {
	if err != nil {
		return err
	}
	return p.surprise()
}

func (p *parser) likeness(l node) (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString {
		return nil, p.fail(p.tok.span, "a pattern is wanted", `write it between double quotes: matches "/api/*"`)
	}
	pattern := &literal{span: p.tok.span, kind: litString, text: p.tok.text}
	return &likeness{l.place().to(p.tok.span), l, pattern}, p.advance()
}

func (p *parser) instance(l node) (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	at := p.tok.span
	class := ""
	for {
		if p.tok.kind != tokWord {
			return nil, p.fail(p.tok.span, "the name of a class is wanted", "write it with its package: is java.io.IOException")
		}
		class += p.tok.text
		if err := p.advance(); err != nil {
			return nil, err
		}
		found, err := p.take(".")
		if err != nil {
			return nil, err
		}
		if !found {
			named := at.to(p.prev)
			return &instance{l.place().to(named), l, class, named}, nil
		}
		class += "."
	}
}

// primary reads a value, or a condition in parentheses.
func (p *parser) primary() (node, *Error) {
	if err := p.count(p.tok.span); err != nil {
		return nil, err
	}
	start := p.tok.span
	if found, err := p.take("("); err != nil || found {
		if err != nil {
			return nil, err
		}
		x, err := p.or()
		if err != nil {
			return nil, err
		}
		if found, err := p.take(")"); err != nil || !found {
			if err == nil && p.tok.kind == tokEnd {
				return nil, p.fail(start, "the parenthesis is not closed", "")
			}
			return nil, p.orSurprise(err)
		}
		return x, nil
	}
	switch p.tok.kind {
	case tokDollar:
		return p.path(p.tok.text)
	case tokWord:
		return p.wordValue()
	}
	return p.literal()
}

func (p *parser) wordValue() (node, *Error) {
	at, text := p.tok.span, p.tok.text
	switch text {
	case "tx":
		return p.path(text)
	case "true", "false", "null":
		return p.literal()
	case "in", "matches", "is", "and", "or", "not":
		return nil, p.surprise()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.is(tokSign, ".") || p.is(tokSign, "[") || p.is(tokSign, "(") {
		return nil, p.fail(at, fmt.Sprintf("%s is not known", text), "arguments are $1, $2 or $name; tags are tx.name")
	}
	return &name{at, text}, nil
}
