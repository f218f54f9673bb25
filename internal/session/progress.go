package session

import (
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// waitingEvery is how often Settings.Waiting is called at most.
const waitingEvery = 2 * time.Second

// A progress is how far a session is with many classes. The zero value is one that does nothing.
type progress struct {
	lock      sync.Mutex
	doing     string // "" if nothing takes long
	done, all int
	began     time.Time
}

// begin starts a step with a number of classes; 0 if it is not known yet.
func (p *progress) begin(doing string, all int) (end func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.doing, p.done, p.all, p.began = doing, 0, all, time.Now()
	return func() {
		p.lock.Lock()
		defer p.lock.Unlock()
		p.doing = ""
	}
}

// add counts a class that is done.
func (p *progress) add() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done = min(p.done+1, p.all)
}

func (p *progress) set(done, all int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done, p.all = done, all
}

// text describes the step for the user; "" if there is none.
func (p *progress) text(now time.Time) string {
	p.lock.Lock()
	defer p.lock.Unlock()
	switch {
	case p.doing == "" || p.all == 0:
		return p.doing
	case p.done == 0:
		return fmt.Sprintf("%s, 0 of %s", p.doing, format.Grouped(p.all))
	}
	text := fmt.Sprintf("%s, %s of %s", p.doing, format.Grouped(p.done), format.Grouped(p.all))
	if left := now.Sub(p.began) / time.Duration(p.done) * time.Duration(p.all-p.done); left >= time.Second {
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}

// reportProgress reports to the user of a look how far long steps are, until stop is called.
func (l *Look) reportProgress() (stop func()) {
	if l.settings.Waiting == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(waitingEvery)
		defer tick.Stop()
		for last := ""; ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if text := l.waitingText(); text != last && text != "" {
				l.settings.Waiting(text)
				last = text
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (l *Look) waitingText() string {
	text := l.progress.text(time.Now())
	if text == "" {
		return ""
	}
	if jvm, err := process.Local.Inspect(l.jvm.PID); err == nil && jvm.Stopped {
		text += fmt.Sprintf(": process %d is stopped by a signal or a debugger; kill -CONT %d resumes it", l.jvm.PID, l.jvm.PID)
	}
	return text
}
