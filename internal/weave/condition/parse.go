package condition

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// path reads what follows $name or tx.
func (p *parser) path(root string) (node, *Error) {
	n := &path{span: p.tok.span, root: root}
	if err := p.advance(); err != nil {
		return nil, err
	}
	for {
		var s step
		var err *Error
		switch {
		case p.is(tokSign, "."):
			s, err = p.member()
		case p.is(tokSign, "["):
			s, err = p.index()
		default:
			if root == "tx" && len(n.steps) == 0 {
				return nil, p.fail(n.span, "tx without a tag", "write tx.name")
			}
			return n, nil
		}
		if err == nil {
			err = p.count(s.span)
		}
		if err != nil {
			return nil, err
		}
		n.steps = append(n.steps, s)
		n.end = s.end
	}
}

func (p *parser) member() (s step, err *Error) {
	if err = p.advance(); err != nil {
		return s, err
	}
	if p.tok.kind != tokWord {
		return s, p.fail(p.tok.span, "a name is wanted behind the '.'", "")
	}
	s = step{span: p.tok.span, name: p.tok.text}
	if err = p.advance(); err != nil {
		return s, err
	}
	if s.call, err = p.take("("); err != nil || !s.call {
		return s, err
	}
	s.end = p.tok.end
	found, err := p.take(")")
	if err == nil && !found {
		err = p.fail(p.tok.span, "a call with arguments", "only calls without arguments can be proven pure; write [0] or [\"key\"] for elements")
	}
	return s, err
}

func (p *parser) index() (s step, err *Error) {
	start := p.tok.span
	if err = p.advance(); err != nil {
		return s, err
	}
	if p.tok.kind != tokNumber && p.tok.kind != tokString {
		return s, p.fail(p.tok.span, "an index must be a number or a string", `write [0] or ["key"]`)
	}
	x, err := p.literal()
	if err != nil {
		return s, err
	}
	index := x.(*literal)
	if index.kind != litInt && index.kind != litString || index.kind == litInt && (index.long || index.number > math.MaxInt32) {
		return s, p.fail(index.span, "an index must be an int or a string", "")
	}
	s = step{span: start.to(p.tok.span), index: index}
	found, err := p.take("]")
	if err == nil && !found {
		err = p.surprise()
	}
	return s, err
}

// literal reads a constant.
func (p *parser) literal() (node, *Error) {
	n := &literal{span: p.tok.span, text: p.tok.text}
	switch {
	case p.tok.kind == tokString:
		n.kind = litString
	case p.tok.kind == tokChar:
		r, _ := utf8.DecodeRuneInString(p.tok.text)
		n.kind, n.number = litChar, int64(r)
	case p.is(tokWord, "null"):
		n.kind = litNull
	case p.is(tokWord, "true"), p.is(tokWord, "false"):
		n.kind = litBool
		if p.tok.text == "true" {
			n.number = 1
		}
	case p.tok.kind == tokNumber:
		if err := p.number(n, p.tok.text); err != nil {
			return nil, err
		}
	case p.is(tokSign, "-"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != tokNumber {
			return nil, p.fail(p.tok.span, "a number is wanted behind the '-'", "conditions do not calculate")
		}
		n.span = n.to(p.tok.span)
		if err := p.number(n, "-"+p.tok.text); err != nil {
			return nil, err
		}
	default:
		return nil, p.surprise()
	}
	return n, p.advance()
}

// units of durations, in nanoseconds.
var units = []struct {
	suffix string
	ns     float64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}}

// number reads a number as it was written.
func (p *parser) number(n *literal, text string) *Error {
	wrong := func(detail string) *Error {
		return p.fail(n.span, detail, "numbers look like 12, 0x1f, 7L, 2.5, 1e9, 5ms")
	}
	digits := strings.ReplaceAll(text, "_", "")
	if body, ok := strings.CutPrefix(strings.TrimPrefix(digits, "-"), "0x"); ok {
		body, n.long = strings.CutSuffix(body, "L")
		v, err := strconv.ParseUint(body, 16, 63)
		if err != nil {
			return wrong("not a number: " + text)
		}
		n.kind, n.number = litInt, int64(v)
		if digits[0] == '-' {
			n.number = -n.number
		}
		return nil
	}
	for _, unit := range units {
		body, ok := strings.CutSuffix(digits, unit.suffix)
		if !ok || body == "" {
			continue
		}
		v, err := strconv.ParseFloat(body, 64)
		if v *= unit.ns; err != nil || math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > 1e18 {
			return wrong("not a duration: " + text)
		}
		n.kind, n.number = litDuration, int64(math.Round(v))
		return nil
	}
	if body, ok := strings.CutSuffix(digits, "L"); ok {
		n.long, digits = true, body
	}
	if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
		n.kind, n.number = litInt, v
		return nil
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || n.long || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(digits, "xXpPiI") {
		return wrong(fmt.Sprintf("not a number: %s", text))
	}
	if !strings.ContainsAny(digits, ".eE") {
		return wrong("too large for a long: " + text)
	}
	n.kind, n.float = litFloat, v
	return nil
}

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokDollar // $name
	tokNumber
	tokString
	tokChar
	tokSign // an operator or a bracket
)

