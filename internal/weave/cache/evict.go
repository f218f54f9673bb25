package cache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Room is made before there is none, and for a while: all files have to be looked at
// for it.
func (d *Disk) high() int64 { return d.bound / 16 * 15 }
func (d *Disk) low() int64  { return d.bound / 4 * 3 }

// A listed file is one that lies where entries do.
type listed struct {
	key   Key
	stat  unix.Stat_t
	noted time.Time // when it was of use in the segment
}

func (l *listed) used() time.Time {
	used := time.Unix(l.stat.Mtim.Unix())
	if l.noted.After(used) {
		return l.noted
	}
	return used
}

// list finds all entries, and what they and the segment take on disk.
func (d *Disk) list(ctx context.Context) (all []listed, total int64, err error) {
	noted, total := d.notes()
	for shard := range len(d.shards) {
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
			l := listed{key: Key{byte(shard)}}
			// What is not named like an entry is none of ours.
			if n, err := hex.Decode(l.key[1:], []byte(file[:min(len(file), 2*len(l.key)-2)])); err != nil || n != len(l.key)-1 || pathOf(l.key)[3:] != file {
				continue
			}
			if unix.Fstatat(d.root, name+"/"+file, &l.stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // gone since
			}
			l.noted = noted[l.key.start()]
			all = append(all, l)
			total += blocks(l.stat.Size)
		}
	}
	return all, total, nil
}

// Evicted is what went to make room.
type Evicted struct {
	Entries int
	Bytes   int64 // on disk
	Left    int64 // what the others take
}

// Prune makes room: entries that were not used for longest go until the others take no
// more than so many bytes on disk. It counts anew what all take.
func (d *Disk) Prune(ctx context.Context, to int64) (Evicted, error) {
	if d.isFixed {
		return Evicted{}, d.fixed
	}
	d.sweep()
	return d.evict(ctx, to)
}

// evict is done by one at a time; for others the cache is busy.
func (d *Disk) evict(ctx context.Context, target int64) (Evicted, error) {
	unlock, err := d.lockEvict()
	if err != nil {
		return Evicted{}, err
	}
	defer unlock()
	all, err := d.recount(ctx)
	if err != nil {
		return Evicted{}, err
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(a.used().Compare(b.used()), bytes.Compare(a.key[:], b.key[:]))
	})
	var gone Evicted
	for first := true; first || len(all) > 0 && gone.Left > target; first = false {
		batch := all[:min(len(all), 64)] // others come in between
		all = all[len(batch):]
		if err := d.evictSome(ctx, batch, target, &gone); err != nil {
			return gone, err
		}
	}
	if gone.Left > target {
		err = d.evictSegments(ctx, &gone)
	}
	return gone, err
}

// lockEvict has the files of the cache for one process, which makes room or gathers.
func (d *Disk) lockEvict() (unlock func(), err error) {
	fd, err := openAt(d.root, evictFile, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, d.explain("opening "+evictFile, err)
	}
	got, err := tryLock(fd)
	if got && err == nil {
		return func() { _ = unix.Close(fd) }, nil // and with it the lock
	}
	_ = unix.Close(fd)
	if err != nil {
		return nil, d.explain("locking "+evictFile, err)
	}
	return nil, ErrBusy
}

// recount lists all entries, and puts what they take into the ledger. What others add
// meanwhile may be counted twice, but is not missed.
func (d *Disk) recount(ctx context.Context) ([]listed, error) {
	var before int64
	var wasKnown bool
	err := d.holding(ctx, func() error {
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
	return all, d.holding(ctx, func() error {
		if now, isKnown := d.ledger.read(); isKnown && wasKnown {
			total += max(now-before, 0)
		}
		return d.explain("writing "+sizeFile, d.ledger.write(total))
	})
}

// evictSome removes entries, the first first, until the others take no more than the
// target. One that was used or replaced since it was listed stays.
func (d *Disk) evictSome(ctx context.Context, some []listed, target int64, gone *Evicted) error {
	return d.holding(ctx, func() error {
		used, known := d.ledger.read()
		if !known {
			return ErrBusy
		}
		var freed int64
		for i := range some {
			if used-freed <= target {
				break
			}
			if d.remove(pathOf(some[i].key), &some[i].stat) {
				freed += blocks(some[i].stat.Size)
				gone.Entries++
			}
		}
		gone.Bytes += freed
		gone.Left = max(used-freed, 0)
		return d.explain("writing "+sizeFile, d.ledger.write(gone.Left))
	})
}

// holding does something while entries neither come nor go.
func (d *Disk) holding(ctx context.Context, do func() error) error {
	if err := d.ledger.hold(ctx); err != nil {
		return d.lockError(err)
	}
	defer d.ledger.release()
	return do()
}

// An Item is a file of the cache, with what is in it.
type Item struct {
	Key    Key
	Size   int64     // of the file
	OnDisk int64     // what it takes
	Used   time.Time // when it was of use last, to the hour
	Entry  *Entry    // nil where it cannot be read:
	Err    error     // why
}

// Each reads the entries of which the keys are wanted, all where want is nil, those
// first that were of use last, until fn returns an error, which Each returns. It leaves
// everything as it is.
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
		item := Item{Key: l.key, Size: l.stat.Size, OnDisk: blocks(l.stat.Size), Used: l.used()}
		item.Entry, item.Err = d.Peek(ctx, l.key)
		switch {
		case errors.Is(item.Err, ErrMissing) && !errors.Is(item.Err, ErrDamaged) && !errors.Is(item.Err, ErrOther):
			continue // gone since
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := fn(item); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes the entry of a key, if it is damaged.
func (d *Disk) Drop(ctx context.Context, key Key) (dropped bool, err error) {
	if d.isFixed {
		return false, d.fixed
	}
	_, err = d.get(ctx, key, true)
	if !errors.Is(err, ErrDamaged) {
		return false, err
	}
	var stat unix.Stat_t
	err = unix.Fstatat(d.root, pathOf(key), &stat, unix.AT_SYMLINK_NOFOLLOW)
	return errors.Is(err, unix.ENOENT), nil
}
