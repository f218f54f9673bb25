package cache

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A segment is a file with many entries behind each other: one that is in it is had by a
// single read, without its own file being opened, looked at and closed. It is made of
// entries, and can go at any time; who is not sure of anything in it takes the entry's own
// file. So nothing of it but the entries is checksummed: what leads to a wrong place leads
// to an entry of another key, or to none.
//
//	        entries, as their files are
//	56 each rows, by name: 32 name (a key, or an alias), 8 of the key, 8 offset, 4 length,
//	        4 the hour since 1970 of the last use, or 0
//	257×4   for each first byte of names, how many rows are before it; then how many there are
//	8       magic, with the version of the format
//
// A segment never changes but for the hours.
type segment struct {
	fd      int
	index   int64 // where rows begin
	fan     [257]uint32
	shelves [256]atomic.Pointer[shelf]
	stat    unix.Stat_t
}

// A shelf is the rows of names with the same first byte. They are read when the first of
// them is wanted: who wants few entries shall not pay for all.
type shelf struct {
	rows   []byte
	isUsed []atomic.Bool // which were of use to this process
	isNew  atomic.Bool   // and some since that was written
}

const (
	segmentMagic = "sonde\x00\xc6\x01"
	rowSize      = 56
	hourAt       = rowSize - 4
	tailSize     = 257*4 + len(segmentMagic)
)

// readSegment reads of a segment what leads to the rest; false where it is none.
func readSegment(fd int, stat *unix.Stat_t) (*segment, bool) {
	var tail [tailSize]byte
	at := stat.Size - int64(len(tail))
	if at < 0 || readAt(fd, tail[:], at) != nil || string(tail[257*4:]) != segmentMagic {
		return nil, false
	}
	s := &segment{fd: fd, stat: *stat}
	for i := range s.fan {
		s.fan[i] = binary.LittleEndian.Uint32(tail[4*i:])
		if i > 0 && s.fan[i] < s.fan[i-1] {
			return nil, false
		}
	}
	s.index = at - rowSize*int64(s.fan[256])
	return s, s.fan[0] == 0 && s.index >= 0
}

// count is how many rows there are.
func (s *segment) count() int { return int(s.fan[256]) }

// shelf gives the rows of a first byte; nil where they cannot be read.
func (s *segment) shelf(first byte) *shelf {
	if known := s.shelves[first].Load(); known != nil {
		return known
	}
	from, to := s.fan[first], s.fan[int(first)+1]
	read := &shelf{rows: make([]byte, rowSize*(to-from)), isUsed: make([]atomic.Bool, to-from)}
	if readAt(s.fd, read.rows, s.index+rowSize*int64(from)) != nil {
		return nil
	}
	s.shelves[first].CompareAndSwap(nil, read) // another may have been faster
	return s.shelves[first].Load()
}

// row finds a name among those with its first byte.
func (h *shelf) row(name *Key) (n int, ok bool) {
	n = sort.Search(len(h.isUsed), func(i int) bool { return bytes.Compare(h.name(i), name[:]) >= 0 })
	return n, n < len(h.isUsed) && bytes.Equal(h.name(n), name[:])
}

func (h *shelf) name(n int) []byte { return h.rows[rowSize*n:][:len(Key{})] }

// start is how the key of the entry of a row begins.
func (h *shelf) start(n int) keyStart { return keyStart(h.rows[rowSize*n+len(Key{}):]) }

// A keyStart is enough of a key to tell entries of one segment apart.
type keyStart [8]byte

func (k *Key) start() keyStart { return keyStart(k[:]) }

// place is where the entry of a row lies.
func (h *shelf) place(n int) (offset int64, length uint32) {
	row := h.rows[rowSize*n : rowSize*(n+1)]
	return int64(binary.LittleEndian.Uint64(row[40:])), binary.LittleEndian.Uint32(row[48:])
}

// file reads the entry of a row, unchecked; nil where that cannot be.
func (s *segment) file(h *shelf, n int) []byte {
	offset, length := h.place(n)
	if offset < 0 || int64(length) > mostFile || offset > s.index-int64(length) {
		return nil
	}
	file := make([]byte, length)
	if readAt(s.fd, file, offset) != nil {
		return nil
	}
	return file
}

// hour is when the entry of a row was of use last, as the file has it.
func (h *shelf) hour(n int) uint32 { return binary.LittleEndian.Uint32(h.rows[rowSize*n+hourAt:]) }

