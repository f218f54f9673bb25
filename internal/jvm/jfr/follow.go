package jfr

import (
	"cmp"
	"errors"
	"fmt"
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
