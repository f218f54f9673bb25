package cache

import (
	"context"
	"errors"
)

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
