package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A screen is a terminal on which lines are redrawn in place, and messages are printed above
// them.
type screen struct {
	lock   sync.Mutex
	out    io.Writer
	notes  io.Writer // may be the same terminal
	drawn  int       // lines on the screen
	silent bool      // out is no terminal, so nothing is redrawn
	look   *hostedLook
}

func newScreen(s streams) *screen {
	return &screen{out: s.out, notes: s.err, silent: s.outWidth() == 0, look: s.look}
}

func (s *screen) size() (width, height int) {
	if s.look != nil {
		terminal := s.look.Terminal()
		return terminal.Width, terminal.Height
	}
	const usualWidth, usualHeight = 80, 24
	file, ok := s.out.(*os.File)
	if !ok {
		return usualWidth, usualHeight
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return usualWidth, usualHeight
	}
	return width, height
}

// draw replaces the lines drawn before. They must fit into the terminal.
func (s *screen) draw(lines []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.look != nil {
		s.look.Draw(lines)
		s.drawn = len(lines)
		return
	}
	var text strings.Builder
	text.WriteString(s.up())
	for _, line := range lines {
		text.WriteString(line + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, text.String())
}

func (s *screen) clear() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
}

func (s *screen) wipe() {
	switch {
	case s.drawn == 0:
	case s.look != nil:
		s.look.Draw(nil)
	default:
		_, _ = io.WriteString(s.out, s.up()+"\x1b[J")
	}
	s.drawn = 0
}

func (s *screen) up() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", s.drawn)
}

func (s *screen) say(format string, args ...any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
	_, _ = fmt.Fprintf(s.notes, format+"\n", args...)
}

func (s *screen) note(text string) { s.say("note: %s", format.Printable(text)) }

// print writes text above the lines that are drawn.
func (s *screen) print(to io.Writer, text string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
	_, err := io.WriteString(to, text)
	return err
}

// readKeys returns the keys that are pressed: see readTerminalKeys.
func (s streams) readKeys() (keys <-chan rune, restore func()) {
	if s.look != nil {
		return s.look.Keys(), func() {}
	}
	return readTerminalKeys()
}

// terminalWidth returns the columns of a terminal; 0 if f is none.
func terminalWidth(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// redrawEvery keeps the cost of drawing negligible.
const redrawEvery = 80 * time.Millisecond

// progressBar shows progress on one line of a terminal, and nothing elsewhere. remove removes
// it before other text is written.
func (s streams) progressBar(label string) (update func(done, total int64), remove func()) {
	bar, drawn := &screen{out: s.err}, time.Time{}
	return func(done, total int64) {
		if s.width > 0 && total > 0 && time.Since(drawn) >= redrawEvery {
			drawn = time.Now()
			bar.draw([]string{barLine(label, s.width, done, total)})
		}
	}, bar.clear
}

// barLine returns the bar, one column narrower than the terminal so that it never wraps.
func barLine(label string, width int, done, total int64) string {
	percent := fmt.Sprintf(" %3d %%", done*100/total)
	room := width - 1 - len(label) - len(percent) - 3
	if room < 5 {
		return label + percent
	}
	full := int(done * int64(room) / total)
	return label + " [" + strings.Repeat("█", full) + strings.Repeat("·", room-full) + "]" + percent
}

// A tableView says which rows of a live table are shown, and how. Keys change it.
type tableView struct {
	sort    string
	filter  string
	typing  bool // keys go to the filter
	paused  bool
	hasKeys bool
}

// press changes the view by a key, and reports whether the key ends the command.
func (v *tableView) press(key rune) (quit bool) {
	if v.typing {
		v.edit(key)
		return false
	}
	switch key {
	case 'p', ' ':
		v.paused = !v.paused
	case '/':
		v.typing = true
	case keyEscape:
		v.filter = ""
	case 'q':
		return true
	}
	return false
}

// keyLine describes the view and the keys that change it, or shows the filter while it is
// typed.
func (v *tableView) keyLine(keys string) string {
	if v.typing {
		return "filter: " + format.Printable(v.filter) + "_"
	}
	line := "by " + v.sort
	if v.filter != "" {
		line += ", filter " + strconv.Quote(v.filter)
	}
	if v.paused {
		line += ", paused"
	}
	if !v.hasKeys {
		return line + "   Ctrl-C ends it"
	}
	return line + "   " + keys + "  [p]ause  [q]uit"
}

const (
	keyEscape    = '\x1b'
	keyBackspace = '\x7f'
	keyErase     = '\b'
)

func (v *tableView) edit(key rune) {
	switch {
	case key == '\r' || key == '\n':
		v.typing = false
	case key == keyEscape:
		v.typing, v.filter = false, ""
	case key == keyBackspace || key == keyErase:
		if runes := []rune(v.filter); len(runes) > 0 {
			v.filter = string(runes[:len(runes)-1])
		}
	case unicode.IsPrint(key):
		v.filter += string(key)
	}
}

func (v *tableView) passes(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(v.filter))
}

