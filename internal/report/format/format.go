// Package format writes numbers, times and names as people read them, in tables, notes
// and reports alike.
package format

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Grouped writes a whole number with a comma between thousands.
func Grouped[N int | uint64](n N) string {
	digits, sign := strconv.FormatUint(uint64(n), 10), ""
	if n < 0 {
		digits, sign = strconv.FormatInt(int64(n), 10)[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Count writes a number with its noun, of which both forms are given.
func Count[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

// AtLeast marks a figure that is a lower bound.
func AtLeast(isLowerBound bool, text string) string {
	if isLowerBound {
		return "≥ " + text
	}
	return text
}

// Plural writes a number with a noun that gets an s, or es behind one, where there are
// several.
func Plural[N int | uint64](n N, noun string) string {
	many := noun + "s"
	if strings.HasSuffix(noun, "s") {
		many = noun + "es"
	}
	return Count(n, noun, many)
}

// Nanos writes a time, given in nanoseconds, with three digits that count.
func Nanos(nanos float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		// What would be rounded up to the next unit is written in it.
		if math.Abs(nanos) >= unit.size*0.9995 {
			return ThreeDigits(nanos/unit.size) + " " + unit.name
		}
	}
	if math.Abs(nanos) <= 0.5 {
		nanos = 0 // not -0
	}
	return fixed(nanos, 0) + " ns"
}

// Duration writes a time with three digits that count.
func Duration(d time.Duration) string { return Nanos(float64(d)) }

// LeastCall is how many nanoseconds the time of one call must have to mean something:
// below it the hooks and the clock are most of what is measured.
const LeastCall = 50

// Call writes the time of one call, given in nanoseconds.
func Call(nanos float64) string {
	if nanos < LeastCall {
		return "< " + strconv.Itoa(LeastCall) + " ns"
	}
	return Nanos(nanos)
}

// ThreeDigits writes a number below 1000 with as many decimals as leave three digits.
func ThreeDigits(n float64) string {
	switch size := math.Abs(n); {
	case size >= 99.95:
		return fixed(n, 0)
	case size >= 9.995:
		return fixed(n, 1)
	}
	return fixed(n, 2)
}

func fixed(n float64, decimals int) string { return strconv.FormatFloat(n, 'f', decimals, 64) }

// Printable takes from a name what could steer a terminal: class files may call a
// method anything, and processes call themselves what they like.
func Printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// Line writes a value of a program on one line. A question mark may be its own, so what
// cannot be shown is written as what Unicode has for it.
func Line(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, value)
}

// Cut is a text in so many columns at most, its end left out where it is longer.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}
