package cache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Freeing space means listing all files, so it starts early and frees plenty: above the
// high mark entries are removed until the low mark is reached.
func (d *Disk) highMark() int64 { return d.bound / 16 * 15 }
func (d *Disk) lowMark() int64  { return d.bound / 4 * 3 }

// listed is a file in the place of an entry.
type listed struct {
	key  Key
	stat unix.Stat_t
}

func (l *listed) used() time.Time { return time.Unix(l.stat.Mtim.Unix()) }

// list returns all entries and the space they take.
func (d *Disk) list(ctx context.Context) (all []listed, total int64, err error) {
	for shard := range 256 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		name := shardName(byte(shard))
		files, err := d.names(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, d.explain("reading "+name, err)
		}
		for _, file := range files {
			l := listed{}
			digits, err := hex.DecodeString(name + file)
			if err != nil || len(digits) != len(l.key) {
				continue // not an entry
			}
			copy(l.key[:], digits)
			if unix.Fstatat(d.fd(), pathOf(l.key), &l.stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // removed in the meantime
			}
			all = append(all, l)
			total += sizeOnDisk(l.stat.Size)
		}
	}
	return all, total, nil
}

// Evicted says what was removed to free space.
type Evicted struct {
	Entries int
	Bytes   int64 // on disk
	Left    int64 // space that the remaining entries take
}

// Prune removes the least recently used entries until the others take at most max bytes
// on disk. It also removes abandoned temporary files and corrects the recorded size.
func (d *Disk) Prune(ctx context.Context, max int64) (Evicted, error) {
	if d.readOnly != nil {
		return Evicted{}, d.readOnly
	}
	d.sweep()
	return d.evict(ctx, max)
}

// evict frees space. One process does so at a time; others get ErrBusy.
func (d *Disk) evict(ctx context.Context, target int64) (gone Evicted, err error) {
	lock, err := d.open(evictFile, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return gone, d.explain("opening "+evictFile, err)
	}
	defer func() { _ = lock.Close() }() // and release the lock
	got, err := tryLock(lock)
	switch {
	case err != nil:
		return gone, d.explain("locking "+evictFile, err)
	case !got:
		return gone, ErrBusy
	}
	all, err := d.recount(ctx)
	if err != nil {
		return gone, err
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(a.used().Compare(b.used()), bytes.Compare(a.key[:], b.key[:]))
	})
	const batchSize = 64 // other processes get the lock between batches
	for {
		batch := all[:min(len(all), batchSize)]
		all = all[len(batch):]
		if err := d.evictBatch(ctx, batch, target, &gone); err != nil {
			return gone, err
		}
		if len(all) == 0 || gone.Left <= target {
			return gone, nil
		}
	}
}

