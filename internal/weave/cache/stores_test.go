package cache

import (
	"context"
	"errors"
	"testing"
)

func TestMemoryForgetsTheOldest(t *testing.T) {
	m := NewMemory(40_000)
	fill(t, m, 0, 3)
	for n := 3; n < 100; n++ {
		if _, err := m.Get(t.Context(), sampleKey(1)); err != nil {
			t.Fatalf("before %d: %v", n, err)
		}
		fill(t, m, n, n+1)
		if m.held > m.bound || len(m.entries) != m.order.Len() {
			t.Fatalf("%d bytes in %d entries", m.held, len(m.entries))
		}
	}
	if _, err := m.Get(t.Context(), sampleKey(2)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	got, err := m.Get(t.Context(), sampleKey(99))
	if err != nil {
		t.Fatal(err)
	}
	wantEntry(t, got, sampleEntry(99))
	if err := NewMemory(100).Put(t.Context(), sampleKey(1), sampleEntry(1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// broken is a store that fails.
type broken struct{ err error }

func (b broken) Get(context.Context, Key) (*Entry, error) { return nil, b.err }
func (b broken) Put(context.Context, Key, *Entry) error   { return b.err }

func TestLayered(t *testing.T) {
	near, far := NewMemory(1<<20), NewMemory(1<<20)
	fill(t, far, 0, 1)
	l := Layered{near, None{}, ReadOnly{far}}
	if _, err := l.Get(t.Context(), sampleKey(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Get(t.Context(), sampleKey(0)); err != nil {
		t.Errorf("the near one did not get it: %v", err)
	}
	if _, err := l.Get(t.Context(), sampleKey(1)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	fill(t, l, 1, 2)
	if _, err := far.Get(t.Context(), sampleKey(1)); !errors.Is(err, ErrMissing) {
		t.Errorf("one that is only read got it: %v", err)
	}
	failing := errors.New("out of order")
	l = Layered{broken{failing}, near}
	if _, err := l.Get(t.Context(), sampleKey(0)); err != nil {
		t.Error(err)
	}
	if _, err := l.Get(t.Context(), sampleKey(9)); !errors.Is(err, failing) {
		t.Error(err)
	}
	if err := l.Put(t.Context(), sampleKey(9), sampleEntry(9)); !errors.Is(err, failing) {
		t.Error(err)
	}
	if _, err := near.Get(t.Context(), sampleKey(9)); err != nil {
		t.Error(err)
	}
}

func TestQuietTellsOnce(t *testing.T) {
	var told []error
	tell := func(err error) { told = append(told, err) }
	q := NewQuiet(broken{ErrBusy}, tell)
	fill(t, q, 0, 3)
	if len(told) != 0 || q.Counts().Lost != 3 {
		t.Errorf("%v, %+v", told, q.Counts())
	}
	q = NewQuiet(broken{&DirError{Dir: "d", Kind: ErrFull}}, tell)
	fill(t, q, 0, 3)
	if len(told) != 1 {
		t.Errorf("%v", told)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	q = NewQuiet(broken{context.Canceled}, tell)
	if _, err := q.Get(cancelled, sampleKey(0)); !errors.Is(err, ErrMissing) || len(told) != 1 {
		t.Errorf("%v, %v", err, told)
	}
}

// gate is a store that keeps nothing until it is opened.
type gate struct {
	Store
	open chan struct{}
}

func (g gate) Put(ctx context.Context, key Key, entry *Entry) error {
	<-g.open
	return g.Store.Put(ctx, key, entry)
}

func TestDeferredKeepsLater(t *testing.T) {
	memory := NewMemory(1 << 20)
	g := gate{memory, make(chan struct{})}
	d := NewDeferred(g, 20*sampleEntry(0).weight())
	cancelled, cancel := context.WithCancel(t.Context())
	if err := d.Put(cancelled, sampleKey(0), sampleEntry(0)); err != nil {
		t.Fatal(err)
	}
	cancel() // of who asked; the entry is kept all the same
	if err := d.Flush(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	taken := 1
	for ; d.Put(t.Context(), sampleKey(taken), sampleEntry(taken)) == nil; taken++ {
		if taken == 1000 {
			t.Fatal("there is no end of what may wait")
		}
	}
	close(g.open)
	if err := d.Flush(t.Context()); err != nil || d.weight != 0 {
		t.Fatal(err, d.weight)
	}
	for n := range taken {
		if _, err := d.Get(t.Context(), sampleKey(n)); err != nil {
			t.Errorf("%d of %d: %v", n, taken, err)
		}
	}
	fill(t, d, 500, 501) // another worker begins
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Get(t.Context(), sampleKey(500)); err != nil {
		t.Error(err)
	}
}
