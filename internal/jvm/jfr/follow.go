package jfr

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Batch is what one look at a recording has brought.
type Batch struct {
	Samples []Sample
	Losses  []Loss // what could not be read, each said once
}

// A Follower reads the samples of one repository while the JVM writes it. It
// never changes anything there. It is for one goroutine at a time.
type Follower struct {
	dir   string
	since time.Time
	watch Visitor

	seen  bool                 // the directory was there
	files map[string]*liveFile // by name, those that are read to their end too
}

// Follow follows the chunks in a repository directory of one JVM, which is the
// one the recorder has made for it, named by a time and the process. Nothing is
// read before the first Poll.
func Follow(dir string) *Follower {
	return &Follower{dir: dir, files: map[string]*liveFile{}}
}

// Since leaves out what began before t, such as the recording of someone else
// that was there before. It is for before the first Poll.
func (f *Follower) Since(t time.Time) { f.since = t }

// Watch also shows a visitor events, during Poll. If it wants no more, it gets
// none of the rest of that chunk. It is for before the first Poll.
func (f *Follower) Watch(v Visitor) { f.watch = v }

// Poll returns what the JVM has flushed since the last Poll; newer JVMs flush
// every second, those before JDK 14 only when they go on to another file. That
// the directory is gone is an error only if it never was there: the JVM removes
// it at its end.
func (f *Follower) Poll() (Batch, error) {
	var out Batch
	if err := f.list(); err != nil {
		return out, err
	}
	open := make([]*liveFile, 0, len(f.files))
	for _, file := range f.files {
		if file.open != nil {
			open = append(open, file)
		}
	}
	slices.SortFunc(open, func(a, b *liveFile) int { return cmp.Compare(a.name, b.name) })
	var failed error
	for _, file := range open {
		if err := file.poll(f, &out); err != nil {
			file.close()
			failed = errors.Join(failed, fmt.Errorf("reading flight recording %s: %w", filepath.Join(f.dir, file.name), err))
		}
	}
	return out, failed
}

// Close ends following. It changes nothing of the repository.
func (f *Follower) Close() error {
	for _, file := range f.files {
		file.close()
	}
	return nil
}

// list opens what is new in the directory, and forgets names that are gone. An
// open file is kept although its name may be gone: it can still be read, so a
// chunk that the JVM drops while we read it is not lost to us.
func (f *Follower) list() error {
	entries, err := os.ReadDir(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.seen:
		entries = nil
	case err != nil:
		return fmt.Errorf("following flight recordings: %w", err)
	}
	f.seen = true
	there := map[string]bool{}
	for _, entry := range entries {
		// While it is written a file may have a name of its own.
		name := strings.TrimSuffix(entry.Name(), ".part")
		if !strings.HasSuffix(name, ".jfr") || !entry.Type().IsRegular() {
			continue // a pipe, which anyone may put there, would hold us up for good
		}
		there[name] = true
		if f.files[name] != nil {
			continue
		}
		// It may have become one since.
		file, err := os.OpenFile(filepath.Join(f.dir, entry.Name()), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed or renamed meanwhile
		case err != nil:
			return fmt.Errorf("following flight recordings: %w", err)
		}
		f.files[name] = &liveFile{name: name, open: file}
	}
	for name, file := range f.files {
		if file.open == nil && !there[name] {
			delete(f.files, name)
		}
	}
	return nil
}

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
