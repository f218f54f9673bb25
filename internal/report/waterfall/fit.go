package waterfall

import (
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
			lines = append(lines, format.Cut(current, width))
			current = "  " + word
		}
	}
	return append(lines, format.Cut(current, width))
}
