// Package cache keeps classes as they were woven, so that each is woven once.
//
// An entry is found by its [Key]: a hash of the class file, of the templates, of what
// was asked for and of the engine's version. The same key means the same woven bytes,
// in every process and on every machine; so entries are never changed, only added and
// forgotten. What woven code says about methods it says by ids that are the same
// everywhere, unless two methods of one process share one: an entry names the method of
// each id, and a process that uses another one does without it ([Entry.Fits]).
//
// A [Store] may be memory, a disk, or something far away, and [Layered] has several
// behind each other. [Quiet] is what a command takes: it tells once what is the matter
// with a store, and goes on without it.
//
// # On disk
//
// One file holds one entry, in one of 256 directories:
//
//	DIR/3f/9c…     62 more digits of the key: an entry (docs/formats/cache.md)
//	DIR/new/…/…    files that are being written, in a directory of each process
//	DIR/size       how much all entries take; who holds its lock may add and remove
//	DIR/evict      who holds its lock makes room, or gathers
//	DIR/segment…   many entries behind each other
//	DIR/secret     what aliases are made with
//
// An entry is written under another name and renamed when it is whole, so a reader
// sees all of it or nothing, and takes no lock. It is not forced to the disk: that
// would cost a thousand times what weaving does, and what a power failure leaves half
// written fails its checksum and is woven again.
//
// The size is noted before an entry appears and after it is gone, so a process that is
// killed in between leaves a number that is too large, never one too small; the next one
// that makes room counts again. The directory in which a process writes is locked while it
// lives: what lies in one that nobody has locked was left by a process that is no more,
// and goes.
//
// Opening a file, looking at it, reading and closing it takes longer than weaving one
// method of a small class does, and hashing a large class longer than weaving one of its
// methods. So what a process had to read or keep one by one it gathers, soon after and when
// nobody waits, into a segment; there an entry is had by one read, and found by an alias that
// needs no such hash. Processes that are at work see segments that others have gathered since.
// A segment can go at any time, like all else; entries in it are checked as those in files are,
// and it counts in the size of the cache.
//
// Entries are code that goes into programs. A directory that somebody else could write
// to is refused, and so is a file.
package cache

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// mostDeferred is how many bytes may wait to be kept.
const mostDeferred = 64 << 20

// Cache is what a command uses: the disk, and whatever stands behind it. It never
// fails: what is the matter is told once, and the work goes on without.
type Cache struct {
	layers    Layered
	quiet     *Quiet
	deferred  *Deferred
	disk      *Disk // nil where it cannot be had
	gathering *gathering
}

// Open opens the cache on disk, with stores behind it that are farther away. Who is to
// be told what is the matter with any of them is told once; that may be nil.
func Open(o Options, tell func(error), behind ...Store) *Cache {
	c := &Cache{}
	near := Store(None{})
	disk, err := OpenDisk(o)
	if err == nil {
		c.disk, near = disk, disk
	} else if tell != nil {
		tell(err)
	}
	c.quiet = NewQuiet(near, tell)
	c.deferred = NewDeferred(c.quiet, mostDeferred)
	c.gathering = newGathering(c.gather)
	c.layers = Layered{c.deferred}
	for _, store := range behind {
		c.layers = append(c.layers, NewQuiet(store, tell))
	}
	return c
}

// Get finds an entry; the error is ErrMissing.
func (c *Cache) Get(ctx context.Context, key Key) (*Entry, error) { return c.layers.Get(ctx, key) }

// Put has an entry kept soon, if it can be kept. It takes no time, and returns no error.
func (c *Cache) Put(ctx context.Context, key Key, entry *Entry) error {
	_ = c.layers.Put(ctx, key, entry) // too much waits: a cache may lose what it will
	c.gathering.want()
	return nil
}

// gather spares others to read one by one what is new. It can be done another time.
func (c *Cache) gather(ctx context.Context) {
	if c.disk != nil && c.deferred.Flush(ctx) == nil {
		_ = c.disk.Gather(ctx)
	}
}

// Counts is what the cache on disk was good for so far. Entries that wait are in none
// of them.
func (c *Cache) Counts() Counts { return c.quiet.Counts() }

