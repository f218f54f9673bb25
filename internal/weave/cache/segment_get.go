package cache

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

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
