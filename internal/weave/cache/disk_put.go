package cache

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Put keeps an entry. When it returns without an error the entry is there, whole, for
// every process, until room is made of those that were not used for longest.
func (d *Disk) Put(ctx context.Context, key Key, entry *Entry) error {
	if d.isFixed {
		return d.fixed
	}
	if _, err := d.Peek(ctx, key); err == nil {
		return nil
	}
	file, err := encode(key, entry)
	if err != nil {
		return err
	}
	if blocks(int64(len(file))) > d.bound/4 {
		return ErrTooLarge
	}
	err = d.put(ctx, key, file)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody has removed directories of the cache.
		d.shards[key[0]].Store(false)
		err = d.put(ctx, key, file)
	}
	return err
}

func (d *Disk) put(ctx context.Context, key Key, file []byte) error {
	if err := d.makeShard(key[0]); err != nil {
		return err
	}
	fresh, err := d.writeFresh(file)
	if err != nil {
		return d.explain("writing", err)
	}
	room := blocks(int64(len(file)))
	used, err := d.publish(ctx, pathOf(key), fresh, room)
	if errors.Is(err, errNoRoom) {
		if _, err = d.evict(ctx, d.low()); err == nil {
			used, err = d.publish(ctx, pathOf(key), fresh, room)
		}
		if errors.Is(err, errNoRoom) {
			err = ErrBusy
		}
	}
	if err != nil {
		fresh.remove()
		return err
	}
	d.loose.add(key)
	if used > d.high() {
		// It is kept, whatever becomes of this.
		_, _ = d.evict(ctx, d.low())
	}
	return nil
}

// makeShard makes the directory of an entry.
func (d *Disk) makeShard(shard byte) error {
	err := d.look(shard)
	if !errors.Is(err, ErrMissing) {
		return err
	}
	name := shardName(shard)
	if err := unix.Mkdirat(d.root, name, uint32(d.sharing.dirMode())); err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("making "+name, err)
	}
	fd, err := openAt(d.root, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return d.explain("opening "+name, err)
	}
	err = errors.Join(d.share(fd, d.sharing.dirMode()), unix.Close(fd)) // whatever the umask
	if err != nil {
		return d.explain("sharing "+name, err)
	}
	return d.look(shard)
}

// errNoRoom says that something has to go first.
var errNoRoom = errors.New("there is no room for another entry")

// publish has a file become an entry, or the segment, in one step for all who look. It
// says what all take then.
func (d *Disk) publish(ctx context.Context, path string, fresh freshFile, room int64) (used int64, err error) {
	if err := d.ledger.hold(ctx); err != nil {
		return 0, d.lockError(err)
	}
	defer d.ledger.release()
	used, known := d.ledger.read()
	var replaced unix.Stat_t
	if unix.Fstatat(d.root, path, &replaced, unix.AT_SYMLINK_NOFOLLOW) != nil {
		replaced.Size = 0
	}
	if !known || used-blocks(replaced.Size)+room > d.bound {
		return 0, errNoRoom
	}
	// The sum first: killed in between, it is too large, not too small.
	if err := d.ledger.write(used + room); err != nil {
		return 0, d.explain("writing "+sizeFile, err)
	}
	if err := unix.Renameat(fresh.dir, fresh.name, d.root, path); err != nil {
		_ = d.ledger.write(used)
		return 0, d.explain("renaming to "+path, err)
	}
	used += room
	if replaced.Size > 0 {
		used -= blocks(replaced.Size)
		_ = d.ledger.write(used) // else it is too large
	}
	return used, nil
}

// lockError says why a lock could not be had.
func (d *Disk) lockError(err error) error {
	if errors.Is(err, ErrBusy) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return d.explain("locking "+sizeFile, err)
}
