package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A liveTable shows what happens in a JVM, interval by interval, as read from an arena.
type liveTable struct {
	streams
	screen   *screen
	pid      int
	main     string // the program's main class
	interval time.Duration
	sample   uint32 // one call in so many is timed
	times    string // says which calls are timed
	top      int
	json     bool
	view     monitorView
	options  monitor.Options
	source   monitor.Source
	rows     func() []results.Row                       // everything that is watched
	costs    func(table *monitorTable) string           // says what hooks cost
	describe func(d *document.Monitor, t *monitorTable) // adds what is known only at the end

	patterns   []string // each has a row, even if it matches no loaded method
	patternsOf func(row *results.Row) []string

	methods     map[uint32]results.Row // by ID, as of the last table
	first, last *monitor.Reading
	table       *monitorTable // the last that was made
	titled      bool          // the titles of plain lines are written
}

type monitorTable struct {
	*monitor.Interval
	names    map[monitor.Key]string // of rows, for people
	from, to *monitor.Reading
	elapsed  time.Duration // since the hooks went on
	at       time.Time
	final    bool
	ended    ending
	farewell *session.Farewell // nil where there was nothing to leave any more
}

func (b *liveTable) begin(first *monitor.Reading) { b.first, b.last = first, first }

func (b *liveTable) read() error {
	reading, err := monitor.Take(b.source, b.last, b.options.Stall)
	if err != nil {
		return err
	}
	b.last = reading
	return nil
}

// look returns what happened from a reading to the last one.
func (b *liveTable) look(from *monitor.Reading) *monitorTable {
	table := &monitorTable{from: from, to: b.last, elapsed: time.Duration(b.last.At - b.first.At), at: time.Now()}
	b.group(table)
	return table
}

func (b *liveTable) group(table *monitorTable) {
	groups, names := b.groups(b.view.by)
	table.Interval, table.names = monitor.Between(table.from, table.to, groups, b.options), names
}

func (b *liveTable) callsSoFar() (calls uint64) {
	sum, err := b.source.Sum()
	if err != nil {
		return 0 // the end reports it
	}
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls
}

// writeRest takes the last reading. Objects of intervals add up to the whole, so the last,
// shorter one is written as well.
func (b *liveTable) writeRest(ended ending) error {
	before := b.last
	if err := b.read(); err != nil || !b.json || ended == endedUnread {
		return err
	}
	return b.writeJSON(b.look(before))
}

// watch shows each interval until the end, and returns why that came. After each reading
// it calls update, which may be nil.
func (b *liveTable) watch(ctx context.Context, s *waitLoop, update func()) ending {
	if !b.json && !b.screen.silent {
		pressed, restore := readKeys()
		defer restore()
		s.keys, s.press, b.view.hasKeys = pressed, b.press, pressed != nil
	}
	s.addTask(b.interval, func() ending {
		before := b.last
		if err := b.read(); err != nil {
			return notEnded // the end reports it
		}
		if update != nil {
			update()
		}
		return afterWrite(b.show(before))
	})
	return s.wait(ctx)
}

// press changes the view by a key, and reports whether the key ends the command.
func (b *liveTable) press(key rune) (quit bool) {
	if b.view.press(key) {
		return true
	}
	if b.table != nil {
		b.group(b.table)
	}
	b.draw()
	return false
}

func (b *liveTable) show(before *monitor.Reading) error {
	table := b.look(before)
	switch {
	case b.json:
		return b.writeJSON(table)
	case b.screen.silent:
		return b.writeLines(table)
	}
	if !b.view.paused || b.table == nil {
		b.table = table
	}
	b.draw()
	return nil
}