// use notes that an entry is of use.
func (h *shelf) use(n int) {
	if !h.isUsed[n].Load() {
		h.isUsed[n].Store(true)
		h.isNew.Store(true)
	}
}

// useAsOf notes that entries are of use that were so in a segment before this one, and
// that was not written there.
func (s *segment) useAsOf(old *segment) {
	for first := range old.shelves {
		before := old.shelves[first].Load()
		if before == nil || !before.isNew.Load() {
			continue
		}
		h := s.shelf(byte(first))
		for n := range before.isUsed {
			if h == nil || !before.isUsed[n].Load() {
				continue
			}
			name := Key(before.name(n))
			if here, ok := h.row(&name); ok {
				h.use(here)
			}
		}
	}
}

// writeNotes has other processes see what was of use until this hour. All else is written
// as it is there already, so nobody reads anything that is half written.
func (s *segment) writeNotes(hour uint32) {
	for first := range s.shelves {
		h := s.shelves[first].Load()
		if h == nil || !h.isNew.Swap(false) {
			continue
		}
		rows := bytes.Clone(h.rows)
		for i := range h.isUsed {
			if h.isUsed[i].Load() {
				binary.LittleEndian.PutUint32(rows[rowSize*i+hourAt:], hour)
			}
		}
		// That this fails harms none.
		_, _ = unix.Pwrite(s.fd, rows, s.index+rowSize*int64(s.fan[first]))
	}
}

// each goes through all rows.
func (s *segment) each(fn func(h *shelf, n int)) {
	for first := range s.shelves {
		if h := s.shelf(byte(first)); h != nil {
			for n := range h.isUsed {
				fn(h, n)
			}
		}
	}
}

// hours are the last uses of entries, by either name.
func (s *segment) hours() map[keyStart]uint32 {
	hours := make(map[keyStart]uint32)
	s.each(func(h *shelf, n int) { hours[h.start(n)] = max(hours[h.start(n)], h.hour(n)) })
	return hours
}

// hourOf is the hour of a moment, as rows have it.
func hourOf(at time.Time) uint32 { return uint32(at.Unix() / int64(rest/time.Second)) }

func hourTime(hour uint32) time.Time { return time.Unix(int64(hour)*int64(rest/time.Second), 0) }

// There are two segments: a large one, and a small one of what came after that was made.
// So what is new is not written together with all that is old.
const (
	large = iota
	small
)

var segmentFiles = [...]string{large: "segment", small: "segment-new"}

// segmentInUse is a segment that a process uses, if any.
type segmentInUse struct {
	once  sync.Once
	inUse atomic.Pointer[segment] // nil where there is none, or none that is of use
	err   error                   // of the first

	mu     sync.Mutex
	opened []*segment // the newest last; closed with the disk: others may be reading them
	closed bool
}

// segment gives one of the cache, or nil. The error says that nothing of the cache is to
// be believed.
func (d *Disk) segment(which int) (*segment, error) {
	g := &d.segments[which]
	g.once.Do(func() {
		var first *segment
		if first, g.err = d.openSegment(which); first != nil {
			g.take(first)
		}
	})
	return g.inUse.Load(), g.err
}

// take has a segment used from now on.
func (g *segmentInUse) take(s *segment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.opened) == mostOpened {
		_ = unix.Close(s.fd) // only read
		return
	}
	if old := g.inUse.Load(); old != nil {
		s.useAsOf(old)
	}
	g.opened = append(g.opened, s)
	g.inUse.Store(s)
}

// mostOpened is how often a process takes another segment that was gathered since.
const mostOpened = 64

// isNewest is whether a file is what was opened last.
func (g *segmentInUse) isNewest(stat *unix.Stat_t) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.opened) == 0 {
		return false
	}
	newest := &g.opened[len(g.opened)-1].stat
	return newest.Ino == stat.Ino && newest.Size == stat.Size
}

// renew has segments used that were gathered since the last look, by this process or
// another. It is asked for where an entry was not in those that are in use, and looks
// now and then.
func (d *Disk) renew() {
	const seldom = time.Second
	now, last := d.now().UnixNano(), d.renewed.Load()
	if now-last < int64(seldom) || !d.renewed.CompareAndSwap(last, now) {
		return
	}
	d.renewNow()
}

