// Package format writes numbers, times, names and tables for people.
package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Grouped returns a whole number with a comma between thousands.
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

// Count returns a number with its noun in the singular or plural.
func Count[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

// AtLeast marks a number that is a lower bound.
func AtLeast(isLowerBound bool, text string) string {
	if isLowerBound {
		return "≥ " + text
	}
	return text
}

// Plural returns a number with its noun, whose plural ends in s, or in es after an s.
func Plural[N int | uint64](n N, noun string) string {
	many := noun + "s"
	if strings.HasSuffix(noun, "s") {
		many = noun + "es"
	}
	return Count(n, noun, many)
}

// Nanos returns a time, given in nanoseconds, with three significant digits.
func Nanos(nanos float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		// A number that would be rounded up to the next unit is written in that unit.
		if math.Abs(nanos) >= unit.size*0.9995 {
			return ThreeDigits(nanos/unit.size) + " " + unit.name
		}
	}
	if math.Abs(nanos) <= 0.5 {
		nanos = 0 // not -0
	}
	return fixed(nanos, 0) + " ns"
}

// Duration returns a time with three significant digits.
func Duration(d time.Duration) string { return Nanos(float64(d)) }

// LeastCall is the shortest meaningful time of a call in nanoseconds. Below it, hooks and the
// clock are most of what is measured.
const LeastCall = 50

// Call returns the time of one call, given in nanoseconds.
func Call(nanos float64) string {
	if nanos < LeastCall {
		return "< " + strconv.Itoa(LeastCall) + " ns"
	}
	return Nanos(nanos)
}

// ThreeDigits returns a number below 1000 with three significant digits.
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

// Printable replaces characters that could control a terminal: names of methods and
// processes may contain anything.
func Printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// PrintableLines is Printable for a text of several lines.
func PrintableLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		content, isEnded := strings.CutSuffix(line, "\n")
		out.WriteString(Printable(content))
		if isEnded {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// ShortClass shortens the package of a class so that it can still be recognised:
// o.s.w.servlet.DispatcherServlet. Parts of one or two letters remain, as does the last one.
func ShortClass(class string) string {
	parts := strings.Split(class, ".")
	for i, part := range parts[:max(0, len(parts)-2)] {
		if runes := []rune(part); len(runes) > 2 {
			parts[i] = string(runes[:1])
		}
	}
	return strings.Join(parts, ".")
}

// Line returns a value of a program on one line. Characters that cannot be shown become
// Unicode's replacement character, since a question mark may be part of the value.
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

// Cut returns a text in at most width columns, without its end if it is longer.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}

// Wrap breaks a text between words. Lines after the first are indented by two more columns.
// A width of 0 is unlimited.
func Wrap(text string, width int) []string {
	if width == 0 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	indent := strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " ")))
	var lines []string
	line := indent
	for _, word := range words(text) {
		begun := strings.TrimSpace(line) != ""
		if begun && utf8.RuneCountInString(line+" "+word) > width {
			lines = append(lines, line)
			line, begun = indent+"  ", false
		}
		if begun {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// words splits a text, keeping a number and its unit together.
func words(text string) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		unit := strings.TrimRight(word, ",;:)")
		if len(list) > 0 && slices.Contains([]string{"%", "ns", "µs", "ms", "s"}, unit) {
			list[len(list)-1] += " " + word
		} else {
			list = append(list, word)
		}
	}
	return list
}

// WrapLines wraps the lines of a text that are too wide, unless they control the terminal.
func WrapLines(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if content, isEnded := strings.CutSuffix(line, "\n"); !strings.ContainsAny(line, "\r\x1b") {
			line = strings.Join(Wrap(content, width), "\n")
			if isEnded {
				line += "\n"
			} else if strings.HasSuffix(content, " ") {
				line = strings.TrimRight(line, " ") + " " // before an answer
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// OneLine writes an error on one line, without characters that could control a terminal:
// files and programs of other users may be quoted in it.
func OneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return Printable(strings.ReplaceAll(strings.Join(lines, "; "), "\t", " "))
}

// OrDash writes "-" for an empty text.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Rate writes how often something happens a second.
func Rate(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.1f", rate)
	}
	return Grouped(int(math.Round(rate)))
}

// Percent writes a part of 1 as a percentage, precise for small parts.
func Percent(part float64) string {
	percent := part * 100
	switch {
	case percent == 0:
		return "0 %"
	case percent < 0.01:
		return "< 0.01 %"
	case percent < 10:
		return fmt.Sprintf("%.2f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// ShortDuration writes the two largest units of a duration.
func ShortDuration(d time.Duration) string {
	seconds := int64(max(0, d) / time.Second)
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%02dh", days, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	case minutes > 0:
		return fmt.Sprintf("%dm%02ds", minutes, seconds%60)
	}
	return fmt.Sprintf("%ds", seconds)
}

// Size writes a number of bytes, with at least three digits if there are as many.
func Size(size int64) string {
	const mega, giga = 1 << 20, 1 << 30
	switch {
	case size == 0:
		return "-"
	case size < mega:
		return fmt.Sprintf("%dK", max(1, size>>10))
	case size < giga:
		return fmt.Sprintf("%dM", size/mega)
	case size < 100*giga:
		return fmt.Sprintf("%.1fG", float64(size)/giga)
	}
	return fmt.Sprintf("%dG", size/giga)
}