// recount lists all entries and records the space they take. Entries that are added in
// the meantime may be counted twice, but are not missed.
func (d *Disk) recount(ctx context.Context) ([]listed, error) {
	var before int64
	var wasKnown bool
	err := d.locked(ctx, func() error {
		before, wasKnown = d.ledger.read()
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, total, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	return all, d.locked(ctx, func() error {
		if now, isKnown := d.ledger.read(); isKnown && wasKnown {
			total += max(now-before, 0)
		}
		return d.explain("writing "+sizeFile, d.ledger.write(total))
	})
}

// evictBatch removes entries in their order until the remaining ones take at most target
// bytes. An entry that was used or replaced since it was listed is kept.
func (d *Disk) evictBatch(ctx context.Context, batch []listed, target int64, gone *Evicted) error {
	return d.locked(ctx, func() error {
		used, known := d.ledger.read()
		if !known {
			return ErrBusy
		}
		var freed int64
		for i := range batch {
			if used-freed <= target {
				break
			}
			if d.remove(pathOf(batch[i].key), &batch[i].stat) {
				freed += sizeOnDisk(batch[i].stat.Size)
				gone.Entries++
			}
		}
		gone.Bytes += freed
		gone.Left = max(used-freed, 0)
		return d.explain("writing "+sizeFile, d.ledger.write(gone.Left))
	})
}

// drop removes a damaged file unless it was replaced. Failures are ignored: the file is
// replaced when the entry is added again.
func (d *Disk) drop(ctx context.Context, path string, stat *unix.Stat_t) {
	_ = d.locked(ctx, func() error {
		used, known := d.ledger.read()
		if d.remove(path, stat) && known {
			return d.ledger.write(used - sizeOnDisk(stat.Size))
		}
		return nil
	})
}

// remove removes a file if it is still the same file. The ledger must be locked.
func (d *Disk) remove(path string, seen *unix.Stat_t) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd(), path, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || stat.Ino != seen.Ino || stat.Mtim != seen.Mtim || stat.Size != seen.Size {
		return false
	}
	return unix.Unlinkat(d.fd(), path, 0) == nil
}

// Item is a file of the cache.
type Item struct {
	Key    Key
	Size   int64     // of the file
	OnDisk int64     // space it takes
	Used   time.Time // last use, to the hour
	Entry  *Entry    // nil where it cannot be read
	Err    error     // why it cannot be read
}

// Each reads the entries whose keys are wanted, or all where want is nil, most recently
// used first, until fn returns an error, which Each returns. It changes nothing on disk.
func (d *Disk) Each(ctx context.Context, want func(Key) bool, fn func(Item) error) error {
	all, _, err := d.list(ctx)
	if err != nil {
		return err
	}
	if want != nil {
		all = slices.DeleteFunc(all, func(l listed) bool { return !want(l.key) })
	}
	slices.SortFunc(all, func(a, b listed) int { return b.used().Compare(a.used()) })
	for i := range all {
		l := &all[i]
		item := Item{Key: l.key, Size: l.stat.Size, OnDisk: sizeOnDisk(l.stat.Size), Used: l.used()}
		item.Entry, item.Err = d.get(ctx, l.key, false)
		var unreadable *EntryError
		switch {
		case errors.Is(item.Err, ErrMissing) && !errors.As(item.Err, &unreadable):
			continue // removed in the meantime
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := fn(item); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes an entry if it is damaged.
func (d *Disk) Drop(ctx context.Context, key Key) (dropped bool, err error) {
	if d.readOnly != nil {
		return false, d.readOnly
	}
	if _, err := d.Get(ctx, key); !errors.Is(err, ErrDamaged) {
		return false, err
	}
	return unix.Faccessat(d.fd(), pathOf(key), unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != nil, nil
}

// ledger records the space that all entries take. Entries are added and removed only
// while it is locked, so the record is right, or too large after a process was killed.
//
//	8  space of all entries in bytes
//	8  its bitwise complement
type ledger struct {
	file *os.File
	mine chan struct{} // excludes goroutines of this process; the file lock excludes other processes
}

// lockTimeout is how long the lock is waited for. It is held for microseconds, unless a
// disk hangs or a process is stopped.
const lockTimeout = 250 * time.Millisecond

// lock takes the lock. The error is ErrBusy, that of the context, or one of the system.
func (l *ledger) lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, ErrBusy)
	defer cancel()
	select {
	case l.mine <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	const maxPause = 5 * time.Millisecond
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, maxPause) {
		got, err := tryLock(l.file)
		if got && err == nil {
			return nil
		}
		if err == nil {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		<-l.mine
		return err
	}
}

func (l *ledger) unlock() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) // it cannot fail on an open file
	<-l.mine
}

// read returns the recorded space; known is false where the record is not valid.
func (l *ledger) read() (used int64, known bool) {
	var b [16]byte
	if _, err := l.file.ReadAt(b[:], 0); err != nil {
		return 0, false
	}
	used = int64(binary.LittleEndian.Uint64(b[:]))
	return used, used >= 0 && ^uint64(used) == binary.LittleEndian.Uint64(b[8:])
}

func (l *ledger) write(used int64) error {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(max(used, 0)))
	binary.LittleEndian.PutUint64(b[8:], ^uint64(max(used, 0)))
	_, err := l.file.WriteAt(b[:], 0)
	return err
}

// initLedger records that a new cache is empty, unless another process did so before.
func (d *Disk) initLedger() error {
	return d.locked(context.Background(), func() error {
		if _, known := d.ledger.read(); known {
			return nil
		}
		return d.explain("writing "+sizeFile, d.ledger.write(0))
	})
}

// locked calls do while no entries are added or removed.
func (d *Disk) locked(ctx context.Context, do func() error) error {
	err := d.ledger.lock(ctx)
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return d.explain("locking "+sizeFile, err)
	}
	defer d.ledger.unlock()
	return do()
}

// tryLock takes the lock of a file if it is free.
func tryLock(file *os.File) (bool, error) {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}
