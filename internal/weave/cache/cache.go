// Package cache keeps woven classes on disk, so that they can be inspected and shared, and a
// class that was woven once is not woven again. That saves little or no time (RATIONALE).
//
// An entry is found by its [Key], a hash of the class file, the templates, the requested hooks and
// the version of the engine. Equal keys mean equal woven bytes, in every process and on every
// machine, with one exception: woven code refers to methods by ids computed from their names, and if
// the ids of two methods collide, one of them gets a different id in that process. An entry therefore
// records the method of each id, and is not used by a process in which these ids differ ([Entry.Fits]).
// An entry is never changed, only added or removed.
//
// [Disk] is the store; [Cache] wraps it for commands, which must not fail or wait because
// of the cache.
//
// # On disk
//
// Each entry is a file in one of 256 directories (docs/formats/cache.md):
//
//	DIR/3f/9c…   entry: the directory and the file are named by the digits of its key
//	DIR/tmp/…    files that are being written
//	DIR/size     disk space of all entries; its lock is held while entries are added or removed
//	DIR/evict    its lock is held while space is freed
//
// An entry is written to tmp and renamed when it is complete. Readers therefore see a
// whole entry or none, and acquire no lock. Entries are not synced to the disk: a power
// failure may leave a truncated one, which fails its checksum and is woven again.
//
// The size is raised before an entry appears and lowered after it is removed. A process
// that is killed in between leaves a size that is too large, never one that is too small;
// the next eviction computes it again.
//
// Entries are code that programs will run, so Sonde refuses directories and files that users
// other than its own, root and those named by --cache-trust could have written.
package cache

import (
	"context"
	"errors"
	"sync"
)

// maxQueued is how many bytes of entries may wait to be written.
const maxQueued = 64 << 20

// Cache is the cache as commands use it. It never fails: a problem is reported once, and
// from then on the cache finds nothing or keeps nothing. Entries are written in the
// background, because a thread of the target may be waiting for its class.
type Cache struct {
	disk   *Disk // nil where the cache could not be opened
	report func(error)
	writes *queue

	mu                     sync.Mutex
	reported               map[error]bool // kinds of problems
	unreadable, unwritable bool
}

// Open opens the cache. Problems are passed to report, each kind once; report may be nil.
func Open(o Options, report func(error)) *Cache {
	disk, err := OpenDisk(o)
	c := newCache(disk, report)
	if err != nil {
		c.giveUp(err, true)
	}
	return c
}

func newCache(disk *Disk, report func(error)) *Cache {
	if report == nil {
		report = func(error) {}
	}
	c := &Cache{disk: disk, report: report, reported: make(map[error]bool)}
	c.writes = &queue{write: c.write, max: maxQueued}
	return c
}

// Get returns an entry, or ErrMissing.
func (c *Cache) Get(ctx context.Context, key Key) (*Entry, error) {
	c.mu.Lock()
	unreadable := c.unreadable
	c.mu.Unlock()
	if unreadable {
		return nil, ErrMissing
	}
	entry, err := c.disk.Get(ctx, key)
	if err == nil {
		return entry, nil
	}
	if !errors.Is(err, ErrMissing) && ctx.Err() == nil {
		c.giveUp(err, true)
	}
	return nil, ErrMissing
}

// Put queues an entry to be written. Entries are dropped when too many are waiting.
func (c *Cache) Put(ctx context.Context, key Key, entry *Entry) { c.writes.add(ctx, key, entry) }

func (c *Cache) write(ctx context.Context, key Key, entry *Entry) {
	c.mu.Lock()
	unwritable := c.unwritable
	c.mu.Unlock()
	if unwritable {
		return
	}
	err := c.disk.Put(ctx, key, entry)
	// ErrBusy and ErrTooLarge concern this entry only.
	if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrTooLarge) && ctx.Err() == nil {
		c.giveUp(err, false)
	}
}

// giveUp stops writing, and reading too if asked, and reports the reason unless a problem
// of its kind was reported before.
func (c *Cache) giveUp(err error, reading bool) {
	kind := err
	var dir *DirError
	if errors.As(err, &dir) {
		kind = dir.Kind
	}
	c.mu.Lock()
	c.unwritable = true
	c.unreadable = c.unreadable || reading
	known := c.reported[kind]
	c.reported[kind] = true
	c.mu.Unlock()
	if !known {
		c.report(err)
	}
}

// Close waits, until the context ends, for queued entries to be written.
func (c *Cache) Close(ctx context.Context) error {
	if err := c.writes.flush(ctx); err != nil || c.disk == nil {
		return err // the writer still needs the directory
	}
	return c.disk.Close()
}

// queue writes entries one after the other in the background.
type queue struct {
	write func(context.Context, Key, *Entry)
	max   int // bytes that may wait

	mu      sync.Mutex
	waiting []queued
	size    int           // bytes that wait, including the entry being written
	done    chan struct{} // closed when everything is written; nil while no goroutine is writing
}

type queued struct {
	key   Key
	entry *Entry
}

// add queues an entry and reports whether there was room for it. The entry is written
// even if the caller's context ends.
func (q *queue) add(ctx context.Context, key Key, entry *Entry) bool {
	size := entry.memory()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+size > q.max {
		return false
	}
	q.size += size
	q.waiting = append(q.waiting, queued{key, entry})
	if q.done == nil {
		q.done = make(chan struct{})
		go q.run(context.WithoutCancel(ctx))
	}
	return true
}

func (q *queue) run(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.write(ctx, next.key, next.entry)
		q.mu.Lock()
		q.size -= next.entry.memory()
	}
	close(q.done)
	q.waiting, q.done = nil, nil
}

// flush waits until the queue is empty or the context ends.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	done := q.done
	q.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memory estimates the bytes that an entry takes in memory.
func (e *Entry) memory() int {
	const entry, method = 512, 256
	size := entry + len(e.Woven) + method*len(e.Methods)
	for i := range e.Methods {
		m := &e.Methods[i]
		size += len(m.Name) + len(m.Descriptor) + len(m.Offsets) + method*len(m.Left)
	}
	return size
}
