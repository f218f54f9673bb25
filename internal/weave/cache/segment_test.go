package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fillSegment puts samples into a cache, and gathers them.
func fillSegment(t testing.TB, d *Disk, from, to int) {
	t.Helper()
	fill(t, d, from, to)
	if err := d.Gather(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.loose.entries = nil // as for the next process
}

// removeFiles removes the files of samples: what is found then is found in a segment.
func removeFiles(t testing.TB, d *Disk, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := os.Remove(entryFile(d, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func segmentPath(d *Disk, which int) string { return filepath.Join(d.Dir(), segmentFiles[which]) }

func wantSamples(t testing.TB, d *Disk, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		got, err := d.Get(t.Context(), sampleKey(n))
		if err != nil {
			t.Fatalf("entry %d: %v", n, err)
		}
		wantEntry(t, got, sampleEntry(n))
	}
}

// TestSegmentsHaveAllThatIsGathered: the large one what there is, the small one what comes
// later, until that is much.
func TestSegmentsHaveAllThatIsGathered(t *testing.T) {
	made := openDisk(t, Options{})
	fillSegment(t, made, 0, 100)
	later := openDisk(t, Options{Dir: made.Dir()})
	fillSegment(t, later, 100, 105)
	wantMode(t, segmentPath(made, large), 0o600)
	wantMode(t, segmentPath(made, small), 0o600)
	d := openDisk(t, Options{Dir: made.Dir()})
	if used, known := d.ledger.read(); !known || used != sizeOnDisk(t, d) {
		t.Errorf("the ledger says %d, %v, there are %d", used, known, sizeOnDisk(t, d))
	}
	fillSegment(t, openDisk(t, Options{Dir: made.Dir()}), 105, 140)
	if _, err := os.Stat(segmentPath(d, small)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the small segment is still there: %v", err)
	}
	d = openDisk(t, Options{Dir: made.Dir()})
	removeFiles(t, d, 0, 140)
	wantSamples(t, d, 0, 140)
	if n := d.Unfinished(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// TestSegmentForgetsWhatWent: what room was made of is not gathered again.
func TestSegmentForgetsWhatWent(t *testing.T) {
	made := openDisk(t, Options{})
	fillSegment(t, made, 0, 10)
	removeFiles(t, made, 0, 5)
	fillSegment(t, openDisk(t, Options{Dir: made.Dir()}), 10, 20)
	d := openDisk(t, Options{Dir: made.Dir()})
	wantSamples(t, d, 5, 20)
	if _, err := d.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// TestDamagedSegmentHarmsNone: whatever is wrong with it, entries are had from their files.
func TestDamagedSegmentHarmsNone(t *testing.T) {
	const samples = 20
	made := openDisk(t, Options{})
	fillSegment(t, made, 0, samples)
	whole, err := os.ReadFile(segmentPath(made, large))
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(t *testing.T, file []byte) *Disk {
		if err := os.WriteFile(segmentPath(made, large), file, 0o600); err != nil {
			t.Fatal(err)
		}
		d := openDisk(t, Options{Dir: made.Dir()})
		wantSamples(t, d, 0, samples)
		return d
	}
	for _, size := range []int{0, 1, tailSize - 1, tailSize, len(whole) / 2, len(whole) - 1} {
		t.Run(fmt.Sprint("cut at ", size), func(t *testing.T) { spoil(t, whole[:size]) })
	}
	index := len(whole) - tailSize - rowSize*samples
	for at := range whole {
		if at < index && at%997 != 0 || at >= index && at%19 != 0 {
			continue // one byte in some
		}
		spoiled := append([]byte(nil), whole...)
		spoiled[at] ^= 1 << (at % 8)
		spoil(t, spoiled)
	}
	d := spoil(t, make([]byte, len(whole)))
	if _, err := os.Stat(segmentPath(d, large)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a segment that is none is still there: %v", err)
	}
}

// TestSegmentNobodyElseMayWrite is looked at as entries are.
func TestSegmentNobodyElseMayWrite(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"mode": func(file string) error { return os.Chmod(file, 0o620) },
		"link": func(file string) error {
			return errors.Join(os.Rename(file, file+".away"), os.Symlink(file+".away", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := openDisk(t, Options{})
			fillSegment(t, made, 0, 3)
			if err := spoil(segmentPath(made, large)); err != nil {
				t.Fatal(err)
			}
			d := openDisk(t, Options{Dir: made.Dir()})
			_, err := d.Get(t.Context(), sampleKey(0))
			wantDirError(t, err, ErrUntrusted)
		})
	}
}

// TestSegmentIsBounded takes no more than its share, and goes when all has to.
func TestSegmentIsBounded(t *testing.T) {
	const bound = 1 << 20
	d := openDisk(t, Options{Bound: bound})
	fillSegment(t, d, 0, 100)
	info, err := os.Stat(segmentPath(d, large))
	if err != nil || info.Size() > bound/8 || info.Size() < bound/16 {
		t.Fatal(info, err)
	}
	before := sizeOnDisk(t, d)
	gone, err := d.Prune(t.Context(), 0)
	if err != nil || gone.Left != 0 || gone.Bytes != before || sizeOnDisk(t, d) != 0 {
		t.Errorf("%+v of %d, %v", gone, before, err)
	}
	if _, err := openDisk(t, Options{Dir: d.Dir()}).Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// TestUseIsNotedInSegment: what was of use there goes later than what was not.
func TestUseIsNotedInSegment(t *testing.T) {
	made := openDisk(t, Options{})
	fillSegment(t, made, 0, 4)
	old := time.Now().Add(-48 * time.Hour)
	for n := range 4 {
		at := old.Add(time.Duration(n) * time.Minute)
		if err := os.Chtimes(entryFile(made, n), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d := openDisk(t, Options{Dir: made.Dir()})
	wantSamples(t, d, 0, 1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDisk(t, Options{Dir: made.Dir()})
	var order []Key
	err := d.Each(t.Context(), nil, func(item Item) error {
		order = append(order, item.Key)
		return item.Err
	})
	if err != nil || len(order) != 4 || order[0] != sampleKey(0) || order[1] != sampleKey(3) {
		t.Errorf("%v, %v", order, err)
	}
	// Hours stay when all is gathered anew.
	fillSegment(t, d, 4, 8)
	if noted, _ := openDisk(t, Options{Dir: made.Dir()}).notes(); len(noted) != 1 || time.Since(noted[order[0].start()]) > 2*time.Hour {
		t.Error(noted)
	}
}