// token is one word of a condition.
type token struct {
	span
	kind tokenKind
	text string // a string's is what it stands for
}

// signs are the operators, longer ones first. Some are read to be refused kindly.
var signs = []string{"&&", "||", "==", "!=", "<=", ">=", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",", "-", "=", "&", "|", "+", "*", "/", "%"}

// lexer splits a condition.
type lexer struct {
	text string
	at   int
}

func (l *lexer) fail(s span, detail, remedy string) *Error {
	return &Error{Kind: Syntax, Text: l.text, Offset: s.at, Length: s.end - s.at, Detail: detail, Remedy: remedy}
}

// next reads the next token.
func (l *lexer) next() (token, *Error) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	start := l.at
	made := func(kind tokenKind, text string) (token, *Error) {
		return token{span{start, l.at}, kind, text}, nil
	}
	if start == len(l.text) {
		return made(tokEnd, "")
	}
	r, size := utf8.DecodeRuneInString(l.text[start:])
	switch {
	case r == utf8.RuneError && size == 1:
		return token{}, l.fail(span{start, start + 1}, "not UTF-8", "")
	case r == '"' || r == '\'':
		text, err := l.quoted(r)
		if err != nil {
			return token{}, err
		}
		if r == '"' {
			return made(tokString, text)
		}
		if utf8.RuneCountInString(text) != 1 || text[0] >= 0xF0 {
			return token{}, l.fail(span{start, l.at}, "not one char between single quotes", `strings stand between double quotes: "gold"`)
		}
		return made(tokChar, text)
	case r >= '0' && r <= '9':
		l.number()
		return made(tokNumber, l.text[start:l.at])
	case r == '$':
		l.at++
		l.word()
		if l.at == start+1 {
			return token{}, l.fail(span{start, l.at}, "'$' without a name", "write $1 for the first argument, $this, $return, $exception or $elapsed")
		}
		return made(tokDollar, l.text[start+1:l.at])
	case isWordStart(r):
		l.word()
		return made(tokWord, l.text[start:l.at])
	}
	for _, sign := range signs {
		if strings.HasPrefix(l.text[start:], sign) {
			l.at += len(sign)
			return made(tokSign, sign)
		}
	}
	return token{}, l.fail(span{start, start + size}, fmt.Sprintf("unexpected %q", r), "")
}

func isWordStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// word passes over letters, digits, '_' and '$'.
func (l *lexer) word() {
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !isWordStart(r) && r != '$' && !unicode.IsDigit(r) {
			return
		}
		l.at += size
	}
}

// number passes over a number with its unit: 12, 0x1f, 1_000, 2.5, 1e9, 5ms, 7L.
func (l *lexer) number() {
	digits := func() {
		for l.at < len(l.text) && (l.text[l.at] >= '0' && l.text[l.at] <= '9' || l.text[l.at] == '_') {
			l.at++
		}
	}
	if strings.HasPrefix(l.text[l.at:], "0x") {
		l.word()
		return
	}
	digits()
	if rest := l.text[l.at:]; len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' {
		l.at++
		digits()
	}
	if rest := l.text[l.at:]; len(rest) > 2 && rest[0]|0x20 == 'e' && (rest[1] == '-' || rest[1] == '+') {
		l.at += 2
	}
	l.word()
}

// quoted reads a text between quotes.
func (l *lexer) quoted(quote rune) (string, *Error) {
	start := l.at
	l.at++
	var b strings.Builder
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		here := l.at
		l.at += size
		switch {
		case r == utf8.RuneError && size == 1:
			return "", l.fail(span{here, l.at}, "not UTF-8", "")
		case r == quote:
			return b.String(), nil
		case r != '\\':
			b.WriteRune(r)
		default:
			r, ok := l.escaped()
			if !ok {
				return "", l.fail(span{here, l.at}, "no such escape", `there are \" \' \\ \n \r \t \0 and \uXXXX; the latter not for halves of a character`)
			}
			b.WriteRune(r)
		}
	}
	return "", l.fail(span{start, len(l.text)}, "the quote is not closed", "")
}

// escaped reads what follows a backslash.
func (l *lexer) escaped() (rune, bool) {
	if l.at == len(l.text) {
		return 0, false
	}
	c := l.text[l.at]
	l.at++
	switch c {
	case '"', '\'', '\\':
		return rune(c), true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case '0':
		return 0, true
	case 'u':
		if len(l.text)-l.at < 4 {
			return 0, false
		}
		r := rune(0)
		for range 4 {
			digit := strings.IndexByte("0123456789abcdef", l.text[l.at]|0x20)
			if l.text[l.at] >= '0' && l.text[l.at] <= '9' {
				digit = int(l.text[l.at] - '0')
			}
			if digit < 0 {
				return 0, false
			}
			r = r<<4 | rune(digit)
			l.at++
		}
		return r, r < 0xD800 || r > 0xDFFF
	}
	return 0, false
}
