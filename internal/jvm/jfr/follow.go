package jfr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Batch is the result of one Poll.
type Batch struct {
	Samples []Sample
	Calls   []Call // of a thread in the order of their ends
	Timings []Timing
	Losses  []Loss // the first ones; each is reported once
}

func (b *Batch) lose(l Loss) {
	if len(b.Losses) < maxLosses {
		b.Losses = append(b.Losses, l)
	}
}

// A Follower reads the samples of a repository while the JVM writes it. It never changes
// anything there. It is not safe for concurrent use.
type Follower struct {
	dir   fs.FS
	since time.Time

	seen   bool                 // the directory was there
	files  map[string]*liveFile // by name, including those read to their end
	losses int                  // that were reported
}

// The directory belongs to the user of the JVM, who may put any files into it. A JVM writes one
// file at a time.
const (
	mostNames = 10_000
	mostOpen  = 4         // files that are not read to their end
	mostNew   = 128 << 20 // bytes of a file that are read at once
)

// Follow follows the chunks in the repository of one JVM, which the recorder has
// named by a time and the process. Nothing is read before the first Poll.
func Follow(dir fs.FS) *Follower {
	return &Follower{dir: dir, files: map[string]*liveFile{}}
}

// Since excludes samples taken before t, such as samples of an older recording. It must be
// called before the first Poll.
func (f *Follower) Since(t time.Time) { f.since = t }

// Poll returns the samples that the JVM has flushed since the last Poll. JVMs flush every
// second, before JDK 14 only when they start another file. A missing directory is an error
// only if it never existed, because the JVM removes it when it exits.
func (f *Follower) Poll() (out Batch, err error) {
	defer func() { // a directory in which new files appear all the time is not reported without end
		out.Losses = out.Losses[:min(len(out.Losses), maxLosses-f.losses)]
		f.losses += len(out.Losses)
	}()
	there, err := f.list()
	if err != nil {
		return out, err
	}
	names := slices.Collect(maps.Keys(there))
	open := 0
	for name, file := range f.files {
		switch {
		case file.open != nil: // a chunk that the JVM drops can still be read
			names = append(names, name)
			open++
		case there[name] == "":
			delete(f.files, name)
		}
	}
	slices.Sort(names)
	var failed error
	for _, name := range slices.Compact(names) {
		file := f.files[name]
		if file == nil && open < mostOpen {
			if file, err = f.open(name, there[name]); err != nil {
				return out, err
			}
			if file != nil {
				open++
			}
		}
		if file == nil || file.open == nil {
			continue
		}
		if err := file.poll(f, &out); err != nil {
			file.close()
			failed = errors.Join(failed, fmt.Errorf("reading flight recording %s: %w", name, err))
		}
		if file.open == nil {
			open--
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

// list returns the names of the files in the directory by the names that they have when they are complete.
func (f *Follower) list() (there map[string]string, err error) {
	entries, err := readDir(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.seen:
		entries = nil
	case err != nil:
		return nil, fmt.Errorf("following flight recordings: %w", err)
	}
	f.seen = true
	there = make(map[string]string)
	for _, entry := range entries {
		// A file may have another name while it is being written.
		name := strings.TrimSuffix(entry.Name(), ".part")
		if strings.HasSuffix(name, ".jfr") && entry.Type().IsRegular() {
			there[name] = entry.Name()
		}
	}
	return there, nil
}

func readDir(dir fs.FS) ([]fs.DirEntry, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	entries, err := file.(fs.ReadDirFile).ReadDir(mostNames)
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return entries, err
}

// open opens a new file; nil if it was removed or renamed meanwhile.
func (f *Follower) open(name, now string) (*liveFile, error) {
	opened, err := f.dir.Open(now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("following flight recordings: %w", err)
	}
	file, is := opened.(contents)
	if !is {
		_ = opened.Close()
		return nil, fmt.Errorf("following flight recordings: %s is not a file", name)
	}
	f.files[name] = &liveFile{name: name, open: file}
	return f.files[name], nil
}

// contents is the content of an open file.
type contents interface {
	fs.File
	io.ReaderAt
}

// A liveFile is a chunk that the JVM may be writing.
type liveFile struct {
	name  string
	open  contents // nil once everything was read, or if nothing can be
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
		out.lose(loss)
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
	if h.finished() && l.chunk != nil {
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
	if size-l.read > mostNew {
		l.chunk.lose(TooLarge, l.read, size-l.read, fmt.Sprintf("more than the %d MiB that are read at once", mostNew>>20))
		l.close()
		return nil
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
