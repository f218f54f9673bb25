package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDiskKeepsEntries(t *testing.T) {
	d := openDisk(t, Options{})
	if _, err := d.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	fill(t, d, 0, 20)
	fill(t, d, 0, 20) // again: they stay
	other := openDisk(t, Options{Dir: d.Dir()})
	for n := range 20 {
		got, err := other.Get(t.Context(), sampleKey(n))
		if err != nil {
			t.Fatal(err)
		}
		wantEntry(t, got, sampleEntry(n))
	}
	if used, known := d.ledger.read(); !known || used != totalOnDisk(t, d) {
		t.Errorf("the ledger says %d, %v, there are %d", used, known, totalOnDisk(t, d))
	}
	wantMode(t, d.Dir(), 0o700)
	wantMode(t, entryFile(d, 3), 0o600)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s: mode %04o, not %04o", path, info.Mode().Perm(), want)
	}
}

// TestBoundHolds puts more in than fits: what was used last stays.
func TestBoundHolds(t *testing.T) {
	const bound = 256 << 10
	d := openDisk(t, Options{Bound: bound})
	began := time.Now().Add(-24 * time.Hour)
	hours := 0
	d.now = func() time.Time { return began.Add(time.Duration(hours) * time.Hour) }
	for n := range 200 {
		fill(t, d, n, n+1)
		// Files have the time of the disk; the test has its own.
		at := began.Add(time.Duration(n) * time.Millisecond)
		if err := os.Chtimes(entryFile(d, n), at, at); err != nil {
			t.Fatal(err)
		}
		if size := totalOnDisk(t, d); size > bound {
			t.Fatalf("%d bytes after %d entries", size, n+1)
		}
		if n == 10 {
			hours = 2
			if _, err := d.Get(t.Context(), sampleKey(3)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := d.Get(t.Context(), sampleKey(3))
	if err != nil {
		t.Errorf("the one that was of use: %v", err)
	}
	for n, isGone := 0, true; n < 200; n++ {
		_, err := d.get(t.Context(), sampleKey(n), false)
		if n == 3 {
			continue
		}
		if err == nil {
			isGone = false
		} else if !isGone {
			t.Errorf("%d is gone, though older ones are there: %v", n, err)
		}
	}
	if size := totalOnDisk(t, d); size < bound/2 {
		t.Errorf("only %d bytes of %d are kept", size, bound)
	}
}

func TestUseIsNotedOnceAnHour(t *testing.T) {
	d := openDisk(t, Options{})
	fill(t, d, 0, 1)
	now := time.Now()
	d.now = func() time.Time { return now }
	used := func() time.Time {
		if _, err := d.Get(t.Context(), sampleKey(0)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(entryFile(d, 0))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	first := used()
	now = now.Add(50 * time.Minute)
	if again := used(); !again.Equal(first) {
		t.Errorf("noted after %v", again.Sub(first))
	}
	now = now.Add(50 * time.Minute)
	if again := used(); again.Sub(first) < time.Hour {
		t.Errorf("noted %v, after %v", again, first)
	}
}

func TestDamagedEntryIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":   func(b []byte) []byte { b[len(b)-1] ^= 4; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"foreign": func(b []byte) []byte { return []byte(strings.Repeat("x", len(b))) },
	} {
		t.Run(name, func(t *testing.T) {
			d := openDisk(t, Options{})
			fill(t, d, 0, 2)
			hurt := func() {
				file, err := os.ReadFile(entryFile(d, 0))
				if err == nil {
					err = os.WriteFile(entryFile(d, 0), damage(file), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			hurt()
			fill(t, d, 0, 1) // replaces it
			if _, err := d.Get(t.Context(), sampleKey(0)); err != nil {
				t.Fatal(err)
			}
			hurt()
			if _, err := d.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrDamaged) || !errors.Is(err, ErrMissing) {
				t.Fatal(err)
			}
			if _, err := d.Get(t.Context(), sampleKey(0)); errors.Is(err, ErrDamaged) || !errors.Is(err, ErrMissing) {
				t.Fatal("it is still there: ", err)
			}
			fill(t, d, 0, 1)
			got, err := d.Get(t.Context(), sampleKey(0))
			if err != nil {
				t.Fatal(err)
			}
			wantEntry(t, got, sampleEntry(0))
		})
	}
}

// TestAbandonedFilesAreRemoved: files of killed processes are, those being written are not.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	d := openDisk(t, Options{})
	abandoned := filepath.Join(d.Dir(), tmpDir, "ABANDONED")
	long := time.Now().Add(-2 * maxUnfinished)
	if err := errors.Join(os.WriteFile(abandoned, make([]byte, 10_000), 0o600), os.Chtimes(abandoned, long, long)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.writeTemporary([]byte("half of an en")); err != nil {
		t.Fatal(err)
	}
	other := openDisk(t, Options{Dir: d.Dir()})
	if n := other.Unfinished(); n != 1 {
		t.Errorf("%d files are being written", n)
	}
	other.now = func() time.Time { return time.Now().Add(2 * maxUnfinished) }
	if _, err := other.Prune(t.Context(), DefaultBound); err != nil || other.Unfinished() != 0 {
		t.Errorf("%d files are left, %v", other.Unfinished(), err)
	}
}

// TestVersion1 opens a directory of the format's first version: its entries are ignored
// until space is freed, and its other files are removed then.
func TestVersion1(t *testing.T) {
	made := openDisk(t, Options{})
	fill(t, made, 0, 2)
	file, err := os.ReadFile(entryFile(made, 0))
	if err != nil {
		t.Fatal(err)
	}
	file[len(magic)-1] = 1
	if err := os.WriteFile(entryFile(made, 0), file, 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, Options{Dir: made.Dir()})
	if _, err := d.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrVersion) || !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := d.Get(t.Context(), sampleKey(1)); err != nil {
		t.Error(err)
	}
	fill(t, d, 0, 1)
	if _, err := d.Get(t.Context(), sampleKey(0)); err != nil {
		t.Error("an old entry was not replaced: ", err)
	}
}

// TestLedgerIsCountedAgain when it says nothing of use.
func TestLedgerIsCountedAgain(t *testing.T) {
	d := openDisk(t, Options{})
	fill(t, d, 0, 10)
	for _, text := range []string{"", "nonsense", strings.Repeat("\x00", 16)} {
		if err := os.WriteFile(filepath.Join(d.Dir(), sizeFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fill(t, d, 10, 11)
		if used, known := d.ledger.read(); !known || used != totalOnDisk(t, d) {
			t.Errorf("after %q the ledger says %d, %v, there are %d", text, used, known, totalOnDisk(t, d))
		}
		if err := os.Remove(entryFile(d, 10)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrune(t *testing.T) {
	d := openDisk(t, Options{})
	fill(t, d, 0, 30)
	before := totalOnDisk(t, d)
	gone, err := d.Prune(t.Context(), before/2)
	if err != nil || gone.Left > before/2 || gone.Left != totalOnDisk(t, d) || gone.Bytes != before-gone.Left || gone.Entries == 0 {
		t.Errorf("%+v of %d, %v", gone, before, err)
	}
	if gone, err = d.Prune(t.Context(), 0); err != nil || gone.Left != 0 || totalOnDisk(t, d) != 0 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// TestBusyCacheIsLeftAlone: who cannot have the lock goes on without.
func TestBusyCacheIsLeftAlone(t *testing.T) {
	d := openDisk(t, Options{Bound: 64 << 10})
	other := openDisk(t, Options{Dir: d.Dir(), Bound: 64 << 10})
	if err := other.ledger.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), sampleKey(0), sampleEntry(0)); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	other.ledger.unlock()
	fill(t, d, 0, 1)
	if n := d.Unfinished(); n != 0 {
		t.Errorf("%d files are left", n)
	}
	large := sampleEntry(1)
	large.Woven = make([]byte, 32<<10)
	if err := d.Put(t.Context(), sampleKey(1), large); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestCacheThatGoesAway: somebody removes the directory while it is in use.
func TestCacheThatGoesAway(t *testing.T) {
	d := openDisk(t, Options{})
	fill(t, d, 0, 3)
	for shard := range 256 {
		if err := os.RemoveAll(filepath.Join(d.Dir(), shardName(byte(shard)))); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, d, 0, 3) // the directories of entries are made again
	if err := os.RemoveAll(d.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if err := d.Put(t.Context(), sampleKey(5), sampleEntry(5)); !errors.Is(err, ErrNoCache) {
		t.Error(err)
	}
}
