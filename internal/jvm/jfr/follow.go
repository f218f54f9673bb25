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

// A Batch is the result of one Poll.
type Batch struct {
	Samples []Sample
	Losses  []Loss // each is reported once
}

// A Follower reads the samples of a repository while the JVM writes it. It never changes
// anything there. It is not safe for concurrent use.
type Follower struct {
	dir   string
	since time.Time

	seen  bool                 // the directory was there
	files map[string]*liveFile // by name, including those read to their end
}

// Follow follows the chunks in the repository directory of one JVM, which the recorder has
// named by a time and the process. Nothing is read before the first Poll.
func Follow(dir string) *Follower {
	return &Follower{dir: dir, files: map[string]*liveFile{}}
}

// Since excludes samples taken before t, such as those of an older recording. It must be
// called before the first Poll.
func (f *Follower) Since(t time.Time) { f.since = t }

// Poll returns the samples that the JVM has flushed since the last Poll. JVMs flush every
// second, before JDK 14 only when they start another file. A missing directory is an error
// only if it never existed, because the JVM removes it when it exits.
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

// Close closes the files of the repository.
func (f *Follower) Close() error {
	for _, file := range f.files {
		file.close()
	}
	return nil
}

// list opens the new files of the directory and forgets names that are gone. An open file is
// kept although its name may be gone, so that a chunk which the JVM drops can still be read.
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
		// A file may have another name while it is being written.
		name := strings.TrimSuffix(entry.Name(), ".part")
		if !strings.HasSuffix(name, ".jfr") || !entry.Type().IsRegular() {
			continue // opening a pipe, which anyone may create there, would block for ever
		}
		there[name] = true
		if f.files[name] != nil {
			continue
		}
		// It may have become a pipe or a link since.
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
	open  *os.File // nil once everything was read, or if nothing can be
	chunk *chunk
	read  int64 // number of bytes read
}

func (l *liveFile) close() {
	if l.open != nil {
		_ = l.open.Close() // it was only read
		l.open = nil
	}
	l.chunk = nil
}

// poll reads the new bytes up to the size in the header.
func (l *liveFile) poll(f *Follower, out *Batch) error {
	h, ready, err := stableHeader(l.open)
	if err != nil {
		var loss Loss
		if !errors.As(err, &loss) {
			return err
		}
		loss.File = l.name
		out.Losses = append(out.Losses, loss)
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
		l.chunk = newChunk(h, l.name)
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

// advance reads the bytes between the last position and the size in the header.
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

// A header that the JVM is rewriting, by two short writes, is read again after a pause. If
// it still changes after headerTries, the next Poll reads it.
const (
	headerTries = 10
	headerPause = time.Millisecond
)

// stableHeader reads a header that is not being rewritten: two reads must return the same
// bytes. It is not ready if the JVM has flushed nothing yet.
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
