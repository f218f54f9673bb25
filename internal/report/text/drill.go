package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// WriteDrill writes the result of a search from a slow method to its cause. A width of 0 allows lines of any length.
func WriteDrill(w io.Writer, r *drill.Result, width int) error {
	p := &printer{bufio.NewWriter(w), width}
	for _, line := range r.Summary() {
		p.say("%s", format.Printable(line))
	}
	if len(r.Path) > 0 {
		heading := "Where slow calls take longer"
		if r.Unhooked != nil {
			heading = "Where the time goes"
		}
		p.heading(heading)
		t, used := drillTable(r.Path, width)
		drillNames(t, r.Path, used, width)
		p.table(t)
	}
	p.evidence(r)
	if len(r.Steps) > 0 {
		heading, on := "What was hooked", ">HOOKS ON"
		if r.Recorded != nil {
			heading, on = "What was traced", ">METHODS"
		}
		p.heading(heading)
		t := &table{columns: format.Columns(">AT", on, ">NEW", ">SETTLED", "WHY")}
		for _, s := range r.Steps {
			settled := none
			if s.Settled > 0 {
				settled = format.Duration(s.Settled.Round(time.Second / 10))
			}
			t.rows = append(t.rows, []string{format.Duration(s.At.Round(time.Second / 10)), format.Grouped(s.Methods), format.Grouped(s.Woven), settled, format.Printable(s.Text)})
		}
		p.table(t)
	}
	p.line("")
	switch {
	case r.Unhooked != nil:
		p.say("nothing was put into the JVM")
	case r.Recorded != nil && r.Removed:
		p.say("the recording has ended, and the JVM has restored the classes that it changed for it")
	case r.Removed:
		p.say("all hooks are removed")
	}
	if r.Recorded != nil {
		p.say("%s", r.Recorded.Cost())
	}
	if r.Period > 1 {
		p.say("to keep the budget, one call in %d was traced", r.Period)
	}
	if r.HookShare > 0 {
		p.say("hooks took at most %s of the program's processor time, estimated from their calls", format.Percent(r.HookShare))
	}
	for _, note := range r.Notes {
		p.say("note: %s", format.Printable(note))
	}
	if r.Disturbance != nil {
		p.say("%s", r.Disturbance)
	}
	return p.Flush()
}

// evidence writes what threads did in the last method, and how sure the result is.
func (p *printer) evidence(r *drill.Result) {
	if r.Cause == nil {
		return
	}
	p.heading("Evidence")
	in := "in slow calls "
	if r.Unhooked != nil {
		in = ""
	}
	for _, s := range r.Cause.States {
		if !s.IsRare() {
			p.say("%sit %s for %s of its own time (%s)%s", in, s.Does(), rangedShare(s.Share), format.Count(s.Samples, "sample", "samples"), placeText(s))
		}
	}
	if l := r.Cause.Lock; l != nil {
		p.say("samples of threads that wait for %s: %d", format.Printable(cmp.Or(l.Class, "it")), l.Seen)
		if len(l.Holding) > 0 {
			p.say("its holder executes %s", format.Printable(strings.Join(l.Holding, " < ")))
		}
	}
	if r.SampledBy != "" {
		p.say("samples: %s", format.Printable(r.SampledBy))
	}
	if len(r.Values) > 0 {
		found := ""
		if r.When == nil {
			found = "; none distinguishes slow calls"
		}
		p.say("values that were compared: %s%s", format.Printable(strings.Join(r.Values, ", ")), found)
	}
	for _, line := range r.Doubts() {
		p.say("%s", line)
	}
}

// placeText says in which method that is most often.
func placeText(s drill.State) string {
	if s.In == "" {
		return ""
	}
	return format.Printable(fmt.Sprintf(", %s of these in %s", shareText(s.InPart, 1), s.In))
}

// drillTable returns the figures of a path, without names, and where the names begin. Without hooks, there are shares and
// samples only.
func drillTable(path []drill.Level, width int) (t *table, used int) {
	t = &table{columns: format.Columns(">SLOW", ">NORMAL", ">EXCESS", ">95 %", ">CALLS", "METHOD")}
	isSampled := path[0].Samples > 0
	if isSampled {
		t.columns = format.Columns(">SHARE", ">95 %", ">SAMPLES", "METHOD")
	}
	row := func(c drill.Contrast, calls string) {
		c.Share.Part, c.Share.Low = max(0, c.Share.Part), max(0, c.Share.Low)
		cells := []string{shareText(c.Share.Part, 1), rangeText(c.Share), calls, ""}
		if !isSampled {
			cells = append([]string{format.Nanos(c.Slow), format.Nanos(c.Normal)}, cells...)
		}
		t.rows = append(t.rows, cells)
	}
	for i := range path {
		l := &path[i]
		calls := l.Calls()
		if isSampled {
			calls = format.Grouped(l.Samples)
		}
		row(l.Contrast, calls)
		for _, s := range l.Beside() {
			row(s.Contrast, "")
		}
	}
	if last := path[len(path)-1]; last.HasCallees() {
		row(last.Own, "")
	}
	return t, t.narrow(width, 40, "95 %", "CALLS", "SAMPLES")
}

// drillNames adds the names to a table: each method of the path below its caller, with the other callees.
func drillNames(t *table, path []drill.Level, used, width int) {
	at := 0
	set := func(branches, name, marks string) {
		t.setTree(at, branches, format.Printable(name), marks, used, width)
		at++
	}
	for i := range path {
		branch := ""
		if i > 0 {
			branch = strings.Repeat("  ", i-1) + "└ "
		}
		marks := ""
		if path[i].Handed {
			marks = "  ⇢ on another thread"
		}
		set(branch, path[i].Name(), marks)
		for _, s := range path[i].Beside() {
			set(strings.Repeat("  ", i)+"├ ", s.Class+"."+s.Method, "")
		}
	}
	if at < len(t.rows) {
		set(strings.Repeat("  ", len(path)-1)+"└ ", "own time", "")
	}
}

// DrillRows returns a path as rows of a terminal.
func DrillRows(path []drill.Level, width int) (titles string, rows []format.Row) {
	if len(path) == 0 {
		return "", nil
	}
	t, used := drillTable(path, width)
	drillNames(t, path, used, width)
	lines := t.lines()
	at := 1
	for i := range path {
		rows = append(rows, format.Row{Text: lines[at], Method: path[i].Name(), Depth: i})
		at++
		for _, s := range path[i].Beside() {
			rows = append(rows, format.Row{Text: lines[at], Method: s.Class + "." + s.Method, Depth: i + 1})
			at++
		}
	}
	for ; at < len(lines); at++ {
		rows = append(rows, format.Row{Text: lines[at], Depth: len(path)})
	}
	return lines[0], rows
}
