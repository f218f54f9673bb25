package attach

import (
	"context"
	"errors"
	"net"
	"time"
)

// target is a JVM as the protocol needs it: the seam at which tests put
// another.
type target interface {
	// dial opens a connection, or fails with errNoListener.
	dial() (net.Conn, error)
	// ask makes the JVM listen, sooner or later. What it left for that,
	// withdraw removes.
	ask() (withdraw func(), err error)
	// alive tells whether the process is still there.
	alive() bool
	close()
}

var errNoListener = errors.New("nothing listens on its socket")

// waitLimit bounds what a JVM may take to listen. One that is in a long pause,
// or has no processor to run on, needs seconds.
const waitLimit = 15 * time.Second

// Polling begins fast, as most JVMs listen within a millisecond or two.
const (
	firstPause   = time.Millisecond
	longestPause = 50 * time.Millisecond
)

// connect opens a connection, and first makes the JVM listen where it does not
// yet. The JVM serves one connection at a time: use it at once.
func connect(ctx context.Context, t target) (net.Conn, error) {
	conn, err := t.dial()
	if !errors.Is(err, errNoListener) {
		return conn, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	withdraw, err := t.ask()
	if err != nil {
		return nil, err
	}
	defer withdraw()
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	timer := time.NewTimer(firstPause)
	defer timer.Stop()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
		conn, err := t.dial()
		switch {
		case !errors.Is(err, errNoListener):
			return conn, err
		case !t.alive():
			return nil, ErrGone
		}
		timer.Reset(pause)
	}
}