// Close waits, until the context ends, for what is still to be kept.
func (c *Cache) Close(ctx context.Context) error {
	c.gathering.end()
	err := c.deferred.Flush(ctx)
	if err != nil || c.disk == nil {
		return err // who still writes needs the directory
	}
	_ = c.disk.Gather(ctx) // that is for others, and can be done another time
	return c.disk.Close()
}

// A Store keeps entries. It may be used by many at once.
type Store interface {
	// Get finds an entry. An error that is ErrMissing says that there is none, or
	// none that is whole; others say that the store is of no use.
	Get(ctx context.Context, key Key) (*Entry, error)

	// Put keeps an entry: without an error it can be found from now on, also by
	// others, until there is no room for it. One that is there already stays.
	Put(ctx context.Context, key Key, entry *Entry) error
}

// None is a store that keeps nothing.
type None struct{}

// Get finds nothing.
func (None) Get(context.Context, Key) (*Entry, error) { return nil, ErrMissing }

// Put keeps nothing.
func (None) Put(context.Context, Key, *Entry) error { return nil }

// ReadOnly is a store that is not added to.
type ReadOnly struct{ Behind Store }

// Get asks the store.
func (r ReadOnly) Get(ctx context.Context, key Key) (*Entry, error) { return r.Behind.Get(ctx, key) }

// Put keeps nothing.
func (ReadOnly) Put(context.Context, Key, *Entry) error { return nil }

// Layered is stores behind each other, the nearest first.
type Layered []Store

