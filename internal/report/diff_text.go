package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var diffColumns = []column{
	{"CHANGE", true}, {"±", true}, {"BEFORE", true}, {"AFTER", true}, {"CALLS", true}, {"NOW", true}, {"", false}, {"METHOD", false},
}

// WriteText writes the difference for people: of methods and of contexts the first
// top changes each, 0 is all. width is the terminal's, 0 where lines may be of any
// length.
func (d *Difference) WriteText(w io.Writer, top, width int) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say := func(format string, args ...any) {
		for _, text := range wrap(fmt.Sprintf(format, args...), width) {
			line("%s", text)
		}
	}
	for _, run := range []struct {
		when string
		Run
	}{{"before:", d.Before}, {"after:", d.After}} {
		say("%s %s: %s, %s ± %s each", run.when, format.Printable(run.Title), format.Count(run.Calls, "call of the root", "calls of the root"),
			format.Nanos(run.Total.Nanos), errorText(run.Total))
	}
	say("%s", d.verdict())
	for _, note := range d.Notes {
		say("note: %s", format.Printable(note))
	}
	for _, text := range d.notCompared() {
		say("%s", text)
	}
	for _, part := range []struct {
		title, one, many string
		list             []Change
	}{
		{"Methods that changed: own time and calls, per call of the root", "method", "methods", d.Methods},
		{"Where they are called from", "context", "contexts", d.Contexts},
	} {
		shown, hidden, rest := choose(part.list, top)
		if len(shown) > 0 {
			line("\n%s\n", part.title)
			for _, text := range changeLines(shown, width) {
				line("%s", text)
			}
		}
		if hidden > 0 {
			line("… and %s that changed (--top)", format.Count(hidden, part.one+" more", part.many+" more"))
		}
		if rest > 0 {
			line("%s without a sure change", format.Count(rest, part.one, part.many))
		}
	}
	return out.Flush()
}

// notCompared names the methods that are left out, and says why.
func (d *Difference) notCompared() []string {
	if len(d.Uncompared) == 0 {
		return nil
	}
	texts := []string{fmt.Sprintf("not compared: %s not measured in the same way on both sides; in all below the time is with their callers on both:",
		format.Count(len(d.Uncompared), "method was", "methods were"))}
	for _, u := range d.Uncompared[:min(len(d.Uncompared), mostQuiet)] {
		var said []string
		for _, one := range []struct {
			hook Hook
			when string
		}{{u.Before, "before"}, {u.After, "after"}} {
			if text := one.hook.text(); text != "" {
				said = append(said, one.when+" "+text)
			}
		}
		texts = append(texts, fmt.Sprintf("  %s: %s", u.Method, strings.Join(said, ", ")))
	}
	if more := len(d.Uncompared) - mostQuiet; more > 0 {
		texts = append(texts, fmt.Sprintf("  and %s (--json names them)", format.Count(more, "method more", "methods more")))
	}
	return texts
}

// text says what keeps a hook's figures from being compared, if it is this side's.
func (h Hook) text() string {
	switch h.State {
	case Partly:
		if h.On > 0 {
			return "on for " + format.Duration(h.On) + " only"
		}
		return "on for a part of the time"
	case Off:
		return offText
	case NoHook:
		return "no hook"
	case Counted:
		return "only counted"
	}
	return ""
}

// verdict is the sum of it all in a sentence.
func (d *Difference) verdict() string {
	if d.Before.Calls == 0 || d.After.Calls == 0 {
		return "the root was not called on both sides: there is nothing to compare"
	}
	if d.Total.Low <= 0 && d.Total.High >= 0 {
		return fmt.Sprintf("a call of the root takes as long as before, as far as can be told (%s ± %s)",
			signed(d.Total.Nanos), format.Nanos(halfOf(d.Total)))
	}
	how := "longer"
	if d.Total.Nanos < 0 {
		how = "less"
	}
	text := fmt.Sprintf("a call of the root takes %s %s", format.Nanos(math.Abs(d.Total.Nanos)), how)
	if d.Before.Total.Nanos > 0 {
		text += fmt.Sprintf(" (%+.0f %%)", d.Total.Nanos/d.Before.Total.Nanos*100)
	}
	return text + ", ± " + format.Nanos(halfOf(d.Total))
}

// choose takes the changes worth a line, and counts the others.
func choose(list []Change, top int) (shown []Change, hidden, rest int) {
	for _, c := range list {
		switch {
		case c.Verdict == Same || c.Verdict == Untimed:
			rest++
		case top > 0 && len(shown) == top:
			hidden++
		default:
			shown = append(shown, c)
		}
	}
	return shown, hidden, rest
}

func changeLines(list []Change, width int) []string {
	rows := make([][]string, len(list))
	for i, c := range list {
		delta, wrong := none, none
		if c.Before.Known && c.After.Known {
			delta, wrong = signed(c.Delta.Nanos), boundText(c.Delta)
		}
		rows[i] = []string{
			delta, wrong, selfText(c.Before), selfText(c.After), perCall(c.Before.Calls), perCall(c.After.Calls), string(c.Verdict), "",
		}
	}
	columns, rows, before := narrow(diffColumns, rows, width, 30, "±", "BEFORE", "CALLS")
	for i, c := range list {
		last := len(rows[i]) - 1
		name := c.Path[len(c.Path)-1]
		if width > 0 {
			name = shorten(name, width-before)
		}
		if way := ways(c.Path); way != "" {
			name += way
			if width > 0 {
				name = cutEnd(name, width-before)
			}
		}
		rows[i][last] = name
	}
	return tableLines(columns, rows)
}

