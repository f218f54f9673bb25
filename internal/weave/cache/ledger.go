package cache

import (
	"context"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// A ledger says how much all entries take. Entries appear and go only while its lock
// is held, so what it says and what there is agree, but for what a process that was
// killed left undone: then it says too much.
//
//	8  bytes that entries take, in whole blocks
//	8  the same with every bit turned, as it is trusted with nothing else
type ledger struct {
	fd   int
	mine chan struct{} // of the goroutines of this process; the file's lock is of the process
}

func newLedger(fd int) *ledger { return &ledger{fd, make(chan struct{}, 1)} }

// patience is how long the lock is waited for. It is held for microseconds, unless a
// disk hangs or a process was stopped.
const patience = 250 * time.Millisecond

// hold takes the lock; the error is ErrBusy, or the system's.
func (l *ledger) hold(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
	defer cancel()
	select {
	case l.mine <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := l.lockFile(ctx)
	if err != nil {
		<-l.mine
	}
	return err
}

func (l *ledger) lockFile(ctx context.Context) error {
	const longest = 5 * time.Millisecond
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, longest) {
		if got, err := tryLock(l.fd); got || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *ledger) release() {
	_ = unix.Flock(l.fd, unix.LOCK_UN) // of a file that is open: it cannot fail
	<-l.mine
}

// read says what entries take; false where that is not known.
func (l *ledger) read() (used int64, known bool) {
	var b [16]byte
	if readAt(l.fd, b[:], 0) != nil {
		return 0, false
	}
	used = int64(binary.LittleEndian.Uint64(b[:]))
	return used, used >= 0 && ^uint64(used) == binary.LittleEndian.Uint64(b[8:])
}

func (l *ledger) write(used int64) error {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(max(used, 0)))
	binary.LittleEndian.PutUint64(b[8:], ^uint64(max(used, 0)))
	return writeAll(l.fd, b[:])
}

func (l *ledger) close() error { return unix.Close(l.fd) }
