package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultBound is the default limit for the disk space of a cache.
const DefaultBound = 256 << 20

// Options say where a cache is and who may use it.
type Options struct {
	Dir      string   // "" for DefaultDir
	Bound    int64    // limit in bytes on disk; 0 for DefaultBound
	Sharing  Sharing  // who else may read entries that are added from now on
	Trust    []uint32 // users, besides root and the current one, whose entries are accepted
	Existing bool     // do not create a cache: where there is none the error is fs.ErrNotExist
}

// Disk is a store with one file for each entry. The package comment describes its layout.
type Disk struct {
	dir      string
	bound    int64
	sharing  Sharing
	trust    trust
	root     *os.File // kept open, so that no directory that takes its name later is used
	readOnly error    // why nothing can be written; nil where it can
	ledger   *ledger  // nil where the cache is read-only

	trusted [256]atomic.Bool // directories of entries whose owner and mode were checked
	now     func() time.Time
}

// Names inside the directory.
const (
	tmpDir    = "tmp"
	sizeFile  = "size"
	evictFile = "evict"
	tagFile   = "CACHEDIR.TAG"
)

// cacheTag makes backup programs skip the directory.
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n# Classes woven by sonde. The directory can be removed at any time.\n"

// DefaultDir returns the cache directory of the current user.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sonde", "woven"), nil
}

// OpenDisk opens a cache and creates it where there is none. A cache that can only be read
// is opened, too; then Put fails. Errors are *DirError.
func OpenDisk(o Options) (_ *Disk, err error) {
	if o.Dir == "" {
		if o.Dir, err = DefaultDir(); err != nil {
			return nil, &DirError{Dir: "of this user", Kind: ErrNoCache, Detail: err.Error(), Cause: err}
		}
	}
	if o.Bound == 0 {
		o.Bound = DefaultBound
	}
	// Root is trusted: it can change every file anyway.
	d := &Disk{dir: o.Dir, bound: o.Bound, sharing: o.Sharing, trust: trust{uint32(os.Geteuid()), append([]uint32{0}, o.Trust...)}, now: time.Now}
	if err = d.openRoot(o.Existing); err == nil {
		err = d.prepare(o.Existing)
		if errors.Is(err, ErrReadOnly) || errors.Is(err, ErrDenied) {
			d.readOnly, err = err, nil
		}
	}
	if err != nil {
		_ = d.Close() // nothing was written
		return nil, err
	}
	if d.readOnly == nil {
		d.sweep()
	}
	return d, nil
}

// openRoot opens the directory and checks the owner and mode of what it opened.
func (d *Disk) openRoot(existing bool) (err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(d.dir, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if existing {
			return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "there is no such directory", Cause: fs.ErrNotExist}
		}
		if err := os.MkdirAll(filepath.Dir(d.dir), 0o700); err != nil {
			return d.explain("creating it", err)
		}
		if err := os.Mkdir(d.dir, d.sharing.dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
			return d.explain("creating it", err)
		}
		fd, err = unix.Open(d.dir, flags, 0)
	}
	if err != nil {
		return d.explain("opening it", err)
	}
	d.root = os.NewFile(uintptr(fd), d.dir)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return d.explain("reading its mode", err)
	}
	if reason := d.trust.refuses(&stat); reason != "" {
		return &DirError{Dir: d.dir, Kind: ErrUntrusted, Detail: reason}
	}
	if stat.Uid != d.trust.self {
		d.readOnly = &DirError{Dir: d.dir, Kind: ErrReadOnly, Detail: "it belongs to " + userName(stat.Uid)}
	}
	return nil
}

// prepare opens the files that a cache has besides entries, and creates them in a new one.
func (d *Disk) prepare(existing bool) error {
	names, err := d.names(".")
	isNew := len(names) == 0
	switch {
	case err != nil:
		return d.explain("reading it", err)
	case isNew && existing:
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "it is empty", Cause: fs.ErrNotExist}
	case !isNew && unix.Faccessat(d.fd(), sizeFile, unix.F_OK, 0) != nil:
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "it contains other files"}
	}
	if d.readOnly != nil {
		return nil //nolint:nilerr // a cache that cannot be written can still be read
	}
	if err := d.share(d.root, d.sharing.dirMode()); err != nil {
		return d.explain("sharing it", err)
	}
	size, err := d.open(sizeFile, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return d.explain("opening "+sizeFile, err)
	}
	d.ledger = &ledger{size, make(chan struct{}, 1)}
	if isNew {
		if err := d.initLedger(); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(d.fd(), tmpDir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("creating "+tmpDir, err)
	}
	tag, err := d.open(tagFile, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644)
	if err == nil {
		_, err = tag.WriteString(cacheTag)
		err = errors.Join(err, tag.Close())
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("writing "+tagFile, err)
	}
	return nil
}

// Dir returns the directory of the cache.
func (d *Disk) Dir() string { return d.dir }