func (d *Disk) renewNow() {
	for which, name := range segmentFiles {
		if _, err := d.segment(which); err != nil { // the first is opened there, once
			continue
		}
		var stat unix.Stat_t
		g := &d.segments[which]
		if unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil || g.isNewest(&stat) {
			continue
		}
		if s, _ := d.openSegment(which); s != nil { // what is the matter with it is told to who opens the cache
			g.take(s)
		}
	}
}

// openSegment opens what is there now; nil where that is none.
func (d *Disk) openSegment(which int) (*segment, error) {
	flags := unix.O_RDWR // to note what is of use
	if d.isFixed {
		flags = unix.O_RDONLY
	}
	name := segmentFiles[which]
	fd, err := openAt(d.root, name, flags|unix.O_NONBLOCK, 0)
	if err == nil {
		s, err := d.believe(fd, name)
		if s == nil {
			_ = unix.Close(fd) // only read
		}
		return s, err
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, d.explain("opening "+name, err)
	}
	return nil, nil // there is none, or it is not for this user: entries have files
}

// believe takes an open segment, if only those who are trusted can have written it.
func (d *Disk) believe(fd int, name string) (*segment, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, d.explain("looking at "+name, err)
	}
	if modeOf(&stat)&unix.S_IFMT != unix.S_IFREG {
		return nil, nil
	}
	if detail := d.trust.doubt(&stat); detail != "" {
		return nil, &DirError{Dir: filepath.Join(d.dir, name), Kind: ErrUntrusted, Detail: detail}
	}
	// Entries that are to be shared are so one by one, as they are used.
	if !d.isFixed && uint32(d.sharing.fileMode().Perm())&^modeOf(&stat) != 0 {
		return nil, nil
	}
	s, ok := readSegment(fd, &stat)
	if !ok {
		d.dropSegment(context.Background(), name, &stat)
		return nil, nil
	}
	return s, nil
}

// fromSegments finds an entry in a segment; nil where it is in none.
func (d *Disk) fromSegments(ctx context.Context, key Key) (*Entry, error) {
	return d.search(ctx, &key, func(file []byte, _ keyStart) (*Entry, error) { return decode(key, file) })
}

// byAlias finds an entry in a segment by its alias; nil where it is in none.
func (d *Disk) byAlias(ctx context.Context, alias Key, sought *Sought) *Entry {
	if ctx.Err() != nil {
		return nil
	}
	e, _ := d.search(ctx, &alias, func(file []byte, start keyStart) (*Entry, error) {
		key, ok := keyIn(file)
		if !ok || key.start() != start {
			return nil, ErrDamaged
		}
		e, err := decode(key, file)
		if err == nil && (e.Original.Size != len(sought.Class) || e.Engine != sought.Recipe.engine) {
			err = ErrDamaged
		}
		return e, err
	})
	return e // what is the matter is told by who looks for the file
}

// search finds the entry of a name. A segment in which anything is wrong goes.
func (d *Disk) search(ctx context.Context, name *Key, read func([]byte, keyStart) (*Entry, error)) (*Entry, error) {
	for which := range d.segments {
		s, err := d.segment(which)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		h := s.shelf(name[0])
		if h == nil {
			d.forget(ctx, which, s)
			continue
		}
		n, ok := h.row(name)
		if !ok {
			continue
		}
		e, err := read(s.file(h, n), h.start(n))
		if err != nil {
			d.forget(ctx, which, s)
			continue
		}
		if !d.isFixed {
			h.use(n)
		}
		return e, nil
	}
	return nil, nil
}

// forget has a segment used no more, by nobody.
func (d *Disk) forget(ctx context.Context, which int, s *segment) {
	if d.segments[which].inUse.CompareAndSwap(s, nil) {
		d.dropSegment(ctx, segmentFiles[which], &s.stat)
	}
}

// closeSegments ends the use of the segments.
func (d *Disk) closeSegments() (err error) {
	for which := range d.segments {
		g := &d.segments[which]
		g.once.Do(func() {}) // none is opened any more
		g.mu.Lock()
		defer g.mu.Unlock()
		g.closed = true
		if s := g.inUse.Swap(nil); s != nil && !d.isFixed {
			s.writeNotes(hourOf(d.now()))
		}
		for _, s := range g.opened {
			err = errors.Join(err, unix.Close(s.fd))
		}
		g.opened = nil
	}
	return err
}

