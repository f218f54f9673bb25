package cache

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// dropSegment removes a segment, if it is still the one that was seen. That it cannot
// harms none.
func (d *Disk) dropSegment(ctx context.Context, name string, seen *unix.Stat_t) {
	if d.isFixed {
		return
	}
	_ = d.holding(ctx, func() error {
		var stat unix.Stat_t
		err := unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && stat.Ino == seen.Ino && stat.Size == seen.Size {
			_, err = d.removeSegment(name)
		}
		return err
	})
}

// removeSegment removes a segment, and says what it took on disk. The ledger is held.
func (d *Disk) removeSegment(name string) (freed int64, err error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return 0, nil
	}
	if err := unix.Unlinkat(d.root, name, 0); err != nil {
		return 0, d.explain("removing "+name, err)
	}
	if used, known := d.ledger.read(); known {
		_ = d.ledger.write(used - blocks(stat.Size)) // else it is too large
	}
	return blocks(stat.Size), nil
}

// evictSegments removes the segments, to make room.
func (d *Disk) evictSegments(ctx context.Context, gone *Evicted) error {
	return d.holding(ctx, func() error {
		for _, name := range segmentFiles {
			freed, err := d.removeSegment(name)
			if err != nil {
				return err
			}
			gone.Bytes += freed
			gone.Left = max(gone.Left-freed, 0)
		}
		return nil
	})
}

// notes are the uses that segments know of, and what those take on disk.
func (d *Disk) notes() (noted map[keyStart]time.Time, onDisk int64) {
	noted = make(map[keyStart]time.Time)
	for which, name := range segmentFiles {
		var stat unix.Stat_t
		if unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
			onDisk += blocks(stat.Size)
		}
		s, _ := d.openSegment(which) // what is the matter with it is told by who reads it
		if s == nil {
			continue
		}
		for start, hour := range s.hours() {
			if at := hourTime(hour); hour > 0 && at.After(noted[start]) {
				noted[start] = at
			}
		}
		_ = unix.Close(s.fd) // only read
	}
	return noted, onDisk
}
