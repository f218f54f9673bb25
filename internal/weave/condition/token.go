package condition

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
