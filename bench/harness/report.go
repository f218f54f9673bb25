package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is what a benchmark found: tables, notes and bars, in the order in which they
// were added.
type Report struct {
	name       string
	loadBefore string
	parts      []part
	bars       []bar
}

// A part is a table, or a note where it has no rows.
type part struct {
	note  string
	table *Table
}

// A Table has a header and rows of cells.
type Table struct{ rows [][]string }

// A bar is something that has to hold.
type bar struct {
	text    string
	verdict Verdict
}

// A Verdict says whether a bar is met.
type Verdict string

// The verdicts. Unclear is for bars that noise or a busy machine leaves undecided.
const (
	Met     Verdict = "met"
	Missed  Verdict = "NOT MET"
	Unclear Verdict = "unclear"
)

// Judge returns Met or Missed.
func Judge(isMet bool) Verdict {
	if isMet {
		return Met
	}
	return Missed
}

// Table begins a table.
func (r *Report) Table(header ...string) *Table {
	t := &Table{rows: [][]string{header}}
	r.parts = append(r.parts, part{table: t})
	return t
}

// Row adds a row; cells are formatted as by fmt.Sprint, and those that are missing at the
// end are empty.
func (t *Table) Row(cells ...any) {
	row := make([]string, max(len(cells), len(t.rows[0])))
	for i, cell := range cells {
		row[i] = fmt.Sprint(cell)
	}
	t.rows = append(t.rows, row)
}

// Note adds a paragraph.
func (r *Report) Note(format string, arguments ...any) {
	r.parts = append(r.parts, part{note: fmt.Sprintf(format, arguments...)})
}

// Bar adds a bar with its verdict.
func (r *Report) Bar(verdict Verdict, format string, arguments ...any) {
	r.bars = append(r.bars, bar{fmt.Sprintf(format, arguments...), verdict})
}

// Count returns how many bars have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, b := range r.bars {
		if b.verdict == v {
			n++
		}
	}
	return n
}

// allMet reports whether every bar is met; one that is unclear is not.
func (r *Report) allMet() bool {
	return r.Count(Met) == len(r.bars)
}

func (r *Report) print(w io.Writer) {
	for _, p := range r.parts {
		if p.table == nil {
			fmt.Fprintf(w, "%s\n\n", p.note)
			continue
		}
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range p.table.rows {
			fmt.Fprintln(columns, strings.Join(row, "\t"))
		}
		_ = columns.Flush() // standard output that is gone has no reader
		fmt.Fprintln(w)
	}
	for _, b := range r.bars {
		fmt.Fprintf(w, "%s: %s\n", b.text, b.verdict)
	}
	fmt.Fprintf(w, "load %s at first, %s now\n", r.loadBefore, Load())
}

// write replaces the measurement's page.
func (r *Report) write() error {
	var page strings.Builder
	fmt.Fprintf(&page, "# bench/%s\n\n", r.name)
	fmt.Fprintf(&page, "- date: %s\n- commit: %s\n- machine: %s\n- load: %s before, %s after\n- command: `go run ./bench/%s %s`\n",
		time.Now().UTC().Format("2006-01-02"), commit(), machine(), r.loadBefore, Load(), r.name, strings.Join(os.Args[1:], " "))
	for _, p := range r.parts {
		page.WriteString("\n")
		if p.table == nil {
			page.WriteString(p.note + "\n")
			continue
		}
		for i, row := range p.table.rows {
			page.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				page.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
			}
		}
	}
	if len(r.bars) > 0 {
		page.WriteString("\n| bar | verdict |\n| --- | --- |\n")
	}
	for _, b := range r.bars {
		fmt.Fprintf(&page, "| %s | %s |\n", b.text, b.verdict)
	}
	const folder = "docs/measurements"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, r.name+".md"), []byte(page.String()), 0o644)
}

// commit names the commit that was measured.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes the processors and the system.
func machine() string {
	model := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo") // where it cannot be read the processor stays unknown
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // likewise
	return fmt.Sprintf("%d × %s, Linux %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)))
}