// Bound returns the limit for its disk space.
func (d *Disk) Bound() int64 { return d.bound }

// ReadOnly returns why nothing can be written, or nil.
func (d *Disk) ReadOnly() error { return d.readOnly }

// Close closes the files of the cache.
func (d *Disk) Close() (err error) {
	if d.root != nil {
		err = d.root.Close()
		d.root = nil
	}
	if d.ledger != nil {
		err = errors.Join(err, d.ledger.file.Close())
		d.ledger = nil
	}
	return err
}

// pathOf returns the path of an entry inside the cache.
func pathOf(key Key) string {
	name := key.String()
	return name[:2] + "/" + name[2:]
}

// Get returns an entry after checking all of it, and marks it as used. A damaged entry is
// removed.
func (d *Disk) Get(ctx context.Context, key Key) (*Entry, error) { return d.get(ctx, key, true) }

// get reads an entry. Without use it changes nothing on disk.
func (d *Disk) get(ctx context.Context, key Key, use bool) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path := pathOf(key)
	if err := d.checkShard(key[0]); err != nil {
		return nil, err
	}
	file, err := d.open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing
	case err != nil:
		return nil, d.explain("opening "+path, err)
	}
	defer func() { _ = file.Close() }() // only read
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, d.explain("reading the mode of "+path, err)
	}
	entry, err := d.read(file, &stat, key)
	switch {
	case !use || d.readOnly != nil:
	case err == nil:
		d.touch(file, &stat)
	case errors.Is(err, ErrDamaged):
		d.drop(ctx, path, &stat)
	}
	return entry, err
}

// read reads an open file if its owner and mode can be trusted.
func (d *Disk) read(file *os.File, stat *unix.Stat_t, key Key) (*Entry, error) {
	path := filepath.Join(d.dir, pathOf(key))
	if reason := d.trust.refuses(stat); reason != "" {
		return nil, &DirError{Dir: path, Kind: ErrUntrusted, Detail: reason}
	}
	if modeOf(stat)&unix.S_IFMT != unix.S_IFREG || stat.Size > maxFile {
		return nil, &EntryError{path, ErrDamaged, "it is not a regular file, or far too large"}
	}
	content := make([]byte, stat.Size)
	if _, err := file.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, d.explain("reading "+pathOf(key), err)
	}
	entry, err := decode(key, content)
	var bad *EntryError
	if errors.As(err, &bad) {
		bad.Path = path
	}
	return entry, err
}

// checkShard checks once that only trusted users can write to the directory of an entry.
func (d *Disk) checkShard(shard byte) error {
	if d.trusted[shard].Load() {
		return nil
	}
	name := shardName(shard)
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case err != nil:
		return d.explain("reading the mode of "+name, err)
	case modeOf(&stat)&unix.S_IFMT != unix.S_IFDIR:
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: name + " is not a directory"}
	}
	if reason := d.trust.refuses(&stat); reason != "" {
		return &DirError{Dir: filepath.Join(d.dir, name), Kind: ErrUntrusted, Detail: reason}
	}
	d.trusted[shard].Store(true)
	return nil
}

func shardName(shard byte) string { return Key{shard}.String()[:2] }

// useInterval is how often the use of an entry is recorded on disk.
const useInterval = time.Hour

// touch records the use of an entry and shares it. Failures are ignored.
func (d *Disk) touch(file *os.File, stat *unix.Stat_t) {
	now := d.now()
	if age := now.Sub(time.Unix(stat.Mtim.Unix())); age > useInterval || age < -useInterval {
		stamp := unix.NsecToTimeval(now.UnixNano())
		_ = unix.Futimes(int(file.Fd()), []unix.Timeval{stamp, stamp})
	}
	_ = d.share(file, d.sharing.fileMode())
}

// Put adds an entry. When it returns nil, every process can find the entry until space is
// freed. An entry that exists already is kept.
func (d *Disk) Put(ctx context.Context, key Key, entry *Entry) error {
	if d.readOnly != nil {
		return d.readOnly
	}
	if _, err := d.get(ctx, key, false); err == nil {
		return nil
	}
	content, err := encode(key, entry)
	if err != nil {
		return err
	}
	if sizeOnDisk(int64(len(content))) > d.bound/4 {
		return ErrTooLarge
	}
	err = d.put(ctx, key, content)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody removed directories of the cache.
		d.trusted[key[0]].Store(false)
		err = d.put(ctx, key, content)
	}
	return err
}

func (d *Disk) put(ctx context.Context, key Key, content []byte) error {
	if err := d.createShard(key[0]); err != nil {
		return err
	}
	temporary, err := d.writeTemporary(content)
	if err != nil {
		return d.explain("writing to "+tmpDir, err)
	}
	size := sizeOnDisk(int64(len(content)))
	used, err := d.publish(ctx, temporary, pathOf(key), size)
	if errors.Is(err, errNoSpace) {
		if _, err = d.evict(ctx, d.lowMark()); err == nil {
			used, err = d.publish(ctx, temporary, pathOf(key), size)
		}
		if errors.Is(err, errNoSpace) {
			err = ErrBusy
		}
	}
	if err != nil {
		d.unlink(temporary)
		return err
	}
	if used > d.highMark() {
		_, _ = d.evict(ctx, d.lowMark()) // the entry is stored either way
	}
	return nil
}

