package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of expressions, which run in hot methods of other people's programs.
const (
	maxText  = 4096 // bytes
	maxNodes = 200
	maxDepth = 40
)

// Parse parses an expression. The error is an *Error.
func Parse(text string) (*Expr, error) { return parse(text, false) }

// ParseOwn parses an expression of Sonde's own rules.
func ParseOwn(text string) (*Expr, error) { return parse(text, true) }

func parse(text string, isOwn bool) (_ *Expr, err error) {
	if len(text) > maxText {
		return nil, &Error{Kind: TooMuch, Text: text, Offset: maxText, Detail: fmt.Sprintf("the expression is longer than %d bytes", maxText)}
	}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			err = failure
		default:
			panic(failure)
		}
	}()
	p := parser{lexer: lexer{text: text, isOwn: isOwn}}
	p.advance()
	if p.tok.kind == tokEnd {
		p.fail(p.tok.Span, "empty", `write something like $1.tier == "gold"`)
	}
	root := p.or()
	if p.tok.kind != tokEnd {
		p.unexpected()
	}
	return &Expr{text, root}, nil
}

// parser is a recursive-descent parser with one token of lookahead. Its methods panic with
// an *Error, which Parse recovers.
type parser struct {
	lexer
	tok      token
	previous Span // of the token before
	nodes    int
	depth    int
}

func (p *parser) advance() {
	p.previous = p.tok.Span
	p.tok = p.next()
}

