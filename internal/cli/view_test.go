package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
)

// A simulation is a view on a terminal that is none. Events are handled when a test asks for it.
type simulation struct {
	*view
	tcell.SimulationScreen
	interrupts int
}

func simulate(t *testing.T, width, height int) *simulation {
	t.Helper()
	s := &simulation{view: newView(), SimulationScreen: tcell.NewSimulationScreen("")}
	if err := s.SimulationScreen.Init(); err != nil {
		t.Fatal(err)
	}
	s.SetSize(width, height)
	s.screen, s.interrupt = s.SimulationScreen, func() { s.interrupts++ }
	return s
}

// handleAll handles what has happened.
func (s *simulation) handleAll() {
	for s.HasPendingEvent() {
		s.handle(s.SimulationScreen, s.PollEvent())
	}
}

func (s *simulation) drawFrame(frame service.Frame) {
	s.view.draw(io.Discard, frame)
	s.handleAll()
}

// The names of keys in tests, besides characters.
var namedKeys = map[string]tcell.Key{
	"Up": tcell.KeyUp, "Down": tcell.KeyDown, "Left": tcell.KeyLeft, "Right": tcell.KeyRight, "PgUp": tcell.KeyPgUp, "PgDn": tcell.KeyPgDn, "Home": tcell.KeyHome,
	"End": tcell.KeyEnd, "Enter": tcell.KeyEnter, "Esc": tcell.KeyEscape, "F5": tcell.KeyF5, "Delete": tcell.KeyDelete, "Back": tcell.KeyBackspace2,
	"Ctrl-C": tcell.KeyCtrlC, "Tab": tcell.KeyTab,
}

// typeKeys presses keys: names, or texts of characters.
func (s *simulation) typeKeys(keys ...string) {
	for _, key := range keys {
		if named, is := namedKeys[key]; is {
			s.InjectKey(named, 0, tcell.ModNone)
			s.handleAll()
			continue
		}
		for _, r := range key {
			s.InjectKey(tcell.KeyRune, r, tcell.ModNone)
			s.handleAll()
		}
	}
}