// A segmentWriter writes a segment.
type segmentWriter struct {
	to    *bufio.Writer
	size  int64
	most  int64
	rows  []segmentRow
	known map[Key]bool // entries that are in it
}

type segmentRow struct {
	name   Key
	start  keyStart
	offset int64
	length uint32
	hour   uint32
}

// add adds an entry with its names, if there is room and it is not there already.
func (w *segmentWriter) add(e named, file []byte, hour uint32) error {
	if w.known[e.key] || w.size+int64(len(file))+rowSize*int64(len(w.rows)+2)+int64(tailSize) > w.most {
		return nil
	}
	w.known[e.key] = true
	row := segmentRow{e.key, e.key.start(), w.size, uint32(len(file)), hour}
	w.rows = append(w.rows, row)
	if e.hasAlias {
		row.name = e.alias
		w.rows = append(w.rows, row)
	}
	return w.write(file)
}

func (w *segmentWriter) write(b []byte) error {
	n, err := w.to.Write(b)
	w.size += int64(n)
	return err
}

// finish writes what leads to the entries.
func (w *segmentWriter) finish() error {
	slices.SortFunc(w.rows, func(a, b segmentRow) int { return bytes.Compare(a.name[:], b.name[:]) })
	index := make([]byte, 0, rowSize*len(w.rows)+tailSize)
	var fan [257]uint32
	for _, r := range w.rows {
		index = append(index, r.name[:]...)
		index = append(index, r.start[:]...)
		index = binary.LittleEndian.AppendUint64(index, uint64(r.offset))
		index = binary.LittleEndian.AppendUint32(index, r.length)
		index = binary.LittleEndian.AppendUint32(index, r.hour)
		fan[int(r.name[0])+1]++
	}
	before := uint32(0)
	for _, n := range fan {
		before += n
		index = binary.LittleEndian.AppendUint32(index, before)
	}
	index = append(index, segmentMagic...)
	if err := w.write(index); err != nil {
		return err
	}
	return w.to.Flush()
}

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

// An entry of a segment has a second name, its alias: a key in which the class file's hash
// is not SHA-256, which takes longer than weaving one method of a large class does, but
// GMAC with a secret of the cache. It takes an eighth of that. Nobody who does not know the
// secret can make two class files with one alias, and whoever can read it could write to
// the cache as well. The salt, secret too, has aliases tell nothing of what GMAC gives; so
// a segment may be shared.
type aliases struct {
	once sync.Once
	gmac cipher.AEAD // nil where there are none
	salt [sha256.Size - gmacSize]byte
}

const (
	secretFile = "secret"
	secretSize = aes.BlockSize + sha256.Size - gmacSize
	gmacSize   = 16
)

// alias is the second name of what is sought; false where there are none.
func (d *Disk) alias(s *Sought) (Key, bool) {
	a := &d.aliases
	a.once.Do(func() {
		if !d.isFixed {
			a.init(d.secret())
		}
	})
	if a.gmac == nil {
		return Key{}, false
	}
	class := &s.private
	class.Size = len(s.Class)
	a.gmac.Seal(class.Digest[:0], nonce[:], nil, s.Class)
	copy(class.Digest[gmacSize:], a.salt[:])
	return s.Recipe.key(class, s.Spec), true
}

// nonce is one for all class files: nobody is ever told what GMAC gave.
var nonce [12]byte

func (a *aliases) init(secret []byte) {
	if len(secret) != secretSize {
		return
	}
	block, err := aes.NewCipher(secret[:aes.BlockSize])
	if err != nil {
		return
	}
	copy(a.salt[:], secret[aes.BlockSize:])
	if gmac, err := cipher.NewGCM(block); err == nil { // else the program may not have it
		a.gmac = gmac
	}
}

// secret reads the secret of the cache, and makes it first; nil where that cannot be.
func (d *Disk) secret() []byte {
	if secret := d.readSecret(); secret != nil {
		return secret
	}
	var secret []byte
	_ = d.holding(context.Background(), func() error { // then it is done without
		if secret = d.readSecret(); secret != nil {
			return nil // another was faster
		}
		made := make([]byte, secretSize)
		_, _ = rand.Read(made) // it never fails
		fresh, fd, err := d.createFreshPrivate()
		if err != nil {
			return err
		}
		err = errors.Join(writeAll(fd, made), unix.Close(fd))
		if err == nil {
			err = unix.Renameat(fresh.dir, fresh.name, d.root, secretFile)
		}
		if err != nil {
			fresh.remove()
			return err
		}
		secret = made
		return nil
	})
	return secret
}

