package jfr

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// A liveFile is a chunk that the JVM may be writing.
type liveFile struct {
	name  string
	open  *os.File // nil when all was read, or nothing can be
	chunk *chunk
	read  int64 // up to here
}

func (l *liveFile) close() {
	if l.open != nil {
		_ = l.open.Close() // it was only read
		l.open = nil
	}
	l.chunk = nil
}

// poll reads what is new up to where the header says that all is whole.
func (l *liveFile) poll(f *Follower, out *Batch) error {
	h, ready, err := stableHeader(l.open)
	if err != nil {
		var version *VersionError
		switch {
		case errors.As(err, &version):
			out.Losses = append(out.Losses, Loss{Defect: OtherVersion, File: l.name, Detail: err.Error()})
		case errors.Is(err, ErrNoRecording):
			out.Losses = append(out.Losses, Loss{Defect: Corrupt, File: l.name, Detail: err.Error()})
		default:
			return err
		}
		l.close()
		return nil
	}
	if !ready {
		return nil
	}
	if h.finished() && !f.since.IsZero() && h.end().Before(f.since) && l.chunk == nil {
		l.close()
		return nil
	}
	if l.chunk == nil {
		l.chunk = newChunk(h, l.name, 0)
		l.chunk.live, l.chunk.samples, l.chunk.visitor = true, true, f.watch
		if !f.since.IsZero() {
			l.chunk.since = f.since.UnixNano()
		}
		l.read = headerSize
	}
	l.chunk.header, l.chunk.out = h, out
	if err := l.advance(); err != nil {
		return err
	}
	if h.finished() {
		l.chunk.finish()
		l.close()
	}
	return nil
}

// advance reads from where it was up to the size in the header.
func (l *liveFile) advance() error {
	size := l.chunk.header.size
	if size <= l.read {
		return nil
	}
	info, err := l.open.Stat()
	if err != nil {
		return err
	}
	cut := false
	if info.Size() < size {
		if !l.chunk.header.finished() {
			return nil
		}
		l.chunk.lose(Truncated, info.Size(), size-info.Size(), "the file ends before its chunk")
		size, cut = max(l.read, info.Size()), true
	}
	data := make([]byte, size-l.read)
	n, err := l.open.ReadAt(data, l.read)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	l.chunk.add(piece{data: data[:n], at: l.read, cut: cut || n < len(data)})
	l.read += int64(n)
	return nil
}

// headerTries is how often a header is read that the JVM is rewriting, and
// headerPause how long to wait before: it takes the JVM two writes of some bytes.
// A header that stays so is looked at again by the next Poll.
const (
	headerTries = 10
	headerPause = time.Millisecond
)

// stableHeader reads a header that is not being rewritten: two reads have to
// bring the same. It is not ready where the JVM has flushed nothing yet.
func stableHeader(r io.ReaderAt) (h header, ready bool, err error) {
	var before, after [headerSize]byte
	for range headerTries {
		for _, b := range []*[headerSize]byte{&before, &after} {
			n, err := r.ReadAt(b[:], 0)
			if n < headerSize {
				if err != nil && !errors.Is(err, io.EOF) {
					return header{}, false, err
				}
				return header{}, false, nil
			}
		}
		if bytes.Equal(before[:], after[:]) && after[64] != stateRewritten {
			h, err := parseHeader(after[:])
			return h, err == nil && h.metadata >= headerSize && h.size > headerSize && h.ticksPerSecond > 0, err
		}
		time.Sleep(headerPause)
	}
	return header{}, false, nil
}
