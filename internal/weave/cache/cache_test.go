package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCacheKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	tell := func(err error) { t.Error(err) }
	far := NewMemory(1 << 20)
	fill(t, far, 20, 21)
	c := Open(Options{Dir: dir}, tell, far)
	fill(t, c, 0, 10)
	if _, err := c.Get(t.Context(), sampleKey(20)); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counts := c.Counts(); counts.Stored != 11 || counts.Lost != 0 {
		t.Errorf("%+v", counts)
	}
	c = Open(Options{Dir: dir}, tell)
	for _, n := range []int{0, 9, 20} {
		if _, err := c.Get(t.Context(), sampleKey(n)); err != nil {
			t.Errorf("entry %d: %v", n, err)
		}
	}
	if _, err := c.Get(t.Context(), sampleKey(11)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if counts := c.Counts(); counts != (Counts{Hits: 3, Misses: 1}) {
		t.Errorf("%+v", counts)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCacheThatCannotBeHad is told once, and in nobody's way.
func TestCacheThatCannotBeHad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []error
	c := Open(Options{Dir: filepath.Join(file, "cache")}, func(err error) { told = append(told, err) })
	fill(t, c, 0, 3)
	if _, err := c.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil || len(told) != 1 {
		t.Errorf("%v; told: %v", err, told)
	}
	wantDirError(t, told[0], ErrNoCache)
}