// readSecret reads the secret; nil where there is none that only this user can read.
func (d *Disk) readSecret() []byte {
	fd, err := openAt(d.root, secretFile, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var stat unix.Stat_t
	secret := make([]byte, secretSize)
	if unix.Fstat(fd, &stat) != nil || stat.Uid != d.trust.self || modeOf(&stat)&0o077 != 0 || stat.Size != secretSize {
		return nil
	}
	if readAt(fd, secret, 0) != nil {
		return nil
	}
	return secret
}

// loose are entries that a process found, or kept, in files of their own.
type loose struct {
	mu      sync.Mutex
	entries map[Key]looseEntry
}

type looseEntry struct {
	alias    Key
	hasAlias bool
	isThere  bool
}

// mostLoose is how many are remembered; others are gathered another time.
const mostLoose = 1 << 15

// name notes the alias of an entry that may not be there yet.
func (l *loose) name(key, alias Key) {
	l.change(key, func(e *looseEntry) { e.alias, e.hasAlias = alias, true })
}

// add notes that an entry is there.
func (l *loose) add(key Key) {
	l.change(key, func(e *looseEntry) { e.isThere = true })
}

// addNamed notes that an entry is there, if it has an alias by which it was not found.
func (l *loose) addNamed(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, isKnown := l.entries[key]; isKnown {
		e.isThere = true
		l.entries[key] = e
	}
}

func (l *loose) change(key Key, change func(*looseEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, isKnown := l.entries[key]
	if l.entries == nil {
		l.entries = make(map[Key]looseEntry)
	}
	if change(&e); isKnown || len(l.entries) < mostLoose {
		l.entries[key] = e
	}
}

// remove forgets entries: they are in a segment, or found no room in one.
func (l *loose) remove(entries []named) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range entries {
		delete(l.entries, entries[i].key)
	}
}

// A named is an entry with all its names.
type named struct {
	key, alias Key
	hasAlias   bool
}

// list gives all that are there, in the order of their keys.
func (l *loose) list() []named {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []named
	for key, e := range l.entries {
		if e.isThere {
			all = append(all, named{key, e.alias, e.hasAlias})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return bytes.Compare(a.key[:], b.key[:]) })
	return all
}

// segmentBound is how much of the cache a segment may take.
func (d *Disk) segmentBound(which int) int64 { return d.bound / [...]int64{large: 8, small: 16}[which] }

// Gather puts the entries that this process had to read or keep one by one into a segment:
// into the small one, with what that has, as long as that is small beside the large one;
// else all become one large one. So an entry is written again a few times at most. Who
// uses the cache calls it when nobody waits. That it fails harms none; the error says why.
func (d *Disk) Gather(ctx context.Context) error {
	entries := d.loose.list()
	if d.isFixed || len(entries) == 0 {
		return nil
	}
	d.renewNow()
	var rows [2]int
	for which := range rows {
		s, err := d.segment(which)
		if err != nil {
			return err
		}
		if s != nil {
			s.writeNotes(hourOf(d.now()))
			rows[which] = s.count()
		}
	}
	const names, share = 2, 8
	into := small
	if names*len(entries)+rows[small] > rows[large]/share {
		into = large
	}
	if err := d.gather(ctx, into, entries); err != nil {
		return err
	}
	d.loose.remove(entries)
	d.renewNow()
	return nil
}

// gather is done by one at a time; for others the cache is busy.
func (d *Disk) gather(ctx context.Context, into int, entries []named) error {
	unlock, err := d.lockEvict()
	if err != nil {
		return err
	}
	defer unlock()
	fresh, fd, err := d.createFresh()
	if err != nil {
		return d.explain("writing", err)
	}
	file := os.NewFile(uintptr(fd), fresh.name)
	w := segmentWriter{to: bufio.NewWriterSize(file, 256<<10), most: d.segmentBound(into), known: make(map[Key]bool)}
	err = d.gatherLoose(ctx, &w, entries)
	for from := small; from >= into && err == nil; from-- {
		err = d.gatherOld(ctx, &w, from)
	}
	if err == nil {
		err = w.finish()
	}
	if err = errors.Join(err, file.Close()); err != nil && ctx.Err() == nil {
		err = d.explain("writing "+segmentFiles[into], err)
	}
	if err == nil {
		_, err = d.publish(ctx, segmentFiles[into], fresh, blocks(w.size))
	}
	if errors.Is(err, errNoRoom) {
		err = ErrBusy // with other things
	}
	if err != nil {
		fresh.remove()
		return err
	}
	if into == small {
		return nil
	}
	return d.holding(ctx, func() error {
		_, err := d.removeSegment(segmentFiles[small]) // the large one has all of it
		return err
	})
}

func (d *Disk) gatherLoose(ctx context.Context, w *segmentWriter, entries []named) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if file := d.fileOf(e.key); file != nil {
			if err := w.add(e, file, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherOld adds entries of a segment that there is, those that were of use last, if
// they still have files of their own: else room was made of them.
func (d *Disk) gatherOld(ctx context.Context, w *segmentWriter, which int) error {
	old, err := d.openSegment(which)
	if old == nil {
		return err
	}
	defer func() { _ = unix.Close(old.fd) }() // only read
	for _, s := range old.entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		file := old.file(s.on, s.n)
		if _, _, err := open(s.key, file); err != nil {
			continue
		}
		if unix.Faccessat(d.root, pathOf(s.key), unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		if err := w.add(s.named, file, s.hour); err != nil {
			return err
		}
	}
	return nil
}

// A shelved is an entry of a segment, and where its row is.
type shelved struct {
	named
	on   *shelf
	n    int
	hour uint32
}

// entries are all of a segment, those first that were of use last.
func (s *segment) entries() (all []shelved) {
	hours := s.hours()
	aliases := make(map[keyStart]Key)
	s.each(func(h *shelf, n int) {
		name := Key(h.name(n))
		if start := h.start(n); name.start() == start {
			all = append(all, shelved{named{key: name}, h, n, hours[start]})
		} else {
			aliases[start] = name
		}
	})
	for i := range all {
		all[i].alias, all[i].hasAlias = aliases[all[i].key.start()]
	}
	slices.SortStableFunc(all, func(a, b shelved) int { return cmp.Compare(b.hour, a.hour) })
	return all
}

// fileOf reads the file of an entry, if that is whole and this user's; else it is nil.
func (d *Disk) fileOf(key Key) []byte {
	if d.look(key[0]) != nil {
		return nil
	}
	path := pathOf(key)
	fd, err := openAt(d.root, path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var stat unix.Stat_t
	file, err := d.readFile(fd, &stat, path)
	if err != nil || stat.Uid != d.trust.self {
		return nil
	}
	if _, _, err := open(key, file); err != nil {
		return nil
	}
	return file
}

// When a process gathers while it works: soon after its first entry, as most come at
// once, and then seldom.
const (
	gatherSoon = time.Second
	gatherRest = 10 * time.Second
)

// gathering gathers what a process kept, or had to read one by one, also before it ends:
// others that are at work shall not have to read it so, and one that is killed leaves
// little to be read so.
type gathering struct {
	gather func(context.Context)
	after  func(time.Duration, func()) // calls a function later

	mu      sync.Mutex
	isDue   bool // it will be done
	isAgain bool // it was done before
	closed  bool
	cancel  context.CancelFunc // of what is being done
	working sync.WaitGroup
}

func newGathering(gather func(context.Context)) *gathering {
	return &gathering{gather: gather, after: func(d time.Duration, fn func()) { time.AfterFunc(d, fn) }}
}

// want has it done, after a while.
func (g *gathering) want() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isDue || g.closed {
		return
	}
	g.isDue = true
	wait := gatherSoon
	if g.isAgain {
		wait = gatherRest
	}
	g.after(wait, g.do)
}

func (g *gathering) do() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.isDue, g.isAgain, g.cancel = false, true, cancel
	g.working.Add(1)
	g.mu.Unlock()
	defer g.working.Done()
	g.gather(ctx)
}

// end has it done no more, and breaks off what is being done.
func (g *gathering) end() {
	g.mu.Lock()
	g.closed = true
	if g.cancel != nil {
		g.cancel()
	}
	g.mu.Unlock()
	g.working.Wait()
}
