package cache

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// later keeps what is to be done later, until a test does it.
type later struct {
	waits []time.Duration
	due   []func()
}

func (l *later) after(wait time.Duration, fn func()) {
	l.waits = append(l.waits, wait)
	l.due = append(l.due, fn)
}

func (l *later) come() {
	due := l.due
	l.due = nil
	for _, fn := range due {
		fn()
	}
}

// TestEntriesAreGatheredWhileTheirProcessRuns: who comes while it does, or after it was
// killed, finds them in a segment.
func TestEntriesAreGatheredWhileTheirProcessRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := Open(Options{Dir: dir}, func(err error) { t.Error(err) })
	var clock later
	c.gathering.after = clock.after
	for _, part := range []struct{ from, to int }{{0, 20}, {20, 23}} {
		fill(t, c, part.from, part.to)
		if len(clock.due) != 1 {
			t.Fatalf("it is to be gathered %d times", len(clock.due))
		}
		clock.come()
		removeFiles(t, c.disk, part.from, part.to) // of this process too nobody needs them
		wantSamples(t, openDisk(t, Options{Dir: dir}), part.from, part.to)
		wantSamples(t, c.disk, part.from, part.to)
	}
	if len(clock.waits) != 2 || clock.waits[0] != gatherSoon || clock.waits[1] != gatherRest {
		t.Errorf("it waited for %v", clock.waits)
	}
	fill(t, c, 23, 24)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.come() // it comes too late, and does nothing
	wantSamples(t, openDisk(t, Options{Dir: dir}), 23, 24)
}

// TestEndBreaksOffGathering: nobody waits at the end for what can be done another time.
func TestEndBreaksOffGathering(t *testing.T) {
	began := make(chan struct{})
	g := newGathering(func(ctx context.Context) {
		close(began)
		<-ctx.Done()
	})
	g.after = func(_ time.Duration, fn func()) { go fn() }
	g.want()
	<-began
	g.end()
	g.want() // it is over
}

// TestSegmentsOfOthersAreSeen by a process that was at work before they were gathered.
func TestSegmentsOfOthersAreSeen(t *testing.T) {
	made := openDisk(t, Options{})
	fill(t, made, 0, 10)
	d := openDisk(t, Options{Dir: made.Dir()})
	at := time.Now()
	d.now = func() time.Time { return at }
	wantSamples(t, d, 0, 1) // there is no segment yet
	if err := made.Gather(t.Context()); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Minute)
	wantSamples(t, d, 1, 2) // in its file, and another look is due
	removeFiles(t, d, 0, 10)
	wantSamples(t, d, 0, 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUsesAreKnownInTheNextSegment although that was made by somebody else meanwhile.
func TestUsesAreKnownInTheNextSegment(t *testing.T) {
	made := openDisk(t, Options{})
	fillSegment(t, made, 0, 10)
	d := openDisk(t, Options{Dir: made.Dir()})
	at := time.Now().Add(100 * rest)
	d.now = func() time.Time { return at }
	wantSamples(t, d, 3, 4)
	fillSegment(t, openDisk(t, Options{Dir: made.Dir()}), 10, 30)
	d.renewNow()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	noted, _ := openDisk(t, Options{Dir: made.Dir()}).notes()
	used, unused := sampleKey(3), sampleKey(4)
	if !noted[used.start()].After(at.Add(-2*rest)) || noted[unused.start()].After(at.Add(-2*rest)) {
		t.Errorf("used at %v, the other at %v", noted[used.start()], noted[unused.start()])
	}
}