// lines returns what the terminal shows, and the line that is marked; -1 for none.
func (s *simulation) lines() (lines []string, marked int) {
	cells, width, height := s.GetContents()
	marked = -1
	for y := range height {
		var line strings.Builder
		for _, cell := range cells[y*width : (y+1)*width] {
			line.WriteString(string(cell.Runes))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
		if _, _, attributes := cells[y*width].Style.Decompose(); attributes&tcell.AttrReverse != 0 {
			marked = y
		}
	}
	return lines, marked
}

func (s *simulation) passed() (keys string) {
	for {
		select {
		case key := <-s.view.keys:
			keys += string(key)
		default:
			return keys
		}
	}
}

// tableFrame has rows a.M0.run to a.M39.run.
func tableFrame() service.Frame {
	frame := service.Frame{PID: 7, Lines: []string{"process 7", "second line"}, Titles: "CALLS  METHOD", Sort: "calls", Keys: "[c]alls [n]ame", Foot: []string{"total"}}
	for i := range 40 {
		name := fmt.Sprintf("a.M%d.run", i)
		frame.Rows = append(frame.Rows, format.Row{Text: fmt.Sprintf("%5d  %s", 100-i, name), Method: name})
	}
	return frame
}

// commandFrames are frames of all live commands, for a width.
func commandFrames(t *testing.T, width int) map[string]service.Frame {
	t.Helper()
	count := &countRun{countCommand: &countCommand{timing: results.Exact, sort: "total"}}
	var rows []results.Row
	for range 50 {
		rows = append(rows, sampleRows()...)
	}
	so := reporttest.RootCause()
	climbing := rootcause.Progress{Stage: rootcause.Climbing, Elapsed: 65 * time.Second, Samples: 2310, Live: 1, Level: 2, Climb: func() *rootcause.Climb { return so }}
	applied := &applyLook{Applied: document.Applied{PID: 7, Probes: []handover.Running{{Name: "pay", Level: "time", Within: "a.B.c", Calls: 90}}}}
	frames := map[string]service.Frame{
		"count":   count.frame(&countLook{Count: document.Count{Calls: 12345}, elapsed: time.Second, rows: rows}, width),
		"profile": profileFrame(7, profile.Progress{Stage: profile.Running, Elapsed: time.Minute, RootCalls: 99}, sampleProfile(), "com.acme.shop.Shop.checkout", width),
		"walk":    walkFrame(7, climbing, width),
		"apply":   applied.frame(width),
		"trace":   traceFrame(7, "sonde trace 'a.**'", "3 of 20 kept", []*trace.Transaction{{Root: &trace.Call{Class: "a.B", Method: "c"}}}, width),
	}
	for _, by := range []string{byPattern, byMethod} {
		table, interval := monitorSampleRun(t, by, 100)
		frames["monitor by "+by] = table.frame(interval, width)
	}
	for form, name := range map[text.HotForm]string{text.HotMethods: "hot", text.HotThreads: "hot threads", text.HotFlame: "hot flame"} {
		frames[name] = (&hotView{sort: text.ByTotal, shows: form}).frame(hotTable(), 0, width)
	}
	return frames
}

// TestViewFits: a frame fits a terminal of any size, whose last line has the keys. What a terminal shows
// after it was resized is what a new one of that size shows.
func TestViewFits(t *testing.T) {
	sizes := [][2]int{{200, 50}, {80, 24}, {40, 12}, {200, 8}, {20, 4}, {3, 2}, {1, 1}, {80, 24}}
	for name := range commandFrames(t, 80) {
		old := simulate(t, 80, 24)
		for _, size := range sizes {
			frame := commandFrames(t, size[0])[name]
			fresh := simulate(t, size[0], size[1])
			fresh.drawFrame(frame)
			old.SetSize(size[0], size[1])
			_ = old.PostEvent(tcell.NewEventResize(size[0], size[1]))
			old.handleAll()
			if keys := old.passed(); !strings.Contains(keys, string(keyRedraw)) {
				t.Errorf("%s: the command is not asked to draw for %v: it got %q", name, size, keys)
			}
			old.drawFrame(frame)
			want, _ := fresh.lines()
			if have, _ := old.lines(); !slices.Equal(have, want) {
				t.Errorf("%s at %v\nresized:\n%s\nnew:\n%s", name, size, strings.Join(have, "\n"), strings.Join(want, "\n"))
			}
			if last := want[size[1]-1]; size[0] >= 40 && !strings.Contains(last, "? help") {
				t.Errorf("%s at %v: the last line is %q", name, size, last)
			}
			if all := strings.Join(want, "\n"); size[0] >= 40 && size[1] >= 8 && (frame.Titles == "" || !strings.Contains(all, format.Cut(frame.Titles, size[0])) || !strings.Contains(all, format.Cut(frame.Rows[0].Text, size[0]))) {
				t.Errorf("%s at %v: no table\n%s", name, size, all)
			}
		}
	}
}

func TestViewKeys(t *testing.T) {
	for _, test := range []struct {
		name   string
		keys   []string
		marked string // in the selected line; "" if none is
		last   string // in the last line
		passed string
	}{
		{"none", nil, "", "[q]uit  ? help  by calls, 1-6 of 40  / filter", ""},
		{"down", []string{"Down"}, "a.M0.run", "1-6 of 40", ""},
		{"down and up", []string{"Down", "Down", "Down", "Up"}, "a.M1.run", "1-6 of 40", ""},
		{"up at once", []string{"Up"}, "a.M0.run", "1-6 of 40", ""},
		{"page down", []string{"Down", "PgDn"}, "a.M6.run", "2-7 of 40", ""},
		{"end", []string{"End", "Down"}, "a.M39.run", "35-40 of 40", ""},
		{"end, page up and home", []string{"End", "PgUp", "Home"}, "a.M0.run", "1-6 of 40", ""},
		{"keys of the command", []string{"c", "n", "9"}, "", "1-6 of 40", "cn9"},
		{"filter", []string{"/M3"}, "", "filter: M3_", ""},
		{"filter kept", []string{"/M3", "Enter", "Down", "Down"}, "a.M30.run", `filter "M3", 1-6 of 11`, ""},
		{"filter without a match", []string{"/none", "Enter", "Down", "Enter"}, "", `filter "none"`, ""},
		{"arrows and function keys keep the filter", []string{"/M3", "Down", "F5", "Left", "Right", "Delete", "Tab", "Up", "5"}, "a.M35.run", "filter: M35_", ""},
		{"they keep it afterwards", []string{"/M3", "Enter", "F5", "Left", "Down"}, "a.M3.run", `filter "M3"`, ""},
		{"corrected filter", []string{"/M39x", "Back", "Enter", "Down"}, "a.M39.run", `filter "M39"`, ""},
		{"cleared filter", []string{"/M39", "Enter", "Down", "Esc"}, "a.M39.run", "by calls, 35-40 of 40", ""},
		{"filter cleared while it is typed", []string{"/q", "Esc"}, "", "by calls, 1-6 of 40", ""},
		{"no selection any more", []string{"Down", "Esc"}, "", "by calls, 1-6 of 40", ""},
		{"pause", []string{"p"}, "", "by calls, paused, 1-6 of 40", ""},
		{"help", []string{"?"}, "", "", ""},
		{"help ended", []string{"?", "q"}, "", "by calls, 1-6 of 40", ""},
		{"a method", []string{"Down", "Down", "Enter"}, "a.M1.run", "[p]rofile or [t]race a.M1.run?", ""},
		{"no choice", []string{"Down", "Enter", "Esc"}, "a.M0.run", "by calls, 1-6 of 40", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := simulate(t, 80, 12)
			s.drawFrame(tableFrame())
			s.typeKeys(test.keys...)
			lines, marked := s.lines()
			all := strings.Join(lines, "\n")
			if marked < 0 != (test.marked == "") || marked >= 0 && !strings.HasSuffix(lines[marked], test.marked) {
				t.Errorf("line %d is marked, want %q in\n%s", marked, test.marked, all)
			}
			if !strings.Contains(lines[len(lines)-1], test.last) {
				t.Errorf("the last line lacks %q:\n%s", test.last, all)
			}
			if keys := s.passed(); keys != test.passed {
				t.Errorf("the command got %q, want %q", keys, test.passed)
			}
			if s.interrupts > 0 || s.next != nil {
				t.Errorf("it has ended")
			}
		})
	}
}