// Get asks one after the other. What a farther one has the nearer ones get; that they
// cannot keep it is no error. Where none has it, what is the matter with any of them is
// in the error.
func (l Layered) Get(ctx context.Context, key Key) (*Entry, error) {
	var failed []error
	for i, store := range l {
		entry, err := store.Get(ctx, key)
		if err == nil {
			for _, nearer := range l[:i] {
				_ = nearer.Put(ctx, key, entry)
			}
			return entry, nil
		}
		if !errors.Is(err, ErrMissing) {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return nil, ErrMissing
}

// Put gives an entry to all of them; it is kept where at least one keeps it, yet the
// error says what the others could not.
func (l Layered) Put(ctx context.Context, key Key, entry *Entry) error {
	var failed []error
	for _, store := range l {
		if err := store.Put(ctx, key, entry); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// Memory is a store of one process.
type Memory struct {
	mu      sync.Mutex
	bound   int
	held    int
	entries map[Key]*list.Element // of kept
	order   list.List             // the one used last first
}

type kept struct {
	key   Key
	entry *Entry
	size  int
}

// NewMemory keeps entries of about so many bytes together.
func NewMemory(bound int) *Memory {
	return &Memory{bound: bound, entries: make(map[Key]*list.Element)}
}

// Get finds an entry.
func (m *Memory) Get(_ context.Context, key Key) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[key]
	if element == nil {
		return nil, ErrMissing
	}
	m.order.MoveToFront(element)
	return element.Value.(*kept).entry, nil
}

// Put keeps an entry; those go that were not used for longest.
func (m *Memory) Put(_ context.Context, key Key, entry *Entry) error {
	size := entry.weight()
	if size > m.bound {
		return ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] != nil {
		return nil
	}
	for m.held+size > m.bound {
		oldest := m.order.Remove(m.order.Back()).(*kept)
		delete(m.entries, oldest.key)
		m.held -= oldest.size
	}
	m.entries[key] = m.order.PushFront(&kept{key, entry, size})
	m.held += size
	return nil
}

// weight is about what an entry takes in memory.
func (e *Entry) weight() int {
	const entry, method = 512, 256
	size := entry + len(e.Woven) + method*len(e.Methods)
	for i := range e.Methods {
		m := &e.Methods[i]
		size += len(m.Name) + len(m.Descriptor) + len(m.Offsets) + method*len(m.Left)
	}
	return size
}

// Quiet is a store that is of use where it can be, and else in nobody's way: what is
// the matter with the store behind it is told once, and then it is done without. Its
// Get returns no error but ErrMissing, its Put none.
type Quiet struct {
	behind Store
	tell   func(error)

	mu            sync.Mutex
	told          map[string]bool // by kind
	blind, closed atomic.Bool     // nothing is read, nothing is written any more
	counts        struct{ hits, misses, damaged, stored, lost atomic.Int64 }
}

// NewQuiet takes a store, and who is to be told; that may be nil.
func NewQuiet(behind Store, tell func(error)) *Quiet {
	if tell == nil {
		tell = func(error) {}
	}
	return &Quiet{behind: behind, tell: tell, told: make(map[string]bool)}
}

// Counts is what a store was good for.
type Counts struct {
	Hits    int64 // entries that were found,
	Misses  int64 // that were not,
	Damaged int64 // and of those, that were found damaged
	Stored  int64 // entries that were kept,
	Lost    int64 // that could not be
}

// Counts is what it was good for so far.
func (q *Quiet) Counts() Counts {
	c := &q.counts
	return Counts{c.hits.Load(), c.misses.Load(), c.damaged.Load(), c.stored.Load(), c.lost.Load()}
}

// Get finds an entry.
func (q *Quiet) Get(ctx context.Context, key Key) (*Entry, error) {
	if !q.blind.Load() {
		entry, err := q.behind.Get(ctx, key)
		if err == nil {
			q.counts.hits.Add(1)
			return entry, nil
		}
		if errors.Is(err, ErrDamaged) {
			q.counts.damaged.Add(1)
		}
		if !errors.Is(err, ErrMissing) && ctx.Err() == nil {
			q.blind.Store(true)
			q.closed.Store(true)
			q.tellOnce(err)
		}
	}
	q.counts.misses.Add(1)
	return nil, ErrMissing
}

// Put keeps an entry, if it can be kept.
func (q *Quiet) Put(ctx context.Context, key Key, entry *Entry) error {
	if q.closed.Load() {
		q.counts.lost.Add(1)
		return nil
	}
	err := q.behind.Put(ctx, key, entry)
	if err == nil {
		q.counts.stored.Add(1)
		return nil
	}
	q.counts.lost.Add(1)
	// These are of this one entry or moment.
	if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrTooLarge) && ctx.Err() == nil {
		q.closed.Store(true)
		q.tellOnce(err)
	}
	return nil
}

// tellOnce tells of each kind of trouble once.
func (q *Quiet) tellOnce(err error) {
	kind := err.Error()
	var dir *DirError
	if errors.As(err, &dir) {
		kind = dir.Kind.Error()
	}
	q.mu.Lock()
	isNew := !q.told[kind]
	q.told[kind] = true
	q.mu.Unlock()
	if isNew {
		q.tell(err)
	}
}

// Deferred is a store whose Put takes no time: entries are kept one after the other
// behind the caller's back, as a thread of a program may wait for its class. So that one
// was taken does not mean that it is kept; what is the matter with the store behind is
// told where that is a [Quiet].
type Deferred struct {
	behind Store
	most   int

	mu      sync.Mutex
	waiting []deferred
	weight  int  // of those that wait
	working bool // one keeps what waits
	idle    *sync.Cond
}

type deferred struct {
	key   Key
	entry *Entry
}

// NewDeferred takes a store, and how many bytes may wait for it.
func NewDeferred(behind Store, most int) *Deferred {
	d := &Deferred{behind: behind, most: most}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// Get finds what the store has.
func (d *Deferred) Get(ctx context.Context, key Key) (*Entry, error) { return d.behind.Get(ctx, key) }

// Put has an entry kept soon. The error is ErrBusy where too much waits.
func (d *Deferred) Put(ctx context.Context, key Key, entry *Entry) error {
	weight := entry.weight()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.weight+weight > d.most {
		return ErrBusy
	}
	d.weight += weight
	d.waiting = append(d.waiting, deferred{key, entry})
	if !d.working {
		d.working = true
		go d.work(context.WithoutCancel(ctx))
	}
	return nil
}

// work keeps what waits, and ends when nothing does.
func (d *Deferred) work(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.waiting) > 0 {
		next := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.mu.Unlock()
		_ = d.behind.Put(ctx, next.key, next.entry) // a cache may lose what it will
		d.mu.Lock()
		d.weight -= next.entry.weight()
	}
	d.waiting, d.working = nil, false
	d.idle.Broadcast()
}

// Flush waits until nothing waits any more, or the context ends.
func (d *Deferred) Flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.idle.Broadcast()
	})
	defer stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.working && ctx.Err() == nil {
		d.idle.Wait()
	}
	if d.working {
		return ctx.Err()
	}
	return nil
}
