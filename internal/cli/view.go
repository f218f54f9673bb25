package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// A view is the terminal of the person who runs a command. It shows the frames that the command
// draws, here or in the service: it scrolls and filters their rows, and passes other keys on.
// Frames are on the alternate screen of the terminal, so messages wait until the view leaves it.
// A frame of one line without a table is drawn in place, on the usual screen.
type view struct {
	open      func() (tcell.Screen, error)
	interrupt func()    // ends the command, as Ctrl-C does; the second call ends it at once
	keys      chan rune // what the command gets
	next      []string  // the command that the user has chosen to run after this one

	lock     sync.Mutex
	screen   tcell.Screen // nil unless the alternate screen is shown
	line     io.Writer    // has a line drawn in place; nil if there is none
	hushed   bool         // the terminal does not echo keys
	waiting  []message
	newest   service.Frame
	shown    service.Frame // the newest, unless paused
	rows     []format.Row  // of the shown frame, those that pass the filter
	mode     viewMode
	filter   string
	paused   bool
	awaited  bool // a key was passed on, whose effect is shown although paused
	ending   bool
	selected int // a row; -1 for none
	top      int // the first row on the screen
	page     int // how many rows fit
}

// A viewMode says what keys do.
type viewMode int

const (
	browsing viewMode = iota
	typing            // they edit the filter
	choosing          // they choose a command for the selected method
	helping           // they end the help
)

// A message is text for a stream.
type message struct {
	to   io.Writer
	text string
}

// mostMessages bounds the messages that wait.
const mostMessages = 1000

// keyRedraw makes a command draw again, for a terminal that has another size.
const keyRedraw = '\f'

func newView() *view {
	// Sonde writes UTF-8 everywhere, also if the locale is C or one that the library does not know.
	tcell.RegisterEncoding("US-ASCII", tcell.GetEncoding("UTF-8"))
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	interrupt := func() {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(os.Interrupt) // as if the terminal had sent it
		}
	}
	return &view{open: tcell.NewScreen, interrupt: interrupt, keys: make(chan rune, 64), selected: -1}
}

// canOpen reports whether the terminal has an alternate screen, and this process may use it.
func (v *view) canOpen() bool {
	if v.open == nil || !ownsTerminal() {
		return false
	}
	_, err := tcell.LookupTerminfo(os.Getenv("TERM"))
	return err == nil
}

// draw replaces the frame. One without lines ends the view.
func (v *view) draw(out io.Writer, frame service.Frame) {
	v.lock.Lock()
	defer v.lock.Unlock()
	switch {
	case len(frame.Lines) == 0:
		v.close()
		return
	case v.screen == nil && len(frame.Lines) == 1 && frame.Titles == "":
		v.drawLine(out, frame.Lines[0])
		return
	case v.screen == nil && !v.start():
		return
	}
	v.newest = frame
	if !v.paused || v.awaited {
		if frame.Titles != "" && v.shown.Titles != "" && rowsOf(frame) != rowsOf(v.shown) {
			v.filter = "" // it was for other rows
		}
		v.awaited, v.shown = false, frame
		v.update()
	}
	v.wake()
}

// rowsOf returns the title of the column with the names, which no width removes.
func rowsOf(frame service.Frame) string {
	return frame.Titles[strings.LastIndex(frame.Titles, " ")+1:]
}

func (v *view) drawLine(out io.Writer, text string) {
	width := 80
	if file, is := out.(interface{ Fd() uintptr }); is {
		width = cmp.Or(terminalWidth(file), width)
	}
	v.line = out
	_, _ = io.WriteString(out, "\r"+format.Cut(format.Printable(text), width-1)+"\x1b[K")
}

// print writes text, now or when the view has ended.
func (v *view) print(to io.Writer, text string) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.screen != nil {
		v.waiting = append(v.waiting, message{to, text})
		v.waiting = v.waiting[max(0, len(v.waiting)-mostMessages):]
		v.wake()
		return nil
	}
	v.wipe()
	_, err := io.WriteString(to, text)
	return err
}

