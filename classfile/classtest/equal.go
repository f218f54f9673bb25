package classtest

import (
	"fmt"
	"strings"
)

// Equal answers nil when two class files say the same, however their constant
// pools are laid out; otherwise the first difference with the lines that lead to
// it.
func Equal(a, b []byte) error {
	textA, err := Describe(a)
	if err != nil {
		return fmt.Errorf("first class: %w", err)
	}
	textB, err := Describe(b)
	if err != nil {
		return fmt.Errorf("second class: %w", err)
	}
	if textA == textB {
		return nil
	}
	return firstDifference(strings.Split(textA, "\n"), strings.Split(textB, "\n"))
}

func firstDifference(a, b []string) error {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return fmt.Errorf("line %d differs:\n%s- %s\n+ %s", i+1, enclosing(a, i), lineAt(a, i), lineAt(b, i))
}

// enclosing gives the less indented lines above line i, which say what it is part of.
func enclosing(lines []string, i int) string {
	depth := depthOf(lineAt(lines, i))
	context := ""
	for i--; i >= 0 && depth > 0; i-- {
		if d := depthOf(lines[i]); d < depth {
			context = "  " + lines[i] + "\n" + context
			depth = d
		}
	}
	return context
}

func depthOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}
