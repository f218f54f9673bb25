package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultBound is how much a cache on disk takes at most, unless one says otherwise.
const DefaultBound = 256 << 20

// Options say where a cache lies and who may have it.
type Options struct {
	Dir      string   // "" for DefaultDir
	Bound    int64    // bytes on disk; 0 for DefaultBound
	Sharing  Sharing  // who else may read what is kept from now on
	Trust    []uint32 // users, besides root and oneself, whose entries are taken
	Existing bool     // do not make one: where there is none the error is fs.ErrNotExist
}

// Disk is a store of files. See the package's comment for how they lie.
type Disk struct {
	dir       string
	bound     int64
	sharing   Sharing
	trust     trust
	isFixed   bool // it can only be read
	fixed     error
	root      int // directory, so that none that takes its name later is believed
	ledger    *ledger
	workbench workbench
	segments  [2]segmentInUse // large and small
	renewed   atomic.Int64    // when it was looked for others, in nanoseconds since 1970
	aliases   aliases
	loose     loose
	shards    [256]atomic.Bool // that were looked at
	now       func() time.Time
}

// Names inside the directory.
const (
	freshDir   = "new"
	sizeFile   = "size"
	evictFile  = "evict"
	backupFile = "CACHEDIR.TAG"
)

// backupTag tells programs that make backups to leave the directory out.
const backupTag = "Signature: 8a477f597d28d172789f06886806bc55\n# Classes that sonde has woven. All of it can go at any time.\n"

// DefaultDir is the cache of this user.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sonde", "woven"), nil
}

// OpenDisk opens a cache on disk, and makes it where there is none. Where that can only
// be read, only Put fails. An error is a *DirError.
func OpenDisk(o Options) (_ *Disk, err error) {
	if o.Dir == "" {
		if o.Dir, err = DefaultDir(); err != nil {
			return nil, &DirError{Dir: "of this user", Kind: ErrNoCache, Detail: err.Error(), Cause: err}
		}
	}
	if o.Bound == 0 {
		o.Bound = DefaultBound
	}
	d := &Disk{dir: o.Dir, bound: o.Bound, sharing: o.Sharing, trust: newTrust(o.Trust), root: -1, now: time.Now}
	opened := d
	defer func() {
		if err != nil {
			_ = opened.Close() // nothing was written
		}
	}()
	if err := d.openRoot(o.Existing); err != nil {
		return nil, err
	}
	if err := d.prepare(o.Existing); err != nil {
		if !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrDenied) {
			return nil, err
		}
		d.fix(err)
	}
	if !d.isFixed {
		d.sweep()
	}
	return d, nil
}

// openRoot opens the directory, and believes it only then.
func (d *Disk) openRoot(existing bool) error {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(d.dir, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if existing {
			return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "there is no such directory", Cause: fs.ErrNotExist}
		}
		if err := os.MkdirAll(filepath.Dir(d.dir), 0o700); err != nil {
			return d.explain("making it", err)
		}
		if err := os.Mkdir(d.dir, d.sharing.dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
			return d.explain("making it", err)
		}
		fd, err = unix.Open(d.dir, flags, 0)
	}
	if err != nil {
		return d.explain("opening it", err)
	}
	d.root = fd
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return d.explain("looking at it", err)
	}
	if detail := d.trust.doubt(&stat); detail != "" {
		return &DirError{Dir: d.dir, Kind: ErrUntrusted, Detail: detail}
	}
	if stat.Uid != d.trust.self {
		d.fix(&DirError{Dir: d.dir, Kind: ErrReadOnly, Detail: "it is that of " + userName(stat.Uid)})
	}
	return nil
}

// fix notes that the cache can only be read, and why.
func (d *Disk) fix(why error) { d.isFixed, d.fixed = true, why }

// prepare finds what a cache has besides entries, or makes it in a new one.
func (d *Disk) prepare(existing bool) error {
	isNew, err := d.isEmpty()
	switch {
	case err != nil:
		return d.explain("reading it", err)
	case isNew && existing:
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "it is empty", Cause: fs.ErrNotExist}
	}
	if !isNew && unix.Faccessat(d.root, sizeFile, unix.F_OK, 0) != nil {
		return &DirError{Dir: d.dir, Kind: ErrNoCache, Detail: "it holds other things"}
	}
	if d.isFixed {
		return nil
	}
	if err := d.share(d.root, d.sharing.dirMode()); err != nil {
		return d.explain("sharing it", err)
	}
	size, err := openAt(d.root, sizeFile, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return d.explain("opening "+sizeFile, err)
	}
	d.ledger = newLedger(size)
	if isNew {
		if err := d.beginLedger(); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(d.root, freshDir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("making "+freshDir, err)
	}
	tag, err := openAt(d.root, backupFile, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644)
	if err == nil {
		err = errors.Join(writeAll(tag, []byte(backupTag)), unix.Close(tag))
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return d.explain("writing "+backupFile, err)
	}
	return nil
}

// beginLedger notes that a new cache is empty, unless another was faster: nothing
// appears before that is noted.
func (d *Disk) beginLedger() error {
	return d.holding(context.Background(), func() error {
		if _, known := d.ledger.read(); known {
			return nil
		}
		return d.explain("writing "+sizeFile, d.ledger.write(0))
	})
}

func (d *Disk) isEmpty() (bool, error) {
	names, err := d.names(".")
	return len(names) == 0, err
}

// share widens the permissions of what is this user's.
func (d *Disk) share(fd int, mode fs.FileMode) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	missing := uint32(mode.Perm()) &^ modeOf(&stat)
	if missing == 0 || stat.Uid != d.trust.self {
		return nil
	}
	return unix.Fchmod(fd, modeOf(&stat)&0o777|missing)
}

// Dir is where the cache lies.
func (d *Disk) Dir() string { return d.dir }

// Bound is how much it takes at most.
func (d *Disk) Bound() int64 { return d.bound }

// ReadOnly is why nothing can be added; nil where that can be.
func (d *Disk) ReadOnly() error { return d.fixed }

// Close ends the use of the cache.
func (d *Disk) Close() error {
	err := errors.Join(d.closeWorkbench(), d.closeSegments())
	if d.root >= 0 {
		err = errors.Join(err, unix.Close(d.root))
		d.root = -1
	}
	if d.ledger != nil {
		err = errors.Join(err, d.ledger.close())
		d.ledger = nil
	}
	return err
}