// ways are the callers, the nearest first, by class and method alone.
func ways(path []string) string {
	var text strings.Builder
	for i := len(path) - 2; i >= 0; i-- {
		head, _, _ := strings.Cut(path[i], "(")
		parts := strings.Split(head, ".")
		text.WriteString(" ← " + strings.Join(parts[max(0, len(parts)-2):], "."))
	}
	return text.String()
}

func cutEnd(text string, room int) string {
	runes := []rune(text)
	if room = max(room, 12); len(runes) <= room {
		return text
	}
	return string(runes[:room-1]) + "…"
}

func selfText(f Figures) string {
	if f.Calls == 0 || !f.Known {
		return none
	}
	return format.Nanos(f.Self.Nanos)
}

// perCall is how often something is called in one call of the root.
func perCall(n float64) string {
	switch {
	case n == 0:
		return none
	case n >= 1000:
		return format.Grouped(uint64(math.Round(n)))
	case n < 0.01:
		return "< 0.01"
	}
	return strings.TrimSuffix(format.ThreeDigits(n), ".00")
}

func signed(nanos float64) string {
	text := format.Nanos(nanos)
	if nanos >= 0 {
		return "+" + text
	}
	return text
}

// halfOf is how far from a difference the truth may be, on the side where it may be
// further.
func halfOf(t cct.Time) float64 { return math.Max(t.High-t.Nanos, t.Nanos-t.Low) }

func boundText(t cct.Time) string {
	if half := halfOf(t); !math.IsInf(half, 0) {
		return format.Nanos(half)
	}
	return none
}

// The difference as JSON (docs/formats/profile.md says what is in it).
type (
	diffJSON struct {
		Before   runJSON       `json:"before"`
		After    runJSON       `json:"after"`
		Total    boundsJSON    `json:"total"`
		Methods  []changeJSON  `json:"methods"`
		Contexts []changeJSON  `json:"contexts"`
		Unalike  []unalikeJSON `json:"notCompared,omitempty"`
		Notes    []string      `json:"notes,omitempty"`
	}
	unalikeJSON struct {
		Method string   `json:"method"`
		Before hookJSON `json:"before"`
		After  hookJSON `json:"after"`
	}
	hookJSON struct {
		Hook State `json:"hook"`
		On   int64 `json:"onNanos,omitempty"`
	}
	runJSON struct {
		Target    string     `json:"target"`
		RootCalls uint64     `json:"rootCalls"`
		Total     boundsJSON `json:"total"`
	}
	changeJSON struct {
		Path    []string    `json:"path"`
		Verdict Verdict     `json:"verdict"`
		Before  figuresJSON `json:"before"`
		After   figuresJSON `json:"after"`
		Delta   *boundsJSON `json:"change,omitempty"`
	}
	figuresJSON struct {
		Calls float64     `json:"calls"`
		Self  *boundsJSON `json:"self,omitempty"`
	}
	boundsJSON [3]*float64
)

// WriteJSON writes the difference for programs: of methods and of contexts the first
// top each, 0 is all.
func (d *Difference) WriteJSON(w io.Writer, top int) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	var unalike []unalikeJSON
	for _, u := range d.Uncompared {
		unalike = append(unalike, unalikeJSON{u.Method, hookJSON{u.Before.State, int64(u.Before.On)}, hookJSON{u.After.State, int64(u.After.On)}})
	}
	err := encoder.Encode(diffJSON{
		Before: describeRun(d.Before), After: describeRun(d.After), Total: boundsOf(d.Total),
		Methods: describeChanges(d.Methods, top), Contexts: describeChanges(d.Contexts, top), Unalike: unalike, Notes: d.Notes,
	})
	if err != nil {
		return fmt.Errorf("difference as JSON: %w", err)
	}
	return nil
}

func describeRun(r Run) runJSON { return runJSON{r.Title, r.Calls, boundsOf(r.Total)} }

func describeChanges(list []Change, top int) []changeJSON {
	if top > 0 && top < len(list) {
		list = list[:top]
	}
	described := make([]changeJSON, 0, len(list))
	for _, c := range list {
		j := changeJSON{Path: c.Path, Verdict: c.Verdict, Before: describeFigures(c.Before), After: describeFigures(c.After)}
		if c.Before.Known && c.After.Known {
			delta := boundsOf(c.Delta)
			j.Delta = &delta
		}
		described = append(described, j)
	}
	return described
}

func describeFigures(f Figures) figuresJSON {
	j := figuresJSON{Calls: f.Calls}
	if f.Known {
		self := boundsOf(f.Self)
		j.Self = &self
	}
	return j
}

// boundsOf is a time and its bounds; JSON has no infinity: null is none.
func boundsOf(t cct.Time) (b boundsJSON) {
	for i, n := range []float64{t.Nanos, t.Low, t.High} {
		if !math.IsInf(n, 0) && !math.IsNaN(n) {
			b[i] = &n
		}
	}
	return b
}
