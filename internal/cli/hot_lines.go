package cli

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

var (
	hotColumns    = []column{{"SELF", true}, {"95 %", true}, {"TOTAL", true}, {"KIND", false}, {"LINE", true}, {"METHOD", false}}
	narrowColumns = []column{{"SELF", true}, {"TOTAL", true}, {"METHOD", false}}
	threadColumns = []column{{"SHARE", true}, {"95 %", true}, {"CPU", true}, {"SAMPLES", true}, {"MOST OF IT IN", false}, {"THREAD", false}}
)

const (
	// narrow is the width below which only the most needed columns are shown.
	narrow = 70
	// finalRows is how many methods the last table has, where --top says nothing.
	finalRows = 30
	// longestTop bounds a column that is not the last.
	longestTop = 40
)

// lines are what fits a terminal.
func (v *hotView) lines(t *hotspots.Table, head string, top, width, height int) []string {
	lines := []string{cut(head, width), cut(v.keyLine(), width), ""}
	const around = 6 // those, the titles, what is left out, the line of the cursor
	room := max(1, height-around)
	if top > 0 {
		room = min(room, top)
	}
	table, hidden := v.tableLines(t, room, width)
	for _, line := range table {
		lines = append(lines, cut(line, width))
	}
	if hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", grouped(hidden)))
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// keyLine says what keys do, or what is typed.
func (v *hotView) keyLine() string {
	words := []string{"by " + v.sort}
	if v.typing {
		return "filter: " + printable(v.filter) + "_"
	}
	if v.filter != "" {
		words = append(words, "filter "+strconv.Quote(v.filter))
	}
	if v.paused {
		words = append(words, "paused")
	}
	line := strings.Join(words, ", ")
	if v.hasKeys {
		line += "   [s]elf [t]otal [n]ame  / filter  t[h]reads  [p]ause  [q]uit"
	} else {
		line += "   Ctrl-C ends it"
	}
	return line
}

// tableLines are the first rows of a table with its titles, and how many more
// there are.
func (v *hotView) tableLines(t *hotspots.Table, most, width int) (lines []string, hidden int) {
	if v.threads {
		rows := v.running(t)
		shown := rows[:min(most, len(rows))]
		return tableLines(threadColumns, threadTexts(shown), width), len(rows) - len(shown)
	}
	rows := v.methods(t)
	shown := rows[:min(most, len(rows))]
	columns, texts := hotColumns, hotTexts(shown, t.Methods)
	if width > 0 && width < narrow {
		columns = narrowColumns
		for i, row := range texts {
			texts[i] = []string{row[0], row[2], row[5]}
		}
	}
	return tableLines(columns, texts, width), len(rows) - len(shown)
}

func hotTexts(rows, all []hotspots.Method) [][]string {
	overloads := hotOverloads(all)
	texts := make([][]string, 0, len(rows))
	for _, m := range rows {
		self, interval, kind, line := "-", "", "", ""
		if m.Samples > 0 {
			self, interval, kind = partText(m.Self.Part), intervalText(m.Self), mostOf(m.Kinds)
			if first := m.Lines[0]; first.Line > 0 {
				line = strconv.Itoa(first.Line)
			}
		}
		row := rowOf(m.Method)
		texts = append(texts, []string{self, interval, partText(m.Total.Part), kind, line, printable(row.shown(overloads))})
	}
	return texts
}

func threadTexts(rows []hotspots.Thread) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, t := range rows {
		cpu, top := "-", ""
		if t.CPU >= 0 {
			cpu = partText(t.CPU)
		}
		if t.Top != nil {
			top = printable(keepEnd(methodName(t.Top), longestTop, 0))
		}
		name := t.Name
		if name == "" {
			name = "#" + strconv.FormatInt(t.JavaID, 10)
		}
		if t.Virtual {
			name += " (virtual)"
		}
		texts = append(texts, []string{partText(t.Share.Part), intervalText(t.Share), cpu, grouped(t.Samples), top, printable(name)})
	}
	return texts
}

// hotOverloads are the names that more than one method has.
func hotOverloads(methods []hotspots.Method) map[string]bool {
	rows := make([]methodRow, 0, len(methods))
	for _, m := range methods {
		rows = append(rows, rowOf(m.Method))
	}
	return overloadsOf(rows)
}

func rowOf(m *jfr.Method) methodRow {
	return methodRow{class: className(m.Class), name: m.Name, descriptor: m.Descriptor}
}

func methodName(m *jfr.Method) string { return className(m.Class) + "." + m.Name }

// className is a class's name for people. What the JVM adds to the name of a
// class it hides, an address, says nothing to them.
func className(class string) string {
	for _, mark := range []string{"/0x", "+0x"} {
		if at := strings.LastIndex(class, mark); at > 0 {
			class = class[:at]
		}
	}
	return strings.ReplaceAll(class, "/", ".")
}

// mostOf is the kind of frame most samples had, and how many where not all.
func mostOf(kinds map[string]float64) string {
	if len(kinds) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		if kinds[a] != kinds[b] {
			if kinds[a] > kinds[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if most := names[0]; kinds[most] < 0.995 {
		return fmt.Sprintf("%s %.0f %%", most, 100*kinds[most])
	}
	return names[0]
}

func partText(part float64) string {
	if part > 0 && part < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

func intervalText(s hotspots.Share) string { return fmt.Sprintf("%.0f-%.0f", 100*s.Low, 100*s.High) }

// headline is what the table is about.
func (r *hotRun) headline(t *hotspots.Table) string {
	what := fmt.Sprintf("process %d", r.pid)
	if name := r.sampler.JVM().Main; name != "" {
		what += " (" + printable(name) + ")"
	}
	seen := t.To.Sub(t.From)
	text := fmt.Sprintf("%s: %s in %s", what, count(t.Samples, "sample", "samples"), durationText(seen))
	if t.Waiting > 0 {
		text += fmt.Sprintf(", %s of threads that wait left out", grouped(t.Waiting))
	}
	if r.sampler.Bias() != "" {
		text = "BIASED (thread dumps), " + text
	}
	return text
}

// writeText writes the last table, which stays.
func (r *hotRun) writeText(t *hotspots.Table) error {
	most := r.top
	if most == 0 {
		most = finalRows
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	lines, hidden := r.view.tableLines(t, most, r.outWidth())
	for _, line := range lines {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", r.headline(t))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", grouped(hidden))
	}
	return out.Flush()
}
