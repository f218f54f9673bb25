package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A screen shows what a command reports while it runs: messages, and on a terminal a frame.
type screen struct {
	streams
	silent bool // nothing is drawn
	frame  func(width int) service.Frame
}

func newScreen(s streams) *screen {
	if s.view == nil {
		s.view = &view{}
	}
	silent := !s.isLive()
	if !silent && s.look == nil {
		s.view.hush()
	}
	return &screen{streams: s, silent: silent}
}

// isLive reports whether a person sees what a command draws.
func (s streams) isLive() bool {
	if s.look != nil {
		return s.look.Terminal().Height > 0
	}
	return s.view != nil && s.outWidth() > 0 && s.view.canOpen()
}

// keys returns the keys by which a person changes what is drawn. Each calls for a new frame.
func (s *screen) keys() <-chan rune {
	switch {
	case s == nil || s.silent:
		return nil
	case s.look != nil:
		return s.look.Keys()
	}
	return s.view.keys
}

// show draws a frame, now and whenever redraw is called.
func (s *screen) show(frame func(width int) service.Frame) {
	s.frame = frame
	s.redraw()
}

func (s *screen) redraw() {
	if s.frame != nil {
		s.draw(s.frame(s.outWidth()))
	}
}

func (s *screen) draw(frame service.Frame) {
	if s.look != nil {
		s.look.Draw(frame)
	} else {
		s.view.draw(s.out, frame)
	}
}

func (s *screen) status(text string) { s.draw(service.Frame{Lines: []string{text}}) }

// clear removes what was drawn.
func (s *screen) clear() {
	s.frame = nil
	s.draw(service.Frame{})
}

func (s *screen) say(format string, args ...any) {
	_ = s.print(s.err, fmt.Sprintf(format+"\n", args...)) // there is nobody to report it to
}

func (s *screen) note(text string) { s.say("note: %s", format.Printable(text)) }

// print writes text, when a terminal does not show a table any more.
func (s *screen) print(to io.Writer, text string) error { return s.view.print(to, text) }

// The rows of a frame. A tree has fewer, so that its longest nodes are not far apart.
const (
	mostRows     = 5000
	mostTreeRows = 200
)

// moreLine says how many rows are not shown.
func moreLine(hidden int) []string {
	if hidden == 0 {
		return nil
	}
	return []string{fmt.Sprintf("and %s more", format.Grouped(hidden))}
}

// messages are written on lines that fit a terminal.
type messages struct{ file *os.File }

func (m messages) Fd() uintptr { return m.file.Fd() }

func (m messages) Write(text []byte) (int, error) {
	_, err := m.file.WriteString(format.WrapLines(string(text), terminalWidth(m.file)))
	return len(text), err
}

// terminalWidth returns the columns of a terminal; 0 if f is none.
func terminalWidth(f interface{ Fd() uintptr }) int {
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
	bar, drawn := &view{}, time.Time{}
	return func(done, total int64) {
		if s.width > 0 && total > 0 && time.Since(drawn) >= redrawEvery {
			drawn = time.Now()
			bar.draw(s.err, service.Frame{Lines: []string{barLine(label, s.width, done, total)}})
		}
	}, bar.leave
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
	frame *service.Frame // nil if there is none to draw
	fresh chan struct{}
	ended chan struct{}
}

func newBulletin(s streams, silent bool) *progressView {
	if silent {
		s.view = nil // a program that this command starts may read keys
	}
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
			b.screen.draw(*frame)
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

func (b *progressView) draw(frame service.Frame) { b.put(func() { b.frame = &frame }) }

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
