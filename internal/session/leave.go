package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

const (
	// leaveLimit bounds how long a JVM may restore classes without any progress. Thousands
	// of classes take longer than this in total.
	leaveLimit = 60 * time.Second
	// aloneLimit bounds how long an agent that lost Sonde may take to restore all classes
	// by itself before Sonde leaves it to that.
	aloneLimit = 10 * time.Second
	// waitingEvery is how often Settings.Waiting is called at most.
	waitingEvery = 2 * time.Second
)

// leave makes the agent restore all classes and leave. If the connection is lost the agent
// does so by itself, and is waited for. The JVM unmaps the arena last: a JVM that has
// unmapped it, or has exited, needs nothing more.
func (s *Session) leave(ctx context.Context) (control.Restored, error) {
	var far atomic.Pointer[control.Restoring]
	defer s.reportWaiting(&far)()
	restored, err := s.bye(ctx, &far)
	if err == nil {
		return restored, nil
	}
	limit := time.Duration(0) // it has had its time
	if errors.Is(err, control.ErrLost) {
		limit = aloneLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if staying := AwaitDeparture(ctx, s.jvm, s.file.Path); staying != nil {
		return restored, &NotRestoredError{PID: s.jvm.PID, Cause: err}
	}
	return restored, nil
}

// bye asks the agent to leave. If it does not, the connection is closed: nobody renews the
// agent's lease, and it restores all classes by itself.
func (s *Session) bye(ctx context.Context, far *atomic.Pointer[control.Restoring]) (control.Restored, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(leaveLimit, func() { cancel(fmt.Errorf("it has restored no class for %v", leaveLimit)) })
	defer limit.Stop()
	restored, err := s.peer.Bye(ctx, func(r control.Restoring) {
		limit.Reset(leaveLimit)
		far.Store(&r)
	})
	if err != nil {
		_ = s.peer.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return restored, err
}

// reportWaiting reports how far a slow restoration is, until stop is called.
func (s *Session) reportWaiting(far *atomic.Pointer[control.Restoring]) (stop func()) {
	if s.settings.Waiting == nil {
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
			if text := s.waitingText(far.Load()); text != last {
				s.settings.Waiting(text)
				last = text
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (s *Session) waitingText(far *control.Restoring) string {
	text := fmt.Sprintf("waiting for process %d to restore its classes", s.jvm.PID)
	if far != nil {
		text += fmt.Sprintf(": %d of %d done", far.Done, far.All)
	}
	if jvm, err := process.Local.Inspect(s.jvm.PID); err == nil && jvm.Stopped {
		text += fmt.Sprintf(": it is stopped by a signal or a debugger; kill -CONT %d resumes it", s.jvm.PID)
	}
	return text
}
