package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

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