func TestViewHelp(t *testing.T) {
	s := simulate(t, 40, 20)
	s.drawFrame(tableFrame())
	s.typeKeys("?")
	lines, _ := s.lines()
	for _, want := range []string{"filter", "pause", "quit", "profile or trace", "[c]alls", "[n]ame"} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("no %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	for _, line := range lines {
		if strings.Contains(line, "…") {
			t.Errorf("%q is cut", line)
		}
	}
}

func TestFilterOfOtherRows(t *testing.T) {
	s := simulate(t, 80, 12)
	s.drawFrame(tableFrame())
	s.typeKeys("/none", "Enter")
	const message = `no row has "none" in its name (/ changes the filter)`
	if lines, _ := s.lines(); !slices.Contains(lines, message) {
		t.Errorf("%q", lines)
	}
	threads := tableFrame()
	threads.Titles = "SHARE  THREAD"
	s.drawFrame(threads)
	if lines, _ := s.lines(); !strings.Contains(lines[4], "a.M0.run") {
		t.Errorf("the filter of methods applies to threads: %q", lines)
	}
}

func TestLowWindow(t *testing.T) {
	s := simulate(t, 40, 6)
	s.drawFrame(tableFrame())
	if lines, _ := s.lines(); !strings.HasPrefix(lines[5], "[q]uit  ? help") {
		t.Errorf("the keys are %q", lines[5])
	}
	s.typeKeys("?")
	if lines, _ := s.lines(); lines[5] != "Any key ends this help." {
		t.Errorf("the help ends with %q", lines[5])
	}
}