// groups returns the keys of a table's rows, with their names, and what counts in them.
func (b *liveTable) groups(by string) (*monitor.Groups, map[monitor.Key]string) {
	rows := b.rows()
	groups, names := &monitor.Groups{Of: make(map[uint32][]monitor.Key, len(rows))}, make(map[monitor.Key]string)
	b.methods = make(map[uint32]results.Row, len(rows))
	overloads := overloadsOf(rows)
	for _, row := range rows {
		b.methods[row.ID] = row
		row.Context = contextText(row.Within, row.Label)
		key := contextKey(row.Within, row.Label)
		if by == byMethod {
			key.Method = monitor.Method{Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}
			names[key], groups.Of[row.ID] = rowName(&row, overloads), []monitor.Key{key}
			continue
		}
		for _, pattern := range b.patternsOf(&row) {
			key.Pattern = pattern
			names[key], groups.Of[row.ID] = pattern+inContext(row.Context), append(groups.Of[row.ID], key)
		}
	}
	for key := range names {
		groups.Keys = append(groups.Keys, key)
	}
	for _, pattern := range b.patterns {
		isMet := func(key monitor.Key) bool { return key.Pattern == pattern }
		if by != byMethod && !slices.ContainsFunc(groups.Keys, isMet) {
			key := monitor.Key{Pattern: pattern}
			names[key], groups.Keys = pattern, append(groups.Keys, key)
		}
	}
	slices.SortFunc(groups.Keys, func(x, y monitor.Key) int {
		return cmp.Or(cmp.Compare(slices.Index(b.patterns, x.Pattern), slices.Index(b.patterns, y.Pattern)), compareKeys(x, y))
	})
	return groups, names
}

func compareKeys(a, b monitor.Key) int {
	return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name),
		cmp.Compare(a.Method.Descriptor, b.Method.Descriptor), cmp.Compare(a.Within, b.Within), cmp.Compare(a.Tags, b.Tags),
		cmp.Compare(a.Callers, b.Callers))
}

func (r *monitorRun) rows() []results.Row {
	if !r.applied.isUsed() {
		return methodRows(r.session.Methods(), nil)
	}
	_, rows, err := r.readRows()
	if err != nil {
		return nil // the end reports it
	}
	if !hasSequences(r.applied.set) {
		for i := range rows {
			rows[i].Within = ""
		}
	}
	return rows
}

// namesOf returns the texts of patterns, each once.
func namesOf(patterns []*pattern.Pattern) (names []string) {
	for _, p := range patterns {
		if !slices.Contains(names, p.String()) {
			names = append(names, p.String())
		}
	}
	return names
}

func matching(set *pattern.Set, row *results.Row) []string {
	m := classfile.MethodRef{Class: strings.ReplaceAll(row.Class, ".", "/"), Name: row.Name, Descriptor: row.Descriptor}
	return namesOf(slices.DeleteFunc(slices.Clone(set.Includes()), func(p *pattern.Pattern) bool { return !p.Match(m) }))
}

// contextKey distinguishes a row from others of its method, pattern or probe.
func contextKey(within string, label liveprobes.Label) monitor.Key {
	var tags, callers []string
	for _, tag := range label.Tags {
		tags = append(tags, tag.Name+"="+tag.String())
	}
	for _, caller := range label.Callers {
		name, _, _ := strings.Cut(caller, "(")
		callers = append(callers, strings.ReplaceAll(name, "/", "."))
	}
	if label.Other || label.Unknown {
		callers = append(callers, label.String())
	}
	return monitor.Key{Within: within, Tags: strings.Join(tags, "\n"), Callers: strings.Join(callers, " < ")}
}

// monitorOrders are the orders of --sort: the largest first, names from A to Z.
var monitorOrders = map[string]func(r *monitor.Row) float64{
	"calls":   func(r *monitor.Row) float64 { return float64(r.Calls) },
	"errors":  func(r *monitor.Row) float64 { return float64(r.Errors) },
	"mean":    func(r *monitor.Row) float64 { return r.Mean },
	"p99":     func(r *monitor.Row) float64 { return r.P99 },
	"running": func(r *monitor.Row) float64 { return float64(r.Running) },
	"name":    func(*monitor.Row) float64 { return 0 },
}

func monitorOrderNames() []string { return slices.Sorted(maps.Keys(monitorOrders)) }

var monitorKeys = map[rune]string{'c': "calls", 'e': "errors", 'm': "mean", '9': "p99", 'r': "running", 'n': "name"}

// A monitorView says which rows of a table are shown, and how. Keys change it.
type monitorView struct {
	tableView
	by       string
	hideIdle bool // also hides idle patterns
}