// frameLines returns what fits a terminal: a table between other lines. table returns lines
// with at most that number of rows, and how many rows more there are.
func frameLines(above, below []string, top, width, height int, table func(most int) (lines []string, hidden int)) []string {
	const around = 4 // titles, a total, the number of hidden rows, the line of the cursor
	room := max(1, height-len(above)-len(below)-around)
	if top > 0 {
		room = min(room, top)
	}
	rows, hidden := table(room)
	lines := slices.Concat(above, rows)
	if hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", format.Grouped(hidden)))
	}
	return fitLines(append(lines, below...), width, height)
}

// fitLines cuts lines to the size of a terminal, whose last line is left to the cursor.
func fitLines(lines []string, width, height int) []string {
	lines = lines[:max(0, min(len(lines), height-1))]
	for i, line := range lines {
		lines[i] = format.Cut(line, width)
	}
	return lines
}

func writeLines(out io.Writer, lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(out, line) // the writer keeps the first error
	}
}

// A progressView shows the progress of work that must not wait for a slow terminal: another
// goroutine writes it.
type progressView struct {
	streams
	screen *screen

	lock  sync.Mutex
	notes []string
	frame []string // lines to draw; nil if there are none
	fresh chan struct{}
	ended chan struct{}
}

func newBulletin(s streams, silent bool) *progressView {
	b := &progressView{streams: s, screen: newScreen(s), fresh: make(chan struct{}, 1), ended: make(chan struct{})}
	b.screen.silent = b.screen.silent || silent
	go b.show(b.fresh)
	return b
}

// show writes messages and frames until the view is closed.
func (b *progressView) show(fresh <-chan struct{}) {
	defer close(b.ended)
	for range fresh {
		b.lock.Lock()
		notes, frame := b.notes, b.frame
		b.notes, b.frame = nil, nil
		b.lock.Unlock()
		for _, note := range notes {
			b.screen.say("%s", note)
		}
		if frame != nil {
			b.screen.draw(frame)
		}
	}
	b.screen.clear()
}

// close writes what is left, and removes the lines drawn before.
func (b *progressView) close() {
	b.lock.Lock()
	close(b.fresh)
	b.fresh = nil
	b.lock.Unlock()
	<-b.ended
}

// withProgress runs work that reports its progress, with the cache open.
func withProgress[R any](b *progressView, flags *cacheFlags, work func(*cache.Cache) (R, error)) (result R, err error) {
	defer b.close()
	opened, endCache, err := flags.openCache(b.streams, b.remark)
	if err != nil {
		return result, err
	}
	defer endCache()
	return work(opened)
}

// waiting says what a slow end waits for.
func (b *progressView) waiting(text string) { b.say("%s", text) }

// put changes what is to be shown, and wakes the goroutine that shows it.
func (b *progressView) put(change func()) {
	b.lock.Lock()
	defer b.lock.Unlock()
	change()
	select {
	case b.fresh <- struct{}{}:
	default: // it is awake already
	}
}

func (b *progressView) draw(lines []string) { b.put(func() { b.frame = lines }) }

func (b *progressView) say(format string, args ...any) {
	b.put(func() { b.notes = append(b.notes, fmt.Sprintf(format, args...)) })
}

// sayAside writes a message that the frame on a terminal contains.
func (b *progressView) sayAside(format string, args ...any) {
	if b.screen.silent {
		b.say(format, args...)
	}
}

// remark writes a note. It may be called from any goroutine.
func (b *progressView) remark(text string) { b.say("note: %s", format.Printable(text)) }
