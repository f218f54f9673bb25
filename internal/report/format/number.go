package format

import (
	"strconv"
	"strings"
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
