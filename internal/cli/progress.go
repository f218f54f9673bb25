package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// terminalWidth is the number of columns of a terminal, 0 where f is none.
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

// bar shows progress on one line of a terminal, and nothing elsewhere.
type bar struct {
	out   io.Writer
	width int
	label string
	drawn time.Time
	shown bool
}

// redrawEvery keeps the cost of drawing below what anyone could notice.
const redrawEvery = 80 * time.Millisecond

func (b *bar) update(done, total int64) {
	if b.width == 0 || total <= 0 || time.Since(b.drawn) < redrawEvery {
		return
	}
	b.drawn, b.shown = time.Now(), true
	_, _ = fmt.Fprintf(b.out, "\r%s", b.line(done, total))
}

// line is the bar at a state, one column short of the width so that no
// terminal wraps it.
func (b *bar) line(done, total int64) string {
	percent := fmt.Sprintf(" %3d %%", done*100/total)
	room := b.width - 1 - len(b.label) - len(percent) - 3
	if room < 5 {
		return b.label + percent
	}
	full := int(done * int64(room) / total)
	return b.label + " [" + strings.Repeat("█", full) + strings.Repeat("·", room-full) + "]" + percent
}

// clear removes the bar before other text is written.
func (b *bar) clear() {
	if b.shown {
		_, _ = fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", b.width-1))
		b.shown = false
	}
}
