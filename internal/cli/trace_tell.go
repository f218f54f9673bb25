package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/waterfall"
)

// tell shows a transaction that has just become whole.
func (r *traceRun) tell(t *trace.Transaction) error {
	if r.json {
		encoded, err := waterfall.EncodeTransaction(r.target(), t)
		if err != nil {
			return err
		}
		return r.screen.print(string(encoded))
	}
	if !r.told {
		r.told = true
		if err := r.screen.print(waterfall.Title(r.terminal)); err != nil {
			return err
		}
	}
	return r.screen.print(waterfall.Line(len(r.kept), t, r.terminal))
}

// print writes a line of the result above what is drawn.
func (s *screen) print(line string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
	_, err := io.WriteString(s.out, line+"\n")
	return err
}

// progressEvery is how often the line is drawn that says how it goes.
const progressEvery = 250 * time.Millisecond

// drawProgress says how it goes, on a terminal.
func (r *traceRun) drawProgress() {
	if r.screen.silent || r.json || time.Since(r.drawn) < progressEvery {
		return
	}
	r.drawn = time.Now()
	if sum, err := r.ringReader.sum(); err == nil {
		r.sum = sum
	}
	text := fmt.Sprintf("%s of %s kept, %s begun", grouped(len(r.kept)), grouped(r.limit), grouped(int(r.sum.opened)))
	if r.sum.discarded > 0 {
		text += fmt.Sprintf(", %s not chosen", grouped(int(r.sum.discarded)))
	}
	if r.sum.dropped > 0 {
		text += fmt.Sprintf(", %s only counted", count(int(r.sum.dropped), "call", "calls"))
	}
	text += fmt.Sprintf(", %s   Ctrl-C ends it", durationText(time.Since(r.began).Round(100*time.Millisecond)))
	width, _ := r.screen.size()
	r.screen.draw([]string{cut(text, width)})
}
