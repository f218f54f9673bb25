package condition

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// glob is a pattern in which '*' matches any text and '?' any one char. It is matched by a
// fixed sequence of searches, one for each piece between stars, each from the end of the one
// before, without backtracking. A regular expression could take exponential time inside a
// method of the program.
type glob struct {
	pieces []piece // between stars; one if there is no star
}

// piece is text without stars, in parts that are separated by '?'.
type piece struct {
	parts []part
	size  int // in chars
}

// part is plain text at an offset of its piece.
type part struct {
	at   int
	text string
}

// mostPieces limits the code of a pattern.
const mostPieces = 12

// compileGlob parses a pattern. The detail describes an error; it is empty if there is none.
func compileGlob(text string) (g glob, detail, remedy string) {
	var p piece
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			p.parts = append(p.parts, part{p.size - chars(b.String()), b.String()})
			b.Reset()
		}
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes) && strings.ContainsRune(`*?\`, runes[i+1]):
			i++
			b.WriteRune(runes[i])
			p.size++
		case r == '*':
			flush()
			if p.size > 0 || len(g.pieces) == 0 {
				g.pieces = append(g.pieces, p)
			}
			p = piece{}
			if i == len(runes)-1 {
				g.pieces = append(g.pieces, p)
			}
		case r == '?':
			flush()
			p.size++
		default:
			b.WriteRune(r)
			p.size += chars(string(r))
		}
	}
	flush()
	if p.size > 0 || len(g.pieces) == 0 {
		g.pieces = append(g.pieces, p)
	}
	if len(g.pieces) > mostPieces {
		return g, fmt.Sprintf("the pattern has more than %d stars", mostPieces-1), ""
	}
	for i := 1; i < len(g.pieces)-1; i++ {
		if p := g.pieces[i]; len(p.parts) != 1 || p.parts[0].at != 0 || chars(p.parts[0].text) != p.size {
			return g, "'?' between two stars", "use '?' before the first star or after the last one"
		}
	}
	return g, "", ""
}

// chars returns the length of a text in Java.
func chars(text string) int { return len(utf16.Encode([]rune(text))) }
