package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

const (
	// leaveLimit bounds how long a JVM may restore classes without any progress. Thousands
	// of classes take longer than this in total.
	leaveLimit = 60 * time.Second
	// aloneLimit bounds how long an agent that lost Sonde may take to restore all classes
	// by itself before Sonde leaves it to that.
	aloneLimit = 10 * time.Second
)

// leave makes the agent restore all classes and leave. If the connection is lost the agent
// does so by itself, and is waited for. The JVM unmaps the arena last: a JVM that has
// unmapped it, or has exited, needs nothing more.
func (s *Session) leave(ctx context.Context) (control.Restored, error) {
	s.isLeaving.Store(true)
	defer s.progress.begin("restoring classes", 0)()
	restored, err := s.bye(ctx)
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
func (s *Session) bye(ctx context.Context) (control.Restored, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(leaveLimit, func() { cancel(fmt.Errorf("it has restored no class for %v", leaveLimit)) })
	defer limit.Stop()
	restored, err := s.peer.Bye(ctx, func(r control.Restoring) {
		limit.Reset(leaveLimit)
		s.progress.set(int(r.Done), int(r.All))
	})
	if err != nil {
		_ = s.peer.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return restored, err
}