// press changes the view by a key, and reports whether the key ends the command.
func (v *monitorView) press(key rune) (quit bool) {
	if !v.typing {
		if sort, is := monitorKeys[key]; is {
			v.sort = sort
		}
		if key == 'g' && v.by == byMethod {
			v.by = byPattern
		} else if key == 'g' {
			v.by = byMethod
		}
	}
	return v.tableView.press(key)
}

func (v *monitorView) keyLine() string {
	return v.tableView.keyLine("[c]alls [e]rrors [m]ean p9[9] [r]unning [n]ame  / filter  [g]roup")
}

func (v *monitorView) rows(t *monitorTable) []monitor.Row {
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r monitor.Row) bool {
		isIdle := r.Calls == 0 && r.Timed == 0 && r.Running == 0 && !r.LowerBound
		return isIdle && (v.hideIdle || r.Key.Pattern == "") || !v.passes(t.names[r.Key])
	})
	key := monitorOrders[v.sort]
	slices.SortStableFunc(rows, func(a, b monitor.Row) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(t.names[a.Key], t.names[b.Key]))
	})
	return rows
}

var (
	monitorColumns = format.Columns(">CALLS", ">CALLS/S", ">ERRORS", ">MEAN", ">P50", ">P90", ">P99", ">MAX", ">RUNNING", ">STALLED", "METHOD")
	// monitorExpendable are the columns that a narrow terminal drops, in this order.
	monitorExpendable = []string{"P90", "MEAN", "MAX", "CALLS", "P50", "RUNNING", "ERRORS"}
)

const (
	// shownStalls is how many stalls a terminal shows.
	shownStalls = 5
	// lineWidth is the least width of a cell of plain lines, which aligns most of them.
	lineWidth = 8
)

// texts returns the cells of rows, followed by the total if there are several.
func (b *liveTable) texts(t *monitorTable, rows []monitor.Row) [][]string {
	about, atLeast := "", ""
	if b.sample > 1 {
		about, atLeast = "~", "≥"
	}
	cells := func(row *monitor.Row, name string) []string {
		texts := []string{callsText(row.Calls, row.LowerBound), format.AtLeast(row.LowerBound, format.Rate(row.Rate)), format.Grouped(int(row.Errors))}
		for _, time := range []struct {
			nanos float64
			of    uint64
		}{{row.Mean, row.Timed}, {row.P50, row.Placed}, {row.P90, row.Placed}, {row.P99, row.Placed}, {row.Max, row.Timed}} {
			text := "-"
			if time.of > 0 {
				text = about + format.Call(time.nanos)
			}
			texts = append(texts, text)
		}
		return append(texts, atLeast+format.Grouped(row.Running), atLeast+format.Grouped(row.Stalled), format.Printable(name))
	}
	texts := make([][]string, 0, len(rows)+1)
	for n := range rows {
		texts = append(texts, cells(&rows[n], t.names[rows[n].Key]))
	}
	if len(t.Rows) != 1 {
		texts = append(texts, cells(&t.Total, "total"))
	}
	return texts
}

func (b *liveTable) draw() {
	if b.table == nil {
		return
	}
	width, height := b.screen.size()
	b.screen.draw(b.liveLines(b.table, width, height))
}

func (b *liveTable) liveLines(table *monitorTable, width, height int) []string {
	lines := []string{b.headline(table), b.costs(table), b.view.keyLine(), ""}
	rows := b.view.rows(table)
	stalls := b.stallLines(table.Interval, func(monitor.Stall) bool { return true })
	const around = 4 // titles, total, the number of hidden rows, the line of the cursor
	room := max(1, height-len(lines)-len(stalls)-around)
	if b.top > 0 {
		room = min(room, b.top)
	}
	shown := rows[:min(room, len(rows))]
	columns, texts := format.FitTable(monitorColumns, b.texts(table, shown), monitorExpendable, width)
	lines = append(lines, format.TableLines(columns, texts, width)...)
	if hidden := len(rows) - len(shown); hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", format.Grouped(hidden)))
	}
	lines = append(lines, stalls...)
	return fitLines(lines, width, height)
}