func (v *view) wipe() {
	if v.line != nil {
		_, _ = io.WriteString(v.line, "\r\x1b[K")
		v.line = nil
	}
}

// start shows the alternate screen.
func (v *view) start() bool {
	screen, err := v.open()
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return false
	}
	v.wipe()
	if v.hushed {
		dropKeys() // nobody saw what they would change
	}
	v.screen = screen
	v.pass(keyRedraw) // the size may have changed before
	go v.run(screen)
	return true
}

// hush keeps keys from changing what is drawn, until the view is left.
func (v *view) hush() {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.hushed = setEcho(false) || v.hushed
}

// unhush makes the terminal echo keys as before, and reports whether it did not.
func (v *view) unhush() (was bool) {
	v.lock.Lock()
	defer v.lock.Unlock()
	was, v.hushed = v.hushed, false
	return was && setEcho(true)
}

// leave restores the terminal, and writes the messages that wait.
func (v *view) leave() {
	v.lock.Lock()
	v.close()
	v.lock.Unlock()
	v.unhush()
}

func (v *view) close() {
	v.wipe()
	if v.screen == nil {
		return
	}
	v.screen.Fini()
	v.screen = nil
	for _, m := range v.waiting {
		_, _ = io.WriteString(m.to, m.text)
	}
	v.waiting = nil
}

// wake makes the goroutine that runs the view draw, so that nobody else waits for a slow terminal.
func (v *view) wake() {
	_ = v.screen.PostEvent(tcell.NewEventInterrupt(nil)) // if there is no room, it has events to draw after
}

func (v *view) run(screen tcell.Screen) {
	ended := false
	defer func() {
		if !ended { // it panics
			v.leave()
		}
	}()
	for event := screen.PollEvent(); event != nil; event = screen.PollEvent() {
		v.handle(screen, event)
	}
	ended = true
}

func (v *view) handle(screen tcell.Screen, event tcell.Event) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.screen != screen {
		return // it was left in the meantime
	}
	switch event := event.(type) {
	case *tcell.EventKey:
		v.press(event)
	case *tcell.EventResize:
		v.awaited = true
		v.pass(keyRedraw)
		v.render()
		screen.Sync() // other cells than those that have changed may be wrong
	}
	if !screen.HasPendingEvent() {
		v.render()
	}
}

// pass passes a key on. Keys that nobody reads are dropped.
func (v *view) pass(key rune) {
	select {
	case v.keys <- key:
	default:
	}
}

func (v *view) press(key *tcell.EventKey) {
	switch {
	case key.Key() == tcell.KeyCtrlC || key.Key() == tcell.KeyCtrlBackslash:
		v.ending = true
		v.interrupt()
		return
	case v.mode == helping:
		v.mode = browsing
		return
	case v.mode == choosing:
		v.choose(key)
		return
	}
	switch key.Key() {
	case tcell.KeyUp:
		v.move(-1)
	case tcell.KeyDown:
		v.move(1)
	case tcell.KeyPgUp:
		v.move(-v.page)
	case tcell.KeyPgDn:
		v.move(v.page)
	case tcell.KeyHome:
		v.move(-len(v.rows))
	case tcell.KeyEnd:
		v.move(len(v.rows))
	case tcell.KeyEnter:
		if v.mode == typing {
			v.mode = browsing
		} else if v.method() != "" {
			v.mode = choosing
		}
	case tcell.KeyEscape:
		if v.mode == browsing && v.filter == "" {
			v.selected = -1
		}
		v.mode, v.filter = browsing, ""
		v.update()
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if runes := []rune(v.filter); v.mode == typing && len(runes) > 0 {
			v.filter = string(runes[:len(runes)-1])
			v.update()
		}
	case tcell.KeyRune:
		v.pressRune(key.Rune())
	}
}