func (p *parser) is(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

// accept consumes a sign if it is next.
func (p *parser) accept(sign string) bool {
	found := p.is(tokSign, sign)
	if found {
		p.advance()
	}
	return found
}

func (p *parser) expect(sign string) {
	if !p.accept(sign) {
		p.unexpected()
	}
}

// count enforces the limits.
func (p *parser) count(at Span) {
	if p.nodes++; p.nodes > maxNodes {
		panic(NewError(TooMuch, p.text, at, fmt.Sprintf("more than %d parts", maxNodes), ""))
	}
	if p.depth > maxDepth {
		panic(NewError(TooMuch, p.text, at, fmt.Sprintf("the expression is nested more than %d levels deep", maxDepth), ""))
	}
}

// remedies are for users of other languages.
var remedies = map[string]string{
	"=": "write == to compare", "&": "write &&", "|": "write ||", "and": "write &&", "or": "write ||", "not": "write !",
	"?.": "write a plain '.': every one is null-safe", "+": "arithmetic is not supported in conditions", "*": "arithmetic is not supported in conditions",
	"/": "arithmetic is not supported in conditions", "%": "arithmetic is not supported in conditions", "-": "arithmetic is not supported in conditions",
	"like": "write matches", "instanceof": "write is", "contains": `write matches "*...*"`,
}

// unexpected rejects the current token.
func (p *parser) unexpected() {
	if p.tok.kind == tokEnd {
		p.fail(p.tok.Span, "the expression is incomplete", "")
	}
	p.fail(p.tok.Span, "unexpected "+p.text[p.tok.At:p.tok.End], remedies[p.tok.text])
}

func (p *parser) or() Node { return p.chain("||", p.and) }

func (p *parser) and() Node { return p.chain("&&", p.not) }

func (p *parser) chain(op string, operand func() Node) Node {
	p.depth++
	defer func() { p.depth-- }()
	l := operand()
	for p.accept(op) {
		r := operand()
		l = &Logic{l.Place().To(r.Place()), op == "||", l, r}
		p.count(l.Place())
	}
	return l
}

func (p *parser) not() Node {
	start := p.tok.Span
	if !p.accept("!") {
		return p.comparison()
	}
	p.depth++
	defer func() { p.depth-- }()
	p.count(start)
	x := p.not()
	return &Not{start.To(x.Place()), x}
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) isComparison() bool {
	return p.tok.kind == tokSign && slices.Contains(comparisons, p.tok.text)
}

func (p *parser) comparison() Node {
	l := p.primary()
	var made Node
	switch {
	case p.isComparison():
		op := p.tok.text
		p.advance()
		r := p.primary()
		made = &Comparison{l.Place().To(r.Place()), op, l, r}
	case p.is(tokWord, "in"):
		made = p.membership(l)
	case p.is(tokWord, "matches"):
		made = p.match(l)
	case p.is(tokWord, "is"):
		made = p.instanceOf(l)
	default:
		return l
	}
	if p.isComparison() {
		p.fail(p.tok.Span, "the result of a comparison cannot be compared", "join comparisons with &&")
	}
	p.count(made.Place())
	return made
}

func (p *parser) membership(l Node) Node {
	p.advance()
	p.expect("(")
	m := &Membership{X: l, List: []Node{p.primary()}}
	for p.accept(",") {
		m.List = append(m.List, p.primary())
	}
	m.Span = l.Place().To(p.tok.Span)
	p.expect(")")
	return m
}

func (p *parser) match(l Node) Node {
	p.advance()
	if p.tok.kind != tokString {
		p.fail(p.tok.Span, "a pattern is expected", `write it in double quotes: matches "/api/*"`)
	}
	pattern := &Literal{Span: p.tok.Span, Kind: String, Text: p.tok.text}
	p.advance()
	return &Match{l.Place().To(pattern.Span), l, pattern}
}

func (p *parser) instanceOf(l Node) Node {
	p.advance()
	class, named := p.class()
	return &InstanceOf{l.Place().To(named), l, class, named}
}

func (p *parser) class() (class string, named Span) {
	at := p.tok.Span
	for {
		if p.tok.kind != tokWord {
			p.fail(p.tok.Span, "the name of a class is expected", "write it with its package: is java.io.IOException")
		}
		class += p.tok.text
		p.advance()
		if !p.accept(".") {
			return class, at.To(p.previous)
		}
		class += "."
	}
}

// primary parses a value or a condition in parentheses.
func (p *parser) primary() Node {
	p.count(p.tok.Span)
	start := p.tok.Span
	if p.accept("(") {
		x := p.or()
		if p.tok.kind == tokEnd {
			p.fail(start, "the parenthesis is not closed", "")
		}
		p.expect(")")
		return x
	}
	switch p.tok.kind {
	case tokDollar:
		return p.path()
	case tokWord:
		return p.word()
	}
	return p.literal()
}

func (p *parser) word() Node {
	at, text := p.tok.Span, p.tok.text
	switch text {
	case "tx":
		return p.path()
	case "true", "false", "null":
		return p.literal()
	case "in", "matches", "is", "and", "or", "not":
		p.unexpected()
	}
	p.advance()
	if p.is(tokSign, ".") || p.is(tokSign, "[") || p.is(tokSign, "(") {
		p.fail(at, text+" is unknown", "arguments are $1, $2 or $name; tags are tx.name")
	}
	return &Name{at, text}
}

// path parses $name, $(class) or tx and the steps that follow.
func (p *parser) path() Node {
	n := &Path{Span: p.tok.Span, Root: p.tok.text}
	p.advance()
	if n.Root == "" {
		p.expect("(")
		n.Class, _ = p.class()
		n.End = p.tok.End
		p.expect(")")
	}
	for {
		var s Step
		switch {
		case p.is(tokSign, "."):
			s = p.member()
		case p.is(tokSign, "["):
			s = p.element()
		default:
			if n.Root == "tx" && len(n.Steps) == 0 {
				p.fail(n.Span, "the name of a tag is expected after tx", "write tx.name")
			}
			if n.Class != "" && (len(n.Steps) == 0 || !n.Steps[0].Call) {
				p.fail(n.Span, "a call is expected after the class", "write $(a.b.C).name()")
			}
			return n
		}
		p.count(s.Span)
		n.Steps = append(n.Steps, s)
		n.End = s.End
	}
}

func (p *parser) member() Step {
	start := p.tok.Span
	p.advance()
	if p.accept("(") {
		class, _ := p.class()
		s := Step{Span: start.To(p.tok.Span), Class: class}
		p.expect(")")
		return s
	}
	if p.tok.kind != tokWord {
		p.fail(p.tok.Span, "a name is expected after the '.'", "")
	}
	s := Step{Span: p.tok.Span, Name: p.tok.text}
	p.advance()
	if s.Call = p.accept("("); s.Call {
		if p.isOwn && p.tok.kind == tokString {
			s.Arg = p.literal()
			p.handedOver(&s)
		}
		s.End = p.tok.End
		if !p.accept(")") {
			p.fail(p.tok.Span, "a call cannot have arguments", "only calls without arguments can be proven pure; write [0] or [\"key\"] for elements")
		}
	}
	return s
}

// The words of a call that hands over the name of the running traced call.
const (
	parentName = "parent"
	unlessWord = "unless"
)

func (p *parser) handedOver(s *Step) {
	if !p.accept(",") {
		return
	}
	named, is := p.path().(*Path)
	if s.Hands = is && named.Root == parentName && len(named.Steps) == 0; !s.Hands {
		p.fail(p.tok.Span, "the second argument of a call can only be $"+parentName, "")
	}
	if p.tok.kind == tokWord && p.tok.text == unlessWord {
		p.advance()
		if s.Unless, is = p.path().(*Path); !is {
			p.fail(p.tok.Span, "a value is expected after "+unlessWord, "")
		}
	}
}

func (p *parser) element() Step {
	start := p.tok.Span
	p.advance()
	if p.tok.kind != tokNumber && p.tok.kind != tokString {
		p.fail(p.tok.Span, "an index must be a number or a string", `write [0] or ["key"]`)
	}
	index := p.literal()
	if index.Kind != Int && index.Kind != String || index.Kind == Int && (index.Long || index.Number > math.MaxInt32) {
		p.fail(index.Span, "an index must be an int or a string", "")
	}
	s := Step{Span: start.To(p.tok.Span), Index: index}
	p.expect("]")
	return s
}

func (p *parser) literal() *Literal {
	n := &Literal{Span: p.tok.Span}
	switch {
	case p.tok.kind == tokString:
		n.Kind, n.Text = String, p.tok.text
	case p.tok.kind == tokChar:
		r, _ := utf8.DecodeRuneInString(p.tok.text)
		n.Kind, n.Number = Char, int64(r)
	case p.is(tokWord, "null"):
		n.Kind = Null
	case p.is(tokWord, "false"):
		n.Kind = Bool
	case p.is(tokWord, "true"):
		n.Kind, n.Number = Bool, 1
	case p.tok.kind == tokNumber:
		p.number(n, p.tok.text)
	case p.is(tokSign, "-"):
		p.advance()
		if p.tok.kind != tokNumber {
			p.fail(p.tok.Span, "a number is expected after the '-'", "arithmetic is not supported in conditions")
		}
		n.Span = n.To(p.tok.Span)
		p.number(n, "-"+p.tok.text)
	default:
		p.unexpected()
	}
	p.advance()
	return n
}

// units of durations, in nanoseconds.
var units = []struct {
	suffix string
	ns     float64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}}

