package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// leastShare is what part of the whole a line must stand for to be written.
const leastShare = 0.001

// WriteText writes a profile for people. width is the terminal's, 0 where lines may
// be of any length.
func WriteText(w io.Writer, p *cct.Profile, width int) error { return WriteTextTop(w, p, width, 0) }

// WriteTextTop is WriteText with a list of so many methods at most; 0 is no limit.
func WriteTextTop(w io.Writer, p *cct.Profile, width, most int) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	t := &textReport{Writer: out, profile: p, names: names(p.Methods), partly: p.Partly(), width: width, most: most}
	t.header()
	t.tree()
	t.flat()
	t.threads()
	t.how()
	return out.Flush()
}

// A textReport is one being written.
type textReport struct {
	*bufio.Writer
	profile *cct.Profile
	names   []string
	partly  map[int]time.Duration // how long hooks were on that were not throughout
	width   int
	most    int // methods in the list; 0 is no limit
}

func (t *textReport) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t, format+"\n", args...)
}

// say writes a sentence, on as many lines as it needs.
func (t *textReport) say(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), t.width) {
		t.line("%s", line)
	}
}

// wrap breaks a text between words. What follows the first line stands two columns
// further in.
func wrap(text string, width int) []string {
	indent := strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " ")))
	var lines []string
	line := indent
	for _, word := range words(text) {
		begun := strings.TrimSpace(line) != ""
		if width > 0 && begun && utf8.RuneCountInString(line+" "+word) > width {
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

// heading sets a part of the report off from the one before.
func (t *textReport) heading(text string) { t.line("\n%s\n", text) }

// words are those of a text; a figure and its unit are one.
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

func (t *textReport) header() {
	p := t.profile
	t.say("%s", format.Printable(title(p.Target)))
	t.say("%s", format.Printable(fmt.Sprintf("from %s down", strings.Join(p.Roots, ", "))))
	when := ""
	if !p.Began.IsZero() {
		when = ", from " + p.Began.Format("2006-01-02 15:04:05 MST")
	}
	t.say("%s%s: %s", format.Duration(p.Took), when, rootCalls(p.Merged))
	t.say("%s", timingText(p))
	if p.Scheme != "" {
		t.say("%s: %s", p.Scheme, p.Why)
	}
}

func title(t cct.Target) string {
	text := t.Command
	if text == "" {
		text = "a Java program"
	}
	var known []string
	if t.PID > 0 {
		known = append(known, fmt.Sprintf("process %d", t.PID))
	}
	if t.JDK != "" {
		known = append(known, "JDK "+t.JDK)
	}
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return text
}

// rootCalls says how often the roots were called, and how long that took.
func rootCalls(top *cct.Node) string {
	var calls, running uint64
	for _, root := range top.Children {
		calls += root.Calls
		running += root.Running
	}
	text := format.Count(calls, "call of the root", "calls of the root")
	if top.Total.Nanos > 0 {
		text += fmt.Sprintf(", %s ± %s in all", format.Nanos(top.Total.Nanos), errorText(top.Total))
	}
	if running > 0 {
		text += fmt.Sprintf(", %s not ended", format.Grouped(running))
	}
	return text
}

func timingText(p *cct.Profile) string {
	switch p.Timing {
	case cct.Sampled:
		return fmt.Sprintf("sampled: every call counted, one in %s timed; ~ marks estimates, their error holds in 95 cases of 100", format.Grouped(int(p.Period)))
	case cct.Auto:
		return "auto: every call of a hook counted, up to some thousands a second of each timed, within the budget; ~ marks estimates, their error holds in 95 cases of 100"
	}
	return "exact: every call counted and timed"
}
