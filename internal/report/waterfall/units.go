package waterfall

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// durationText writes a time with three digits that count.
func durationText(d time.Duration) string {
	ns := float64(d)
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if math.Abs(ns) >= unit.size*0.9995 { // what would be rounded up to it is written in it
			return digits(ns/unit.size) + " " + unit.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

func digits(x float64) string {
	decimals := 2
	switch size := math.Abs(x); {
	case size >= 99.95:
		decimals = 0
	case size >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// grouped writes a whole number in groups of three.
func grouped(n uint64) string {
	plain := strconv.FormatUint(n, 10)
	var text strings.Builder
	for i, digit := range plain {
		if i > 0 && (len(plain)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// plural is a count with its noun.
func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// printable is a text on one line without what could steer a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, text)
}

// cut is a text in so many columns at most, its end left out where it is longer.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}

// cutFront leaves out the beginning: of names the end says more.
func cutFront(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return "…" + string(runes[len(runes)-max(0, width-1):])
}

// shortName is a class without its package, and a method.
func shortName(class, method string) string {
	class = class[strings.LastIndexByte(class, '.')+1:]
	if class == "" {
		return method
	}
	return class + "." + method
}

// wrap breaks a text at spaces into lines of so many columns; what has none is cut.
func wrap(text string, width int) (lines []string) {
	current := ""
	for _, word := range strings.Fields(text) {
		switch joined := current + " " + word; {
		case current == "":
			current = word
		case utf8.RuneCountInString(joined) <= width:
			current = joined
		default:
			lines = append(lines, cut(current, width))
			current = "  " + word
		}
	}
	return append(lines, cut(current, width))
}