// number parses a number as written.
func (p *parser) number(n *Literal, text string) {
	reject := func(detail string) {
		p.fail(n.Span, detail+": "+text, "numbers look like 12, 0x1f, 7L, 2.5, 1e9, 5ms")
	}
	digits := strings.ReplaceAll(text, "_", "")
	if body, ok := strings.CutPrefix(strings.TrimPrefix(digits, "-"), "0x"); ok {
		body, n.Long = strings.CutSuffix(body, "L")
		v, err := strconv.ParseUint(body, 16, 63)
		if err != nil {
			reject("not a number")
		}
		n.Kind, n.Number = Int, int64(v)
		if digits[0] == '-' {
			n.Number = -n.Number
		}
		return
	}
	for _, unit := range units {
		body, ok := strings.CutSuffix(digits, unit.suffix)
		if !ok || body == "" {
			continue
		}
		v, err := strconv.ParseFloat(body, 64)
		if v *= unit.ns; err != nil || math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > 1e18 {
			reject("not a duration")
		}
		n.Kind, n.Number = Duration, int64(math.Round(v))
		return
	}
	digits, n.Long = strings.CutSuffix(digits, "L")
	if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
		n.Kind, n.Number = Int, v
		return
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || n.Long || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(digits, "xXpPiI") {
		reject("not a number")
	}
	if !strings.ContainsAny(digits, ".eE") {
		reject("too large for a long")
	}
	n.Kind, n.Float = Float, v
}

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

