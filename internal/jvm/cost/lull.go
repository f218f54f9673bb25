package cost

import "time"

const (
	// Compilers are idle that use less of a processor than this, and done when they
	// have been for so long.
	idleCompilers = 0.15
	idleFor       = 750 * time.Millisecond
)

// CompilersIdle reports whether compilers had little to do.
func (c Cost) CompilersIdle() bool {
	return c.CompileCPU.Seconds() <= idleCompilers*c.Elapsed.Seconds()
}

// A Lull is for how long compilers have had little to do.
type Lull struct{ idle time.Duration }

// Add takes in what happened since, and reports whether compilers are done with what
// a redefinition undid.
func (l *Lull) Add(since Cost) bool {
	if since.CompilersIdle() {
		l.idle += since.Elapsed
	} else {
		l.idle = 0
	}
	return l.idle >= idleFor
}
