package cache

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// rest is how long an entry counts as just used: so long its file is not touched
// again.
const rest = time.Hour

// pathOf is where an entry lies in the cache.
func pathOf(key Key) string {
	var path [2*len(key) + 1]byte
	hex.Encode(path[:], key[:1])
	path[2] = '/'
	hex.Encode(path[3:], key[1:])
	return string(path[:])
}

// Get reads an entry, checks all of it, and counts it as used. One that is damaged
// goes.
func (d *Disk) Get(ctx context.Context, key Key) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e, err := d.fromSegments(ctx, key); e != nil || err != nil {
		d.loose.addNamed(key)
		return e, err
	}
	return d.get(ctx, key, true)
}

// Peek reads the file of an entry, and leaves everything as it is.
func (d *Disk) Peek(ctx context.Context, key Key) (*Entry, error) {
	return d.get(ctx, key, false)
}

// get reads the file of an entry.
func (d *Disk) get(ctx context.Context, key Key, isUse bool) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.look(key[0]); err != nil {
		return nil, err
	}
	path := pathOf(key)
	fd, err := openAt(d.root, path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing
	case err != nil:
		return nil, d.explain("opening "+path, err)
	}
	defer func() { _ = unix.Close(fd) }() // only read
	e, stat, err := d.read(fd, key, path)
	switch {
	case isUse && errors.Is(err, ErrDamaged):
		d.drop(ctx, path, &stat)
	case isUse && err == nil && !d.isFixed:
		d.use(fd, &stat)
		d.loose.add(key)
	}
	if isUse && err == nil {
		d.renew()
	}
	return e, err
}

// read reads an open file, if it is to be believed.
func (d *Disk) read(fd int, key Key, path string) (*Entry, unix.Stat_t, error) {
	var stat unix.Stat_t
	file, err := d.readFile(fd, &stat, path)
	if err != nil {
		return nil, stat, err
	}
	e, err := decode(key, file)
	var bad *EntryError
	if errors.As(err, &bad) {
		bad.Path = filepath.Join(d.dir, path)
	}
	return e, stat, err
}

// readFile reads all of an open file, if it is to be believed.
func (d *Disk) readFile(fd int, stat *unix.Stat_t, path string) ([]byte, error) {
	if err := unix.Fstat(fd, stat); err != nil {
		return nil, d.explain("looking at "+path, err)
	}
	if detail := d.trust.doubt(stat); detail != "" {
		return nil, &DirError{Dir: filepath.Join(d.dir, path), Kind: ErrUntrusted, Detail: detail}
	}
	if modeOf(stat)&unix.S_IFMT != unix.S_IFREG || stat.Size > mostFile {
		return nil, &EntryError{filepath.Join(d.dir, path), ErrDamaged, "it is no file, or far too large"}
	}
	file := make([]byte, stat.Size)
	if err := readAt(fd, file, 0); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, d.explain("reading "+path, err)
	}
	return file, nil
}

// look makes sure, once, that only those who are trusted could have put something
// into the directory of an entry.
func (d *Disk) look(shard byte) error {
	if d.shards[shard].Load() {
		return nil
	}
	name := shardName(shard)
	var stat unix.Stat_t
	err := unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case err != nil:
		return d.explain("looking at "+name, err)
	case modeOf(&stat)&unix.S_IFMT != unix.S_IFDIR:
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: name + " is no directory"}
	}
	if detail := d.trust.doubt(&stat); detail != "" {
		return &DirError{Dir: filepath.Join(d.dir, name), Kind: ErrUntrusted, Detail: detail}
	}
	d.shards[shard].Store(true)
	return nil
}

func shardName(shard byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[shard>>4], digits[shard&15]})
}

// use notes that an entry was of use, and shares it. That this fails harms none.
func (d *Disk) use(fd int, stat *unix.Stat_t) {
	now := d.now()
	if age := now.Sub(time.Unix(stat.Mtim.Unix())); age > rest || age < -rest {
		stamp := unix.NsecToTimeval(now.UnixNano())
		_ = unix.Futimes(fd, []unix.Timeval{stamp, stamp})
	}
	if uint32(d.sharing.fileMode().Perm())&^modeOf(stat) != 0 {
		_ = d.share(fd, d.sharing.fileMode())
	}
}

// drop removes a file that was found damaged, if another has not taken its place. That
// it cannot harms none: it is replaced when the entry is made again.
func (d *Disk) drop(ctx context.Context, path string, stat *unix.Stat_t) {
	if d.isFixed || d.ledger.hold(ctx) != nil {
		return
	}
	defer d.ledger.release()
	used, known := d.ledger.read()
	if d.remove(path, stat) && known {
		_ = d.ledger.write(used - blocks(stat.Size))
	}
}

// remove removes a file that is still the one that was seen, unused since. The ledger
// is held.
func (d *Disk) remove(path string, seen *unix.Stat_t) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(d.root, path, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || stat.Ino != seen.Ino || stat.Mtim != seen.Mtim || stat.Size != seen.Size {
		return false
	}
	return unix.Unlinkat(d.root, path, 0) == nil
}
