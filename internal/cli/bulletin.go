package cli

import (
	"fmt"
	"sync"
)

// A bulletin shows how something stands that must not wait for a slow terminal: what
// there is to show is put down, and another goroutine shows it.
type bulletin struct {
	screen *screen

	lock  sync.Mutex
	notes []string
	frame []string // nil where nothing new is to be drawn
	fresh chan struct{}
	ended chan struct{}
}

func newBulletin(s streams, silent bool) *bulletin {
	b := &bulletin{screen: newScreen(s), fresh: make(chan struct{}, 1), ended: make(chan struct{})}
	b.screen.silent = b.screen.silent || silent
	go b.show(b.fresh)
	return b
}

// show draws and says what was put down, until the bulletin is closed.
func (b *bulletin) show(fresh <-chan struct{}) {
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

// close shows what is still to be shown, and takes away what was drawn.
func (b *bulletin) close() {
	b.lock.Lock()
	close(b.fresh)
	b.fresh = nil
	b.lock.Unlock()
	<-b.ended
}

// waiting shows what a slow end waits for.
func (b *bulletin) waiting(text string) { b.say("%s", text) }

// put has something shown.
func (b *bulletin) put(change func()) {
	b.lock.Lock()
	defer b.lock.Unlock()
	change()
	select {
	case b.fresh <- struct{}{}:
	default: // it will look anyway, or not any more
	}
}

// draw has lines take the place of those drawn before.
func (b *bulletin) draw(lines []string) { b.put(func() { b.frame = lines }) }

func (b *bulletin) say(format string, args ...any) {
	b.put(func() { b.notes = append(b.notes, fmt.Sprintf(format, args...)) })
}

// sayAside says what a terminal shows anyway.
func (b *bulletin) sayAside(format string, args ...any) {
	if b.screen.silent {
		b.say(format, args...)
	}
}

// remark shows what the user should read. It may be called at any time, from
// anywhere.
func (b *bulletin) remark(text string) { b.say("note: %s", printable(text)) }
