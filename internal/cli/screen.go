package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A screen is a terminal on which a text is drawn again and again in its place,
// and lines are said in between.
type screen struct {
	lock   sync.Mutex
	out    io.Writer
	notes  io.Writer // may be the same terminal
	drawn  int       // lines that stand
	silent bool      // out is no terminal: nothing is redrawn
}

func newScreen(s streams) *screen {
	return &screen{out: s.out, notes: s.err, silent: s.outWidth() == 0}
}

// size is how much the terminal shows.
func (s *screen) size() (width, height int) {
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

// draw puts lines in the place of those drawn before. None may be wider than the
// terminal, nor all together as high.
func (s *screen) draw(lines []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var text strings.Builder
	text.WriteString(s.up())
	for _, line := range lines {
		text.WriteString(line + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, text.String())
}

// clear takes away what was drawn.
func (s *screen) clear() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
}

func (s *screen) wipe() {
	if s.drawn > 0 {
		_, _ = io.WriteString(s.out, s.up()+"\x1b[J")
		s.drawn = 0
	}
}

func (s *screen) up() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", s.drawn)
}

// say writes a line for the user that is no result.
func (s *screen) say(format string, args ...any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
	_, _ = fmt.Fprintf(s.notes, format+"\n", args...)
}
