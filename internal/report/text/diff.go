package text

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var diffColumns = format.Columns(">CHANGE", ">±", ">BEFORE", ">AFTER", ">CALLS", ">NOW", "", "METHOD")

// WriteDiff writes a comparison of two profiles: the first top changes of methods and of
// contexts, or all where top is 0. A width of 0 allows lines of any length.
func WriteDiff(w io.Writer, d *diff.Difference, top, width int) error {
	p := &printer{bufio.NewWriter(w), width}
	for _, run := range []struct {
		when string
		diff.Run
	}{{"before:", d.Before}, {"after:", d.After}} {
		runs := ""
		if run.Runs > 1 {
			runs = format.Count(run.Runs, "run", "runs") + ", "
		}
		p.say("%s %s: %s%s, %s ± %s each", run.when, format.Printable(run.Title), runs, format.Count(run.Calls, "call of the root", "calls of the root"),
			format.Nanos(run.Total.Nanos), errorText(run.Total))
	}
	p.say("%s", TotalChange(d))
	for _, note := range d.Notes {
		p.say("note: %s", format.Printable(note))
	}
	for _, text := range notCompared(d.Uncompared) {
		p.say("%s", text)
	}
	for _, part := range []struct {
		title, one, many string
		list             []diff.Change
	}{
		{"Methods that changed: self time and calls, per call of the root", "method", "methods", d.Methods},
		{"Contexts that changed", "context", "contexts", d.Contexts},
	} {
		shown, hidden, rest := choose(part.list, top)
		if len(shown) > 0 {
			p.heading(part.title)
			p.table(changeTable(shown, width))
		}
		if hidden > 0 {
			p.line("… and %s that changed (--top)", format.Count(hidden, "more "+part.one, "more "+part.many))
		}
		if rest > 0 {
			p.line("%s without a significant change", format.Count(rest, part.one, part.many))
		}
	}
	return p.Flush()
}

// notCompared names the methods that are left out of the comparison, and why.
func notCompared(list []diff.Uncompared) []string {
	if len(list) == 0 {
		return nil
	}
	texts := []string{fmt.Sprintf("not compared: %s measured differently in the runs; below, their time is included in that of their callers:",
		format.Count(len(list), "method was", "methods were"))}
	for _, u := range list[:min(len(list), mostQuiet)] {
		var states []string
		for _, one := range []struct {
			hook diff.Hook
			when string
		}{{u.Before, "before"}, {u.After, "after"}} {
			if text := hookText(one.hook); text != "" {
				states = append(states, one.when+" "+text)
			}
		}
		texts = append(texts, fmt.Sprintf("  %s: %s", u.Method, strings.Join(states, ", ")))
	}
	if more := len(list) - mostQuiet; more > 0 {
		texts = append(texts, fmt.Sprintf("  and %s (--json names them)", format.Count(more, "more method", "more methods")))
	}
	return texts
}

// hookText describes a state of a hook that prevents a comparison.
func hookText(h diff.Hook) string {
	switch h.State {
	case diff.Partly:
		if h.On > 0 {
			return "on for " + format.Duration(h.On) + " only"
		}
		return "on for a part of the time"
	case diff.Off:
		return offText
	case diff.NoHook:
		return "no hook"
	case diff.Counted:
		return "only counted"
	}
	return ""
}

// TotalChange describes how the time of a root call changed.
func TotalChange(d *diff.Difference) string {
	if d.Before.Calls == 0 || d.After.Calls == 0 {
		return "nothing to compare: one side has no call of the root"
	}
	if d.Total.Low <= 0 && d.Total.High >= 0 {
		return fmt.Sprintf("no significant change in the time of a call of the root (%s ± %s)", signed(d.Total.Nanos), format.Nanos(d.Total.Uncertainty()))
	}
	how := "longer"
	if d.Total.Nanos < 0 {
		how = "less"
	}
	text := fmt.Sprintf("a call of the root takes %s %s", format.Nanos(math.Abs(d.Total.Nanos)), how)
	if d.Before.Total.Nanos > 0 {
		text += fmt.Sprintf(" (%+.0f %%)", d.Total.Nanos/d.Before.Total.Nanos*100)
	}
	return text + ", ± " + format.Nanos(d.Total.Uncertainty())
}

// choose returns the significant changes to show, and counts the changes that are hidden by top
// and the changes that are not significant.
func choose(list []diff.Change, top int) (shown []diff.Change, hidden, rest int) {
	for _, c := range list {
		switch {
		case c.Verdict == diff.Same || c.Verdict == diff.Untimed:
			rest++
		case top > 0 && len(shown) == top:
			hidden++
		default:
			shown = append(shown, c)
		}
	}
	return shown, hidden, rest
}

func changeTable(list []diff.Change, width int) *table {
	t := &table{columns: diffColumns}
	for _, c := range list {
		delta, wrong := none, none
		if c.Before.Known && c.After.Known {
			delta = signed(c.Delta.Nanos)
			if off := c.Delta.Uncertainty(); !math.IsInf(off, 0) {
				wrong = format.Nanos(off)
			}
		}
		t.rows = append(t.rows, []string{
			delta, wrong, selfText(c.Before), selfText(c.After), PerCall(c.Before.Calls), PerCall(c.After.Calls), string(c.Verdict), "",
		})
	}
	before := t.narrow(width, 30, "±", "BEFORE", "CALLS")
	for i, c := range list {
		name := c.Path[len(c.Path)-1]
		if width > 0 {
			name = shorten(name, width-before)
		}
		if len(c.Path) > 1 {
			name += callersText(c.Path)
			if width > 0 {
				name = cutEnd(name, width-before)
			}
		}
		t.setLast(i, name)
	}
	return t
}

// callersText lists the callers of the last method of a path by class and method, the
// direct caller first.
func callersText(path []string) string {
	var text strings.Builder
	for _, caller := range slices.Backward(path[:len(path)-1]) {
		head, _ := splitParameters(caller)
		text.WriteString(" ← " + brief(head))
	}
	return text.String()
}

func selfText(f diff.Figures) string {
	if f.Calls == 0 || !f.Known {
		return none
	}
	return format.Nanos(f.Self.Nanos)
}

// PerCall returns a number of calls per call of the root.
func PerCall(n float64) string {
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
