package cache

import "context"

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