// TestViewFollowsRows: the selected row stays selected when others come before it.
func TestViewFollowsRows(t *testing.T) {
	s := simulate(t, 80, 12)
	frame := tableFrame()
	s.drawFrame(frame)
	s.typeKeys("Down", "Down", "Down")
	frame.Rows = slices.Clone(frame.Rows)
	slices.Reverse(frame.Rows)
	s.drawFrame(frame)
	if lines, marked := s.lines(); marked < 0 || !strings.HasSuffix(lines[marked], "a.M2.run") {
		t.Errorf("line %d is marked, want a.M2.run in\n%s", marked, strings.Join(lines, "\n"))
	}
	frame.Rows = frame.Rows[:2]
	s.drawFrame(frame)
	if lines, marked := s.lines(); marked < 0 || !strings.HasSuffix(lines[marked], "a.M38.run") {
		t.Errorf("line %d is marked, want the last in\n%s", marked, strings.Join(lines, "\n"))
	}
}

// TestViewPause: a table that is paused changes only by keys of the command.
func TestViewPause(t *testing.T) {
	s := simulate(t, 80, 12)
	draw := func(head string) string {
		frame := tableFrame()
		frame.Lines[0] = head
		s.drawFrame(frame)
		lines, _ := s.lines()
		return lines[0]
	}
	for _, step := range []struct{ keys, draw, want string }{
		{"", "one", "one"}, {"p", "two", "one"}, {"c", "three", "three"}, {"", "four", "three"}, {"p", "five", "five"},
	} {
		s.typeKeys(step.keys)
		if have := draw(step.draw); have != step.want {
			t.Errorf("after %q and a frame %q: %q, want %q", step.keys, step.draw, have, step.want)
		}
	}
}

func TestViewChoosesCommand(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want []string
	}{
		{[]string{"Down", "Down", "Enter", "p"}, []string{"profile", "7", "--root", "a.M1.run"}},
		{[]string{"/M39", "Enter", "Enter", "t", "q"}, []string{"trace", "7", "--", "a.M39.run"}},
	} {
		s := simulate(t, 80, 12)
		s.drawFrame(tableFrame())
		s.typeKeys(test.keys...)
		if !slices.Equal(s.next, test.want) || s.interrupts != 1 {
			t.Errorf("%q: %q after %d interrupts, want %q after one", test.keys, s.next, s.interrupts, test.want)
		}
	}
}

// TestViewEnds: q ends the command once, Ctrl-C each time, so that the second ends it at once.
func TestViewEnds(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want int
	}{
		{[]string{"q", "q"}, 1}, {[]string{"q", "Ctrl-C"}, 2}, {[]string{"Ctrl-C", "Ctrl-C"}, 2}, {[]string{"/q", "Ctrl-C"}, 1}, {[]string{"?", "Ctrl-C"}, 1}, {[]string{"Down", "Enter", "Ctrl-C"}, 1},
	} {
		s := simulate(t, 80, 12)
		s.drawFrame(tableFrame())
		s.typeKeys(test.keys...)
		if s.interrupts != test.want {
			t.Errorf("%q: %d interrupts, want %d", test.keys, s.interrupts, test.want)
		}
	}
}

// TestFilteredTree: a filter keeps the rows above and below those that match.
func TestFilteredTree(t *testing.T) {
	var rows []format.Row
	for _, row := range []struct {
		name  string
		depth int
	}{{"root", 0}, {"a", 1}, {"a1", 2}, {"b", 1}, {"match", 2}, {"below", 3}, {"b2", 2}, {"other", 0}} {
		rows = append(rows, format.Row{Text: row.name, Depth: row.depth})
	}
	var names []string
	for _, row := range filtered(rows, "match") {
		names = append(names, row.Text)
	}
	if have, want := strings.Join(names, " "), "root b match below"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}

