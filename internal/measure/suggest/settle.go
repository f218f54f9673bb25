package suggest

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	// mostSettling bounds how long is waited for compilers, by processor time of the
	// program and by the clock: some programs have them busy all the time.
	mostSettling = 8 * time.Second
	mostWaiting  = 24 * time.Second
	settleLook   = 250 * time.Millisecond
)

// settle waits until code that got hooks is compiled again, bounded.
func settle(ctx context.Context, s *session.Session) error {
	limit := time.Now().Add(mostWaiting)
	last, err := s.Read()
	if err != nil {
		return err
	}
	var lull cost.Lull
	var used time.Duration
	for isDone := false; !isDone && used < mostSettling && time.Now().Before(limit); {
		if err := pause(ctx, s, settleLook); err != nil {
			return err
		}
		now, err := s.Read()
		if err != nil {
			return err
		}
		since := last.Until(now)
		since.CompileCPU += since.CompileWait // compilers that have no processor are not done
		isDone = lull.Add(since)
		used += since.Rest
		last = now
	}
	return nil
}

// pause lets time pass, unless the session or the context ends.
func pause(ctx context.Context, s *session.Session, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return s.Err()
	case <-timer.C:
		return nil
	}
}