func (v *view) pressRune(key rune) {
	switch {
	case v.mode == typing && unicode.IsPrint(key):
		v.filter += string(key)
		v.update()
	case v.mode == typing:
	case key == '/':
		v.mode = typing
	case key == '?':
		v.mode = helping
	case key == 'p' || key == ' ':
		v.paused, v.shown = !v.paused, v.newest
		v.update()
	case key == 'q':
		v.end()
	default:
		v.awaited = true
		v.pass(key)
	}
}

// end ends the command, once.
func (v *view) end() {
	if !v.ending {
		v.ending = true
		v.interrupt()
	}
}

// choose ends the command, and runs another one for the selected method.
func (v *view) choose(key *tcell.EventKey) {
	pid, method := strconv.Itoa(v.shown.PID), v.method()
	switch key.Rune() {
	case 'p':
		v.next = []string{"profile", pid, "--root", method}
	case 't':
		v.next = []string{"trace", pid, "--", method}
	}
	v.mode = browsing
	if v.next != nil {
		v.end()
	}
}

// method returns the method of the selected row, or of the first on the screen; "" if it has none.
func (v *view) method() string {
	if at := max(v.selected, v.top); at < len(v.rows) {
		return v.rows[at].Method
	}
	return ""
}

func (v *view) move(by int) {
	if v.selected < 0 {
		by = max(by-1, -1) // the first key selects the first row on the screen
		v.selected = v.top
	}
	v.selected = max(0, min(v.selected+by, len(v.rows)-1))
}

// update filters the rows of a frame. The selected row stays the same one as long as it is there.
func (v *view) update() {
	var before format.Row
	if v.selected >= 0 && v.selected < len(v.rows) {
		before = v.rows[v.selected]
	}
	v.rows = filtered(v.shown.Rows, strings.ToLower(v.filter))
	if v.selected < 0 {
		return
	}
	same := -1
	for i, row := range v.rows {
		if row.Name == before.Name && row.Method == before.Method && (same < 0 || distance(i, v.selected) < distance(same, v.selected)) {
			same = i
		}
	}
	if same >= 0 {
		v.selected = same
	}
	v.selected = max(0, min(v.selected, len(v.rows)-1))
}

func distance(a, b int) int { return max(a-b, b-a) }

// filtered returns the rows that contain a text, in a tree with those above and below them.
func filtered(rows []format.Row, filter string) (kept []format.Row) {
	if filter == "" {
		return rows
	}
	passes := make([]bool, len(rows))
	for i, row := range rows {
		if !strings.Contains(strings.ToLower(row.Text+"\n"+row.Name+"\n"+row.Method), filter) {
			continue
		}
		passes[i] = true
		for below := i + 1; below < len(rows) && rows[below].Depth > row.Depth; below++ {
			passes[below] = true
		}
		depth := row.Depth
		for above := i - 1; above >= 0 && depth > 0; above-- {
			if rows[above].Depth < depth {
				passes[above], depth = true, rows[above].Depth
			}
		}
	}
	for i, row := range rows {
		if passes[i] {
			kept = append(kept, row)
		}
	}
	return kept
}

// categoryColours are the colours of rows by the category of their calls, similar to those of pages.
var categoryColours = map[string]tcell.Color{
	categories.Web: tcell.ColorTeal, categories.Databases: tcell.ColorOlive, categories.Messaging: tcell.ColorGreen,
	"sockets": tcell.ColorPurple, "files": tcell.ColorNavy, categories.Locks: tcell.ColorMaroon,
}

