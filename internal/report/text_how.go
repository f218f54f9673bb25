package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// how says how the figures were obtained.
func (t *textReport) how() {
	p := t.profile
	t.heading("How this was measured")
	t.calibration(p.Calibration)
	raw, self, lost := sums(p.Merged)
	if raw > 0 && self > 0 {
		t.say("  the same calls without calibration: %s of own time instead of %s (%+.0f %%)",
			format.Nanos(raw), format.Nanos(self), (raw/self-1)*100)
	}
	if lost > 0 {
		t.say("  Sonde held calls up for %s: that is in no time above", format.Duration(lost))
	}
	t.unknown(p.Merged)
	t.cost(p.Cost)
	for _, q := range p.Quiet[:min(len(p.Quiet), mostQuiet)] {
		state := "thinned"
		if on, is := t.partly[q.Method]; is {
			state = onText(on, p.Took)
		}
		t.say("  %s: %s: %s", state, t.names[q.Method], q.Reason)
	}
	if more := len(p.Quiet) - mostQuiet; more > 0 {
		t.say("  and %s whose hooks were off for all or part of the time; the page and the JSON name them", format.Count(more, "more method", "more methods"))
	}
	t.leftAlone(p.LeftAlone)
	for _, note := range p.Notes {
		t.say("  note: %s", format.Printable(note))
	}
}

// mostQuiet is how many quiet hooks are named.
const mostQuiet = 10

func (t *textReport) calibration(c cct.Calibration) {
	if c.Times == 0 {
		t.say("  not calibrated: times hold what measuring cost")
		return
	}
	t.say("  calibrated %s in the target, with its own hooks around a known body:", format.Count(c.Times, "time", "times"))
	var drawn cct.Span
	if t.profile.Timing != cct.Exact {
		drawn = c.Drawn
	}
	for _, part := range []struct {
		span cct.Span
		text string
	}{
		{c.Inner, "a timed call costs %s inside its own time"},
		{c.Outer, "and %s inside its caller's"},
		{drawn, "one that is timed by lot costs %s inside its own time"},
		{c.Count, "a call that is only counted costs %s"},
	} {
		if part.span.Median > 0 {
			t.say("    "+part.text, fmt.Sprintf("%s (%s to %s)", costText(part.span.Median), costText(part.span.Low), costText(part.span.High)))
		}
	}
	t.say("  that is subtracted; ± is what it leaves open")
	if c.Overlap > 0 {
		t.say("  a call may still read up to %s too long, where the clock ended overlap with its neighbours: ± includes it", costText(c.Overlap))
	}
}

// sums are what the clock said of own times, and what calibration made of it, where
// every call was timed; and all that Sonde took.
func sums(n *cct.Node) (raw, self float64, lost time.Duration) {
	lost = n.Lost
	if n.Timed > 0 && n.Timed == n.Calls {
		raw, self = float64(n.Raw), n.Self.Nanos
	}
	for _, c := range n.Children {
		r, s, l := sums(c)
		raw, self, lost = raw+r, self+s, lost+l
	}
	return raw, self, lost
}

// unknown says of how many calls no time is known.
func (t *textReport) unknown(top *cct.Node) {
	var counting, undrawn pruned
	var walk func(n *cct.Node)
	walk = func(n *cct.Node) {
		for _, c := range n.Children {
			if !c.Known() {
				group := &counting
				if c.Self.High > 0 {
					group = &undrawn
				}
				group.lines++
				group.calls += c.Calls
			}
			walk(c)
		}
	}
	walk(top)
	for _, group := range []struct {
		pruned
		text string
	}{
		{counting, "  only counted: %s with %s, whose time is with their callers"},
		{undrawn, "  without time: %s with %s, none of which was drawn; it is in no time above"},
	} {
		if group.lines > 0 {
			t.say(group.text, format.Count(group.lines, "node", "nodes"), format.Count(group.calls, "call", "calls"))
		}
	}
}

func (t *textReport) cost(c cct.Cost) {
	if c.Hooks > 0 {
		text := fmt.Sprintf("  hooks in %s of %s", format.Count(c.Hooks, "method", "methods"), format.Count(c.Classes, "class", "classes"))
		if c.Closure > 0 {
			text += fmt.Sprintf(", of %s the root can reach", format.Grouped(c.Closure))
		}
		if c.Cached > 0 {
			text += fmt.Sprintf(" (%s woven, %s from the cache)", format.Grouped(c.Woven), format.Grouped(c.Cached))
		}
		t.say("%s; put in by %s", text, format.Count(c.Rounds, "batch", "batches"))
	}
	var parts []string
	for _, part := range []struct {
		took time.Duration
		text string
	}{
		{c.Pause, "stood still for %s"}, {c.Compile, "its compilers worked %s"},
		{c.Waited, "its threads waited %s for hooks, in first calls and for classes that loaded"},
	} {
		if part.took > 0 {
			parts = append(parts, fmt.Sprintf(part.text, format.Duration(part.took)))
		}
	}
	if len(parts) > 0 {
		t.say("  for that the program %s", strings.Join(parts, ", "))
	}
	if c.Steady > 0 {
		text := fmt.Sprintf("  once in, hooks took %s of its processor time", shareText(c.Steady, 1))
		if c.Budget > 0 {
			text += fmt.Sprintf("; allowed were %s", shareText(c.Budget, 1))
		}
		t.say("%s", text)
	}
}

// leftAlone counts what has no hook by its reason, but for details.
func (t *textReport) leftAlone(list []cct.LeftAlone) {
	if len(list) == 0 {
		return
	}
	groups := map[string][]cct.LeftAlone{}
	var reasons []string
	for _, l := range list {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		if groups[reason] == nil {
			reasons = append(reasons, reason)
		}
		groups[reason] = append(groups[reason], l)
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
	t.say("  left alone, their time is with their callers:")
	for _, reason := range reasons {
		first := groups[reason][0]
		name := strings.ReplaceAll(first.Class, "/", ".")
		if first.Method != "" {
			name += "." + first.Method
		}
		t.say("    %s: %s, such as %s", format.Grouped(len(groups[reason])), format.Printable(reason), format.Printable(name))
	}
}
