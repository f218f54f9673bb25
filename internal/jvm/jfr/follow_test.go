package jfr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A written is a chunk in a repository, written flush by flush as the JVM does.
type written struct {
	t          *testing.T
	path       string
	w          writer
	metadata   int64
	checkpoint int64
}

func startChunk(t *testing.T, dir, name string) *written {
	t.Helper()
	c := &written{t: t, path: filepath.Join(dir, name), w: writer{b: make([]byte, headerSize)}}
	c.w.header(headerSize, 0, 0, 1)
	c.save()
	return c
}

// save writes the file in place, as those who have it open must see it.
func (c *written) save() {
	c.t.Helper()
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(c.w.b, 0); err != nil {
		c.t.Fatal(err)
	}
}

// flush adds values, and metadata the first time, and says so in the header.
func (c *written) flush(state byte) {
	c.t.Helper()
	if c.metadata == 0 {
		c.metadata = int64(len(c.w.b))
		c.w.metadata(syntheticClasses)
	}
	at := int64(len(c.w.b))
	c.w.values(c.checkpoint - at)
	c.checkpoint = at
	c.w.header(int64(len(c.w.b)), c.checkpoint, c.metadata, state)
	c.save()
}

func pollTicks(t *testing.T, f *Follower) (ticks []int64) {
	t.Helper()
	b, err := f.Poll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range b.Losses {
		t.Error(l)
	}
	for _, s := range b.Samples {
		ticks = append(ticks, (s.At.UnixNano()-testNanos)/100)
		if len(s.Stack.Frames) != 2 {
			t.Errorf("the sample at %d has no stack", ticks[len(ticks)-1])
		}
	}
	return ticks
}

func wantTicks(t *testing.T, f *Follower, when string, want ...int64) {
	t.Helper()
	got := pollTicks(t, f)
	if len(got) != len(want) {
		t.Fatalf("%s: samples at %v, want %v", when, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: samples at %v, want %v", when, got, want)
		}
	}
}

func TestFollowingAChunkFlushByFlush(t *testing.T) {
	dir := t.TempDir()
	f := Follow(dir)
	defer f.Close()
	wantTicks(t, f, "in an empty repository")
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	wantTicks(t, f, "of a chunk without events")
	c.w.sample(10, 1)
	c.flush(2)
	c.w.sample(20, 2) // written, but not flushed
	c.save()
	wantTicks(t, f, "of the first flush", 10)
	wantTicks(t, f, "of nothing new")
	c.flush(stateRewritten)
	wantTicks(t, f, "while the header is rewritten")
	c.flush(3)
	wantTicks(t, f, "of the second flush", 20)

	next := startChunk(t, dir, "2026_01_01_00_00_01.jfr")
	next.w.sample(40, 1)
	next.flush(2)
	c.w.sample(30, 1)
	c.flush(stateFinished)
	wantTicks(t, f, "of the rest of one chunk and the first of the next", 30, 40)
	c.w.sample(35, 1)
	c.save()
	next.w.sample(50, 1)
	next.flush(stateFinished)
	wantTicks(t, f, "of the last flush", 50)
}

func TestFollowingWhatIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repository")
	f := Follow(dir)
	defer f.Close()
	if _, err := f.Poll(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("polling a repository that is not there: %v, want %v", err, fs.ErrNotExist)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr.part")
	c.w.sample(10, 1)
	c.flush(2)
	wantTicks(t, f, "of the first flush", 10)
	final := filepath.Join(dir, "2026_01_01_00_00_00.jfr")
	if err := os.Rename(c.path, final); err != nil {
		t.Fatal(err)
	}
	c.path = final
	c.w.sample(20, 1)
	c.flush(stateFinished)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantTicks(t, f, "of a file that is open and gone", 20)
	wantTicks(t, f, "of a repository that is gone")
}

func TestFollowingSince(t *testing.T) {
	dir := t.TempDir()
	old := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	old.w.sample(10, 1)
	old.flush(stateFinished)
	c := startChunk(t, dir, "2026_01_01_00_00_01.jfr")
	c.w.sample(20, 1)
	c.w.sample(30, 1)
	c.flush(2)
	f := Follow(dir)
	defer f.Close()
	f.Since(time.Unix(0, testNanos+30*100))
	var watched []int64
	f.Watch(Visitor{Event: func(e *Event) bool {
		watched = append(watched, (e.Start().UnixNano()-testNanos)/100)
		return true
	}})
	wantTicks(t, f, "since the third", 30)
	if len(watched) != 1 || watched[0] != 30 {
		t.Errorf("watched %v, want the third only", watched)
	}
}

// TestFollowingStacksThatComeLate holds a sample back until its stack is there.
func TestFollowingStacksThatComeLate(t *testing.T) {
	dir := t.TempDir()
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	c.w.sample(10, 1)
	c.metadata = int64(len(c.w.b))
	c.w.metadata(syntheticClasses)
	c.w.header(int64(len(c.w.b)), 0, c.metadata, 2)
	c.save()
	f := Follow(dir)
	defer f.Close()
	wantTicks(t, f, "whose stack is not there yet")
	c.flush(3)
	wantTicks(t, f, "whose stack is there now", 10)
}

func TestFollowingOtherVersions(t *testing.T) {
	dir := t.TempDir()
	old := otherVersion(syntheticChunk(false))
	if err := os.WriteFile(filepath.Join(dir, "2026_01_01_00_00_00.jfr"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hs_err.jfr"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Follow(dir)
	defer f.Close()
	b, err := f.Poll()
	if err != nil || len(b.Losses) != 2 || b.Losses[0].Defect != OtherVersion || b.Losses[1].Defect != Corrupt {
		t.Errorf("losses %v, error %v; want one of another version and one that is no recording", b.Losses, err)
	}
	if b, err = f.Poll(); err != nil || len(b.Losses) != 0 {
		t.Errorf("said again: %v, error %v", b.Losses, err)
	}
}

// FuzzFollow holds that a chunk whose bytes come in two flushes is read to its
// end, whatever they are, with no more samples than there are bytes.
func FuzzFollow(f *testing.F) {
	for _, fixed := range []bool{false, true} {
		chunk := syntheticChunk(fixed)[headerSize:]
		for _, at := range []int{0, len(chunk) / 3, len(chunk)} {
			f.Add(chunk[:at], chunk[at:], fixed)
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte, fixed bool) {
		w := writer{fixed: fixed, b: make([]byte, headerSize)}
		w.header(int64(headerSize+len(first)+len(second)), headerSize, headerSize, stateFinished)
		h, err := parseHeader(w.b)
		if err != nil {
			t.Fatal(err)
		}
		ch := newChunk(h, "", 0)
		ch.live, ch.samples = true, true
		ch.add(piece{data: first, at: headerSize})
		ch.add(piece{data: second, at: int64(headerSize + len(first))})
		ch.finish()
		if n := len(ch.out.Samples); n > len(first)+len(second) {
			t.Errorf("%d samples in %d bytes", n, len(first)+len(second))
		}
	})
}