// createShard creates the directory of an entry.
func (d *Disk) createShard(shard byte) error {
	err := d.checkShard(shard)
	if !errors.Is(err, ErrMissing) {
		return err
	}
	name := shardName(shard)
	if err := unix.Mkdirat(d.fd(), name, uint32(d.sharing.dirMode())); err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("creating "+name, err)
	}
	dir, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return d.explain("opening "+name, err)
	}
	err = errors.Join(d.share(dir, d.sharing.dirMode()), dir.Close()) // regardless of the umask
	if err != nil {
		return d.explain("sharing "+name, err)
	}
	return d.checkShard(shard)
}

// writeTemporary writes a new file in tmp and returns its path.
func (d *Disk) writeTemporary(content []byte) (path string, err error) {
	path = tmpDir + "/" + rand.Text()
	file, err := d.open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err == nil {
		err = d.share(file, d.sharing.fileMode()) // regardless of the umask
	}
	if err = errors.Join(err, file.Close()); err != nil {
		d.unlink(path)
	}
	return path, err
}

// errNoSpace says that entries must be removed first.
var errNoSpace = errors.New("there is no space for another entry")

// publish renames a temporary file to an entry and returns the space that all entries
// then use.
func (d *Disk) publish(ctx context.Context, temporary, path string, size int64) (used int64, err error) {
	err = d.locked(ctx, func() error {
		var known bool
		used, known = d.ledger.read()
		var replaced unix.Stat_t
		if unix.Fstatat(d.fd(), path, &replaced, unix.AT_SYMLINK_NOFOLLOW) != nil {
			replaced.Size = 0
		}
		if !known || used-sizeOnDisk(replaced.Size)+size > d.bound {
			return errNoSpace
		}
		// The size first: if the process is killed in between, it is too large, not too small.
		if err := d.ledger.write(used + size); err != nil {
			return d.explain("writing "+sizeFile, err)
		}
		// The entry counts as used now, however long it waited for the lock: otherwise it
		// could outlive newer ones in an eviction that is under way.
		stamp := unix.NsecToTimespec(time.Now().UnixNano())
		_ = unix.UtimesNanoAt(d.fd(), temporary, []unix.Timespec{stamp, stamp}, 0)
		if err := unix.Renameat(d.fd(), temporary, d.fd(), path); err != nil {
			_ = d.ledger.write(used)
			return d.explain("renaming to "+path, err)
		}
		used += size
		if replaced.Size > 0 {
			used -= sizeOnDisk(replaced.Size)
			_ = d.ledger.write(used) // otherwise it stays too large
		}
		return nil
	})
	return used, err
}

// maxUnfinished is the age from which a temporary file is taken to be abandoned.
const maxUnfinished = time.Hour

// sweep removes temporary files that killed processes left. Failures are ignored.
func (d *Disk) sweep() {
	names, _ := d.names(tmpDir)
	for _, name := range names {
		var stat unix.Stat_t
		path := tmpDir + "/" + name
		err := unix.Fstatat(d.fd(), path, &stat, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && d.now().Sub(time.Unix(stat.Mtim.Unix())) > maxUnfinished {
			d.unlink(path)
		}
	}
}

// Unfinished returns the number of temporary files: files being written, and files that
// killed processes left.
func (d *Disk) Unfinished() int {
	names, _ := d.names(tmpDir)
	return len(names)
}

// share adds the permissions in mode to a file of the current user.
func (d *Disk) share(file *os.File, mode fs.FileMode) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return err
	}
	missing := uint32(mode.Perm()) &^ modeOf(&stat)
	if missing == 0 || stat.Uid != d.trust.self {
		return nil
	}
	return unix.Fchmod(int(file.Fd()), modeOf(&stat)&0o777|missing)
}

func (d *Disk) fd() int { return int(d.root.Fd()) }

// open opens a file inside the cache. It does not follow a symbolic link.
func (d *Disk) open(path string, flags int, mode fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.fd(), path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode.Perm()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		default:
			return os.NewFile(uintptr(fd), path), nil
		}
	}
}

func (d *Disk) unlink(path string) { _ = unix.Unlinkat(d.fd(), path, 0) }

// names returns the names in a directory of the cache, in no order.
func (d *Disk) names(dir string) ([]string, error) {
	file, err := d.open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return file.Readdirnames(-1)
}

// sizeOnDisk returns the space that a file takes on most file systems.
func sizeOnDisk(size int64) int64 {
	const block = 4096
	return (size + block - 1) &^ (block - 1)
}