type token struct {
	Span
	kind tokenKind
	text string // of a string without quotes and escapes, of $name without the $
}

// signs are the operators, longer ones first. Some are accepted only to give a better error.
var signs = []string{"&&", "||", "==", "!=", "<=", ">=", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",", "-", "=", "&", "|", "+", "*", "/", "%"}

// lexer splits the text into tokens.
type lexer struct {
	text  string
	at    int
	isOwn bool // the text is one of Sonde's own rules
}

func (l *lexer) fail(at Span, detail, remedy string) {
	panic(NewError(Syntax, l.text, at, detail, remedy))
}

func (l *lexer) next() token {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	start := l.at
	if start == len(l.text) {
		return token{Span{start, start}, tokEnd, ""}
	}
	kind, text := l.scan()
	return token{Span{start, l.at}, kind, text}
}

func (l *lexer) scan() (tokenKind, string) {
	start := l.at
	r, size := utf8.DecodeRuneInString(l.text[start:])
	switch {
	case r == utf8.RuneError && size == 1:
		l.fail(Span{start, start + 1}, "not UTF-8", "")
	case r == '"':
		return tokString, l.quoted(r)
	case r == '\'':
		text := l.quoted(r)
		if utf8.RuneCountInString(text) != 1 || text[0] >= 0xF0 {
			l.fail(Span{start, l.at}, "not one char in single quotes", `write strings in double quotes: "gold"`)
		}
		return tokChar, text
	case r >= '0' && r <= '9':
		l.number()
		return tokNumber, l.text[start:l.at]
	case r == '$':
		l.at++
		l.word()
		if l.at == start+1 && !(l.isOwn && strings.HasPrefix(l.text[l.at:], "(")) {
			l.fail(Span{start, l.at}, "a name is expected after '$'", "write $1 for the first argument, $this, $return, $exception or $elapsed")
		}
		return tokDollar, l.text[start+1 : l.at]
	case isWordStart(r):
		l.word()
		return tokWord, l.text[start:l.at]
	}
	for _, sign := range signs {
		if strings.HasPrefix(l.text[start:], sign) {
			l.at += len(sign)
			return tokSign, sign
		}
	}
	l.fail(Span{start, start + size}, fmt.Sprintf("unexpected %q", r), "")
	return tokEnd, ""
}

func isWordStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// word skips letters, digits, '_' and '$'.
func (l *lexer) word() {
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !isWordStart(r) && r != '$' && !unicode.IsDigit(r) {
			return
		}
		l.at += size
	}
}

// number skips a number with its unit: 12, 0x1f, 1_000, 2.5, 1e9, 5ms, 7L.
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

// quoted returns the text between quotes.
func (l *lexer) quoted(quote rune) string {
	start := l.at
	l.at++
	var b strings.Builder
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		here := l.at
		l.at += size
		switch {
		case r == utf8.RuneError && size == 1:
			l.fail(Span{here, l.at}, "not UTF-8", "")
		case r == quote:
			return b.String()
		case r != '\\':
			b.WriteRune(r)
		default:
			r, ok := l.escaped()
			if !ok {
				l.fail(Span{here, l.at}, "unknown escape", `write \" \' \\ \n \r \t \0 or \uXXXX, which must not be a surrogate`)
			}
			b.WriteRune(r)
		}
	}
	l.fail(Span{start, len(l.text)}, "the quote is not closed", "")
	return ""
}

// escaped returns the character that the text after a backslash stands for.
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
		digits := l.text[l.at:min(l.at+4, len(l.text))]
		r, err := strconv.ParseUint(digits, 16, 16)
		if err != nil || len(digits) < 4 {
			return 0, false
		}
		l.at += len(digits)
		return rune(r), r < 0xD800 || r > 0xDFFF
	}
	return 0, false
}
