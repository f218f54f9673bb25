package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

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
