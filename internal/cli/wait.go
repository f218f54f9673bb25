package cli

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// An ending is why a live command stopped. It is written as "ended" in JSON.
type ending string

const (
	notEnded         ending = ""
	endedDuration    ending = "duration"    // the time of --duration or --window has passed
	endedCalls       ending = "calls"       // the number of --calls is reached
	endedLimit       ending = "limit"       // the number of --limit is reached
	endedInterrupted ending = "interrupted" // Ctrl-C, another signal, the key q, or sonde end
	endedProbes      ending = "probes"      // every probe has ended
	endedUndone      ending = "undone"      // sonde undo
	endedExited      ending = "exited"      // the JVM has exited
	endedLost        ending = "lost"        // the connection to the agent or the recording is lost
	endedUnread      ending = "unread"      // the reader of standard output is gone
)

// isOut reports whether no hook of this session is in the JVM any more, so that the JVM
// must not be asked anything.
func (e ending) isOut() bool { return e == endedUndone || e == endedExited || e == endedLost }

// afterWrite returns endedUnread when a write failed because the reader is gone. Other
// errors are reported at the end.
func afterWrite(err error) ending {
	if errors.Is(err, syscall.EPIPE) {
		return endedUnread
	}
	return notEnded
}

// A task is repeated while a command stays with a JVM.
type task struct {
	every time.Duration
	do    func() ending
	next  time.Time
}

// A waitLoop waits until a live command has to end and runs its tasks in the meantime.
type waitLoop struct {
	done  <-chan struct{} // closed when the session has ended
	why   func() ending   // explains that
	until time.Time       // zero for no limit
	tasks []*task

	screen *screen        // drawn again at each key; nil if nothing is drawn
	press  func(key rune) // changes what is drawn; may be nil
}

// addTask adds a task whose first run is one period from now.
func (s *waitLoop) addTask(every time.Duration, do func() ending) *task {
	t := &task{every: every, do: do, next: time.Now().Add(every)}
	s.tasks = append(s.tasks, t)
	return t
}

// endAfter limits the stay to a duration that began at some time; 0 is no limit.
func (s *waitLoop) endAfter(duration time.Duration, began time.Time) {
	if duration > 0 {
		s.until = began.Add(duration)
	}
}

// endAtCalls ends the stay at a number of calls; 0 is no limit.
func (s *waitLoop) endAtCalls(limit uint64, calls func() uint64) {
	if limit > 0 {
		s.addTask(callsEvery, func() ending {
			if calls() >= limit {
				return endedCalls
			}
			return notEnded
		})
	}
}

func (s *waitLoop) wait(ctx context.Context) ending {
	timer := time.NewTimer(s.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-s.done:
			return s.why()
		case key := <-s.screen.keys():
			if s.press != nil {
				s.press(key)
			}
			s.screen.redraw()
			continue
		case <-timer.C:
		}
		if ended := s.runTasks(time.Now()); ended != notEnded {
			return ended
		}
		timer.Reset(s.pause())
	}
}

func (s *waitLoop) runTasks(now time.Time) ending {
	if !s.until.IsZero() && !now.Before(s.until) {
		return endedDuration
	}
	for _, t := range s.tasks {
		if now.Before(t.next) {
			continue
		}
		if ended := t.do(); ended != notEnded {
			return ended
		}
		// Runs that were missed while a task took long are skipped, as with a ticker.
		if t.next = t.next.Add(t.every); t.next.Before(now) {
			t.next = now.Add(t.every)
		}
	}
	return notEnded
}

// pause is the time until the next task or the end.
func (s *waitLoop) pause() time.Duration {
	next := s.until
	for _, t := range s.tasks {
		if next.IsZero() || t.next.Before(next) {
			next = t.next
		}
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(next))
}