// TestViewMessages: messages are shown, and written when the terminal shows the usual screen again.
func TestViewMessages(t *testing.T) {
	s := simulate(t, 80, 12)
	var out, notes strings.Builder
	s.drawFrame(tableFrame())
	for i := range mostMessages + 1 {
		if err := s.print(&notes, fmt.Sprintf("note: %d\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.print(&out, "a line\nof the result\n")
	s.handleAll()
	if lines, _ := s.lines(); lines[len(lines)-2] != "of the result" {
		t.Errorf("the last message is not above the keys:\n%s", strings.Join(lines, "\n"))
	}
	if out.Len()+notes.Len() > 0 {
		t.Errorf("too early: %q, %q", out.String(), notes.String())
	}
	s.view.draw(&out, service.Frame{})
	if have, want := out.String(), "a line\nof the result\n"; have != want {
		t.Errorf("%q, want %q", have, want)
	}
	if have := notes.String(); !strings.HasPrefix(have, "note: 2\n") || !strings.HasSuffix(have, "note: 1000\n") {
		t.Errorf("%.20q to %q, want notes 2 to 1000", have, have[max(0, len(have)-12):])
	}
}

// TestLineInPlace: a frame of one line needs no alternate screen.
func TestLineInPlace(t *testing.T) {
	var out, notes strings.Builder
	s := newScreen(streams{out: &out, err: &notes})
	s.status("a\x1b[2J")
	s.status("b")
	s.say("note: %s", "x")
	s.status("c")
	s.clear()
	want := "\ra?[2J\x1b[K" + "\rb\x1b[K" + "\r\x1b[K" + "\rc\x1b[K" + "\r\x1b[K"
	if out.String() != want || notes.String() != "note: x\n" {
		t.Errorf("%q and %q, want %q", out.String(), notes.String(), want)
	}
}

// TestNamesSteerNoTable: names of methods and messages cannot control the terminal.
func TestNamesSteerNoTable(t *testing.T) {
	const hostile = "\x1b[2J\x9b31m\x07\r\n\u202e\x00name"
	s := simulate(t, 200, 12)
	frame := service.Frame{PID: 7, Lines: []string{hostile}, Titles: hostile, Rows: []format.Row{{Text: hostile, Method: hostile}}, Foot: []string{hostile}, Sort: hostile, Keys: hostile}
	check := func() {
		t.Helper()
		lines, _ := s.lines()
		if i := strings.IndexFunc(strings.Join(lines, ""), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || !strings.Contains(lines[0], "name") && !strings.Contains(lines[0], "select") {
			t.Errorf("%q", lines)
		}
	}
	s.drawFrame(frame)
	check()
	_ = s.print(io.Discard, hostile)
	s.typeKeys("Down", "Enter")
	check()
	s.typeKeys("Esc", "?")
	check()
}

// A failingScreen panics when it is drawn.
type failingScreen struct {
	tcell.SimulationScreen
	ended bool
}

func (s *failingScreen) Show() { panic("drawing fails") }
func (s *failingScreen) Fini() { s.ended = true; s.SimulationScreen.Fini() }

// TestPanicRestoresTerminal: a view that fails leaves the terminal as it was.
func TestPanicRestoresTerminal(t *testing.T) {
	s := simulate(t, 80, 12)
	failing := &failingScreen{SimulationScreen: s.SimulationScreen}
	s.screen = failing
	s.view.draw(io.Discard, tableFrame())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not fail")
			}
		}()
		s.run(failing)
	}()
	if !failing.ended {
		t.Error("the terminal is not restored")
	}
}

func TestWideCharactersFit(t *testing.T) {
	s := simulate(t, 10, 4)
	s.drawFrame(service.Frame{Lines: []string{strings.Repeat("漢", 20), "x"}})
	if lines, _ := s.lines(); utf8.RuneCountInString(lines[0]) > 10 {
		t.Errorf("%q", lines[0])
	}
}

// TestFrameOfNothing: a profile that has no tree yet has a frame.
func TestFrameOfNothing(t *testing.T) {
	p := profile.Progress{Stage: profile.Running, Elapsed: time.Minute, RootCalls: 99, Cost: cct.Cost{Hooks: 1234, Classes: 56, Rounds: 7, Steady: 0.0123, Budget: 0.02, Waited: time.Millisecond}}
	want := "measuring for 1m00s, below a.b\n99 root calls, hooks in 1,234 methods of 56 classes, 7 rounds, cost 1.23 % of 2.00 % allowed, waited 1.00 ms"
	if frame := profileFrame(7, p, nil, "a.b", 200); strings.Join(frame.Lines, "\n") != want || frame.Rows != nil {
		t.Errorf("%+v, want %q", frame, want)
	}
}
