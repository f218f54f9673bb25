package condition

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
