package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// fillCache puts samples into a cache.
func fillCache(t testing.TB, c *Cache, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		c.Put(t.Context(), sampleKey(n), sampleEntry(n))
	}
}

func TestCacheKeepsEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	report := func(err error) { t.Error(err) }
	c := Open(Options{Dir: dir}, report)
	fillCache(t, c, 0, 10)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = Open(Options{Dir: dir}, report)
	for n := range 10 {
		got, err := c.Get(t.Context(), sampleKey(n))
		if err != nil {
			t.Fatalf("entry %d: %v", n, err)
		}
		wantEntry(t, got, sampleEntry(n))
	}
	if _, err := c.Get(t.Context(), sampleKey(11)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUnusableCache is reported once and does no harm.
func TestUnusableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var reported []error
	c := Open(Options{Dir: filepath.Join(file, "cache")}, func(err error) { reported = append(reported, err) })
	fillCache(t, c, 0, 3)
	if _, err := c.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil || len(reported) != 1 {
		t.Errorf("%v; reported: %v", err, reported)
	}
	wantDirError(t, reported[0], ErrNoCache)
}

// TestPassingProblemsAreNotReported: a busy cache and a cancelled context concern one
// entry only.
func TestPassingProblemsAreNotReported(t *testing.T) {
	d := openDisk(t, Options{})
	c := newCache(d, func(err error) { t.Error(err) })
	if err := d.ledger.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	fillCache(t, c, 0, 1)
	if err := c.writes.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.ledger.unlock()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(cancelled, sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	fillCache(t, c, 1, 2)
	if err := c.writes.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Errorf("an entry was written though the cache was locked: %v", err)
	}
	if _, err := c.Get(t.Context(), sampleKey(1)); err != nil {
		t.Error(err)
	}
}

func TestQueueWritesInTheBackground(t *testing.T) {
	gate := make(chan struct{})
	written := make(map[Key]bool)
	q := &queue{max: 20 * sampleEntry(0).memory(), write: func(_ context.Context, key Key, _ *Entry) {
		<-gate
		written[key] = true
	}}
	cancelled, cancel := context.WithCancel(t.Context())
	if !q.add(cancelled, sampleKey(0), sampleEntry(0)) {
		t.Fatal("the queue is full")
	}
	cancel() // the entry is written all the same
	if err := q.flush(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	taken := 1
	for ; q.add(t.Context(), sampleKey(taken), sampleEntry(taken)); taken++ {
		if taken == 1000 {
			t.Fatal("the queue has no limit")
		}
	}
	close(gate)
	if err := q.flush(t.Context()); err != nil || q.size != 0 {
		t.Fatal(err, q.size)
	}
	for n := range taken {
		if !written[sampleKey(n)] {
			t.Errorf("entry %d of %d was not written", n, taken)
		}
	}
	if !q.add(t.Context(), sampleKey(500), sampleEntry(500)) { // starts another goroutine
		t.Error("the queue is full")
	}
	if err := q.flush(t.Context()); err != nil || !written[sampleKey(500)] {
		t.Error("the last entry was not written", err)
	}
}
