package cache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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

// A workbench is the directory in which a process writes what is not an entry yet. It is
// locked as long as the process lives: one that is not belongs to nobody any more.
type workbench struct {
	mu   sync.Mutex
	fd   int // 0 until it is needed
	name string
}

// openWorkbench gives the directory of this process, and makes it first.
func (d *Disk) openWorkbench() (int, error) {
	b := &d.workbench
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.fd == 0 {
		name := freshDir + "/" + rand.Text()
		if err := unix.Mkdirat(d.root, name, 0o700); err != nil {
			return 0, err
		}
		fd, isMine, err := d.claim(name)
		if err != nil {
			return 0, err
		}
		// Another may have cleared it away before it was locked.
		if isMine {
			b.fd, b.name = fd, name
		}
	}
	return b.fd, nil
}

// claim locks a directory that was just made; false where another was faster.
func (d *Disk) claim(name string) (fd int, isMine bool, err error) {
	fd, err = openAt(d.root, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	isMine, err = tryLock(fd)
	if err == nil && isMine {
		var stat unix.Stat_t
		isMine = unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	if err != nil || !isMine {
		_ = unix.Close(fd) // only read
	}
	return fd, isMine, err
}

// closeWorkbench leaves the directory, and removes it if nothing is in it.
func (d *Disk) closeWorkbench() error {
	b := &d.workbench
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd == 0 {
		return nil
	}
	_ = unix.Unlinkat(d.root, b.name, unix.AT_REMOVEDIR) // else another clears it away
	err := unix.Close(b.fd)
	b.fd = 0
	return err
}

// writeFresh writes a file that is not an entry yet.
func (d *Disk) writeFresh(file []byte) (freshFile, error) {
	f, fd, err := d.createFresh()
	if err != nil {
		return f, err
	}
	if err = errors.Join(writeAll(fd, file), unix.Close(fd)); err != nil {
		f.remove()
	}
	return f, err
}

// createFresh makes a file that is not an entry yet, and is open to be written.
func (d *Disk) createFresh() (f freshFile, fd int, err error) {
	f, fd, err = d.createFreshPrivate()
	if err != nil || d.sharing == Private {
		return f, fd, err
	}
	if err = unix.Fchmod(fd, uint32(d.sharing.fileMode().Perm())); err != nil { // whatever the umask
		_ = unix.Close(fd) // nothing was written
		f.remove()
	}
	return f, fd, err
}

// createFreshPrivate is createFresh of a file that is never shared.
func (d *Disk) createFreshPrivate() (f freshFile, fd int, err error) {
	dir, err := d.openWorkbench()
	if err != nil {
		return freshFile{}, -1, err
	}
	f = freshFile{dir, rand.Text()}
	fd, err = openAt(dir, f.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, Private.fileMode())
	return f, fd, err
}

// freshFile is a file that is not an entry yet.
type freshFile struct {
	dir  int
	name string
}

func (f freshFile) remove() { _ = unix.Unlinkat(f.dir, f.name, 0) }

// sweep removes what processes left unfinished that are no more. That it cannot harms
// none.
func (d *Disk) sweep() {
	all, _ := d.names(freshDir)
	for _, name := range all {
		name = freshDir + "/" + name
		fd, err := openAt(d.root, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		if got, err := tryLock(fd); got && err == nil {
			files, _ := d.names(name)
			for _, file := range files {
				_ = unix.Unlinkat(fd, file, 0)
			}
			_ = unix.Unlinkat(d.root, name, unix.AT_REMOVEDIR)
		}
		_ = unix.Close(fd) // only read
	}
}

// Unfinished is how many files are being written, or were when their process ended.
func (d *Disk) Unfinished() (n int) {
	all, _ := d.names(freshDir)
	for _, name := range all {
		files, _ := d.names(freshDir + "/" + name)
		n += len(files)
	}
	return n
}

// What can be the matter with a store, for errors.Is.
var (
	ErrMissing   = errors.New("there is no such entry")
	ErrDamaged   = errors.New("the entry is damaged")
	ErrOther     = errors.New("the entry has a format of another version of Sonde")
	ErrBusy      = errors.New("others are at work in the cache")
	ErrTooLarge  = errors.New("the entry is too large for the cache")
	ErrFull      = errors.New("the disk is full")
	ErrReadOnly  = errors.New("it can only be read")
	ErrDenied    = errors.New("its permissions do not allow it")
	ErrUntrusted = errors.New("others could have put code there")
	ErrNoCache   = errors.New("it is no cache of Sonde's")
	ErrBroken    = errors.New("its file system fails")
)

// An EntryError is an entry that cannot be had. It is ErrMissing, as it has to be made
// again, and ErrDamaged or ErrOther besides.
type EntryError struct {
	Path   string
	Kind   error
	Detail string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Path, e.Kind, e.Detail) }

// Is makes it ErrMissing.
func (e *EntryError) Is(target error) bool { return target == ErrMissing }

func (e *EntryError) Unwrap() error { return e.Kind }

// A DirError says what is the matter with a cache as a whole, and what to do.
type DirError struct {
	Dir    string
	Kind   error  // ErrFull, ErrReadOnly, ErrDenied, ErrUntrusted, ErrNoCache or ErrBroken
	Detail string // what was seen
	Cause  error  // of the system; may be nil
}

func (e *DirError) Error() string {
	text := fmt.Sprintf("cache %s: %v", e.Dir, e.Kind)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text + ": " + remedies[e.Kind]
}

func (e *DirError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

var remedies = map[error]string{
	ErrFull:      "make room there, or name another directory with --cache",
	ErrReadOnly:  "name a directory that can be written to with --cache to have more kept",
	ErrDenied:    "name a directory of your own with --cache",
	ErrUntrusted: "name a directory that only you can write to with --cache, or trust its owner with --cache-trust",
	ErrNoCache:   "name a new or empty directory, or one that Sonde made, with --cache",
	ErrBroken:    "look after the disk, or name another directory with --cache",
}

// explain says what an error of the system means for the cache.
func (d *Disk) explain(doing string, err error) error {
	return explainIn(d.dir, doing, err)
}

func explainIn(dir, doing string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrBroken
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		kind = ErrFull
	case errors.Is(err, unix.ELOOP): // a link, where Sonde makes none
		kind = ErrUntrusted
	case errors.Is(err, unix.EROFS):
		kind = ErrReadOnly
	case errors.Is(err, fs.ErrPermission):
		kind = ErrDenied
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
		kind = ErrNoCache
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &DirError{Dir: dir, Kind: kind, Detail: doing + ": " + err.Error(), Cause: err}
}