func (b *liveTable) stallLines(i *monitor.Interval, isShown func(monitor.Stall) bool) []string {
	var lines []string
	for _, stall := range i.Stalls {
		if !isShown(stall) || len(lines) == shownStalls {
			continue
		}
		var calls []string
		for n, call := range stall.Calls {
			if n == monitor.EndCalls && stall.Omitted > 0 {
				calls = append(calls, fmt.Sprintf("… %s more", format.Grouped(stall.Omitted)))
			}
			m := b.methods[call.ID]
			calls = append(calls, fmt.Sprintf("%s.%s %s", m.Class, m.Name, format.Duration(call.Age)))
		}
		kind := "thread"
		if stall.Virtual {
			kind = "virtual thread"
		}
		lines = append(lines, format.Printable(fmt.Sprintf("stalled: %s %d in %s", kind, stall.Thread, strings.Join(calls, " > "))))
	}
	return lines
}

// writeLines writes a line for each active row, and for threads that have stalled since
// the last interval.
func (b *liveTable) writeLines(table *monitorTable) error {
	rows, _ := topOf(b.view.rows(table), b.top)
	columns := append(format.Columns("TIME"), monitorColumns...)
	texts := b.texts(table, rows)
	for n, cells := range texts {
		for at, cell := range cells[:len(cells)-1] {
			cells[at] = strings.Repeat(" ", max(0, lineWidth-utf8.RuneCountInString(cell))) + cell
		}
		texts[n] = append([]string{table.at.Format(time.TimeOnly)}, cells...)
	}
	lines := format.TableLines(columns, texts, 0)
	if b.titled {
		lines = lines[1:]
	}
	b.titled = true
	lines = append(lines, b.stallLines(table.Interval, func(s monitor.Stall) bool { return s.IsNew })...)
	return b.print(func(out io.Writer) { writeLines(out, lines) })
}

func (b *liveTable) headline(table *monitorTable) string {
	text := fmt.Sprintf("process %d", b.pid)
	if b.main != "" {
		text += " (" + format.Printable(b.main) + ")"
	}
	text += fmt.Sprintf(", %s: ", format.Duration(table.elapsed))
	if !table.final {
		text += fmt.Sprintf("in the last %s ", format.Duration(table.Length))
	}
	calls := format.AtLeast(table.Total.LowerBound, format.Count(int(table.Total.Calls), "call", "calls"))
	return text + fmt.Sprintf("%s, %s/s, %s, %s", calls, format.Rate(table.Total.Rate),
		format.Count(table.Threads, "thread", "threads"), b.times)
}

func (b *liveTable) writeJSON(table *monitorTable) error {
	d := document.Monitor{
		PID: b.pid, At: table.at.Round(time.Millisecond), Seconds: table.Length.Seconds(), Elapsed: table.elapsed.Seconds(),
		Final: table.final, Ended: string(table.ended), Sample: b.sample, Threads: table.Threads, Lost: table.Lost,
		Total: document.NewMonitorRow(&table.Total), Rows: []document.MonitorRow{},
	}
	rows, _ := topOf(b.view.rows(table), b.top)
	for n := range rows {
		d.Rows = append(d.Rows, document.NewMonitorRow(&rows[n]))
	}
	for _, stall := range table.Stalls {
		s := document.Stall{Thread: stall.Thread, Virtual: stall.Virtual, New: stall.IsNew, Omitted: stall.Omitted}
		for _, call := range stall.Calls {
			m := b.methods[call.ID]
			s.Calls = append(s.Calls, document.StalledCall{Class: m.Class, Method: m.Name, Descriptor: m.Descriptor, Seconds: call.Age.Seconds()})
		}
		d.Stalls = append(d.Stalls, s)
	}
	if table.final {
		b.describe(&d, table)
	}
	return document.Write(b.out, d)
}

func (r *monitorRun) describeEnd(d *document.Monitor, table *monitorTable) {
	d.JDK, d.Main, d.Patterns, d.Clock = r.session.JDK().String(), r.table.main, r.patterns, &r.table.options.Clock
	d.Hooks, d.LeftAlone = r.describeHooks(), document.NewLeft(r.leftAlone())
	d.Leaving = document.NewLeaving(table.farewell)
	if cost := r.cost.Cost(); cost != nil {
		d.HookCost = document.NewHookCost(cost, cost.Median*table.Total.Rate/1e9)
	}
	d.Remarks = r.remarksWith(r.losses())
}
