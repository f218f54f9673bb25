package cache

import (
	"context"
	"sync"
)

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
