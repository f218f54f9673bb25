package calltree

import (
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Sonde holds a JVM alone: while one does, another cannot ask for its classes. So
// those of the last look are kept in the user's cache, for this user alone, by process
// and its start. What the JDK has on disk is not in it.

const (
	mostRemembered = 256 << 20 // bytes of class files of one JVM
	mostSnapshots  = 8
	snapshotFormat = 1
)

type snapshot struct {
	Format  int
	Classes []Class
}

// errOther says that another version of Sonde wrote it.
var errOther = errors.New("a snapshot of another format")

func snapshotPath(jvm *process.JVM) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "sonde", "classes", fmt.Sprintf("%d-%d.gz", jvm.PID, jvm.StartTicks())), nil
}

// remember keeps classes for a later look. That it cannot harms none.
func remember(jvm *process.JVM, classes []Class) {
	size := 0
	for _, c := range classes {
		size += len(c.File) + len(c.Name)
	}
	path, err := snapshotPath(jvm)
	if err != nil || size > mostRemembered || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-*") // for its owner alone
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(file.Name()) }() // where it was not renamed
	err = errors.Join(writeSnapshot(file, classes), file.Close())
	if err == nil && os.Rename(file.Name(), path) == nil {
		forget(filepath.Dir(path))
	}
}

func writeSnapshot(w io.Writer, classes []Class) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(packed).Encode(snapshot{snapshotFormat, classes}), packed.Close())
}

// recall gives the classes of the last look and when that was; nil where there was none.
func recall(jvm *process.JVM) ([]Class, time.Time) {
	path, err := snapshotPath(jvm)
	if err != nil {
		return nil, time.Time{}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, time.Time{}
	}
	classes, err := readSnapshot(file)
	if err != nil {
		return nil, time.Time{}
	}
	return classes, info.ModTime()
}

func readSnapshot(r io.Reader) ([]Class, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var s snapshot
	if err := gob.NewDecoder(io.LimitReader(packed, 2*mostRemembered)).Decode(&s); err != nil {
		return nil, err
	}
	if s.Format != snapshotFormat {
		return nil, errOther
	}
	return s.Classes, nil
}

// forget removes all but the newest snapshots.
func forget(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type kept struct {
		path string
		at   time.Time
	}
	var all []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, kept{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(b.at.UnixNano(), a.at.UnixNano()) })
	for _, k := range all[min(len(all), mostSnapshots):] {
		_ = os.Remove(k.path)
	}
}