// render draws everything: lines, the table, what is below it, and the keys on the last line.
func (v *view) render() {
	defer v.screen.Show()
	v.screen.Clear()
	width, height := v.screen.Size()
	if v.mode == helping {
		lines := helpLines(v.shown)
		end := len(lines) - 1
		for y, line := range lines[:min(end, height-1)] {
			v.put(y, line, tcell.StyleDefault)
		}
		v.put(min(end, height-1), lines[end], tcell.StyleDefault)
		return
	}
	const least = 3 // rows: other lines are left out first
	above, below := wrapped(v.shown.Lines, width), wrapped(v.below(), width)
	if v.shown.Titles != "" {
		above = slices.Concat(above, []string{"", v.shown.Titles})
	}
	v.page = height - 1 - len(above) - len(below)
	for ; v.page < least && len(below) > 0; v.page++ {
		below = below[:len(below)-1]
	}
	for ; v.page < least && len(above) > 1; v.page++ {
		above = slices.Delete(slices.Clone(above), max(0, len(above)-3), max(0, len(above)-3)+1)
	}
	v.page = max(1, v.page)
	if v.selected >= 0 {
		v.top = max(min(v.top, v.selected), v.selected-v.page+1)
	}
	v.top = max(0, min(v.top, len(v.rows)-v.page))
	shown := v.rows[v.top:min(len(v.rows), v.top+v.page)]
	y := 0
	next := func(text string, style tcell.Style) {
		if y < height-1 {
			v.put(y, text, style)
			y++
		}
	}
	for i, line := range above {
		next(line, tcell.StyleDefault.Bold(i == len(above)-1 && v.shown.Titles != ""))
	}
	if len(shown) == 0 && v.filter != "" && v.shown.Titles != "" {
		next(fmt.Sprintf("no row has %q in its name (/ changes the filter)", v.filter), tcell.StyleDefault)
	}
	for i, row := range shown {
		next(row.Text, tcell.StyleDefault.Foreground(categoryColours[row.Category]).Reverse(v.top+i == v.selected))
	}
	for _, line := range below {
		next(line, tcell.StyleDefault)
	}
	v.put(height-1, v.keyLine(), tcell.StyleDefault.Bold(true))
}

func wrapped(lines []string, width int) (all []string) {
	for _, line := range lines {
		all = append(all, format.Wrap(line, width)...)
	}
	return all
}

// below returns the lines below the table: those of the frame, and the last message.
func (v *view) below() []string {
	if len(v.waiting) == 0 {
		return v.shown.Foot
	}
	lines := strings.Split(strings.TrimSpace(v.waiting[len(v.waiting)-1].text), "\n")
	return slices.Concat(v.shown.Foot, lines[len(lines)-1:])
}

// put writes a line. Names and messages may contain anything, so nothing but this function writes.
func (v *view) put(y int, text string, style tcell.Style) {
	width, _ := v.screen.Size()
	text = format.Cut(format.Printable(text), width)
	v.screen.PutStrStyled(0, y, text+strings.Repeat(" ", max(0, width-len([]rune(text)))), style)
}

// keyLine describes what is shown, and the keys that change it.
func (v *view) keyLine() string {
	switch {
	case v.ending:
		return "ending; Ctrl-C again does not wait for that"
	case v.mode == typing:
		return "filter: " + v.filter + "_   Enter keeps it, Esc clears it"
	case v.mode == choosing:
		return "[p]rofile or [t]race " + v.method() + "? Esc: neither"
	}
	var state []string
	if v.shown.Sort != "" {
		state = append(state, "by "+v.shown.Sort)
	}
	if v.filter != "" {
		state = append(state, "filter "+strconv.Quote(v.filter))
	}
	if v.paused {
		state = append(state, "paused")
	}
	if len(v.rows) > v.page {
		state = append(state, fmt.Sprintf("%d-%d of %d", v.top+1, min(len(v.rows), v.top+v.page), len(v.rows)))
	}
	keys := []string{"[q]uit", "? help", "/ filter", "[p]ause", v.shown.Keys}
	if len(state) > 0 {
		keys = slices.Insert(keys, 2, strings.Join(state, ", "))
	}
	return strings.TrimSpace(strings.Join(keys, "  "))
}

func helpLines(frame service.Frame) []string {
	lines := []string{
		"Arrows, PgUp, PgDn, Home, End: select",
		"Enter   profile or trace the method",
		"/       filter; Enter keeps, Esc clears",
		"p       pause",
		"q       quit, and print the result",
		"Ctrl-C  as q; again: quit at once",
	}
	if frame.Keys != "" {
		lines = slices.Concat(lines, []string{"", "The command has these keys:"}, strings.Fields(frame.Keys))
	}
	return append(lines, "", "Any key ends this help.")
}
