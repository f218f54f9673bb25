package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a process that hammers is told by its environment.
const (
	hammerDir   = "SONDE_CACHE_HAMMER_DIR"
	hammerBound = "SONDE_CACHE_HAMMER_BOUND"
	hammerFirst = "SONDE_CACHE_HAMMER_FIRST" // it adds entries from this on, and reads those of all
	hammerCount = "SONDE_CACHE_HAMMER_COUNT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(hammerDir); dir != "" {
		if err := hammer(dir); err != nil {
			fmt.Println("bad", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func numberFrom(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return n
}

// hammer puts entries into a cache and reads others, and says which it was told are
// stored: "stored NUMBER NANOS", with the time of the file. It goes on until it is
// killed.
func hammer(dir string) error {
	d, err := OpenDisk(Options{Dir: dir, Bound: int64(numberFrom(hammerBound))})
	if err != nil {
		return err
	}
	ctx := context.Background()
	first, count := numberFrom(hammerFirst), numberFrom(hammerCount)
	for n := first; ; n++ {
		if n == first+count {
			n = first
		}
		switch err := d.Put(ctx, sampleKey(n), sampleEntry(n)); {
		case errors.Is(err, ErrBusy):
			continue
		case err != nil:
			return err
		}
		var stat unix.Stat_t
		if unix.Fstatat(d.fd(), pathOf(sampleKey(n)), &stat, 0) != nil {
			stat = unix.Stat_t{} // it went already
		}
		// One write, so that whoever reads has all of a line or nothing.
		if _, err := os.Stdout.WriteString(fmt.Sprintf("stored %d %d\n", n, stat.Mtim.Nano())); err != nil {
			return err
		}
		if err := readAnother(ctx, d, rand.IntN(first+count)); err != nil {
			return err
		}
	}
}

func readAnother(ctx context.Context, d *Disk, n int) error {
	got, err := d.Get(ctx, sampleKey(n))
	switch {
	case errors.Is(err, ErrDamaged), err != nil && !errors.Is(err, ErrMissing):
		return err
	case err == nil && !reflect.DeepEqual(got, sampleEntry(n)):
		return fmt.Errorf("entry %d is another", n)
	}
	return nil
}

// hammering is what 32 processes were told.
type hammering struct {
	mu     sync.Mutex
	stored map[int]int64 // entries that were reported stored, with the times of their files
}

// hammerCache lets 32 processes at a cache. Each is killed after it has reported a
// number of entries that nobody knows, wherever it is then.
func hammerCache(t *testing.T, dir string, bound, each int, firstOf func(process int) int) *hammering {
	t.Helper()
	h := &hammering{stored: make(map[int]int64)}
	var running sync.WaitGroup
	for process := range 32 {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), hammerDir+"="+dir, hammerBound+"="+strconv.Itoa(bound),
			hammerFirst+"="+strconv.Itoa(firstOf(process)), hammerCount+"="+strconv.Itoa(each))
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			lines := bufio.NewScanner(out)
			for fatal := 1 + rand.IntN(each+each/2); lines.Scan(); fatal-- {
				if fatal == 0 {
					if err := command.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
				h.take(t, lines.Text())
			}
			_ = command.Wait() // it was killed
		})
	}
	running.Wait()
	return h
}

func (h *hammering) take(t *testing.T, line string) {
	var n int
	var at int64
	if _, err := fmt.Sscanf(line, "stored %d %d", &n, &at); err != nil {
		t.Error(line)
		return
	}
	h.mu.Lock()
	h.stored[n] = at
	h.mu.Unlock()
}

// wantWhole opens a cache after all that, and finds every entry in it right.
func wantWhole(t *testing.T, dir string, bound int) *Disk {
	t.Helper()
	d := openDisk(t, Options{Dir: dir, Bound: int64(bound)})
	d.now = func() time.Time { return time.Now().Add(2 * maxUnfinished) }
	d.sweep()
	if n := d.Unfinished(); n != 0 {
		t.Errorf("%d unfinished files are left", n)
	}
	d.now = time.Now
	if err := d.Each(t.Context(), nil, func(item Item) error { return item.Err }); err != nil {
		t.Error(err)
	}
	size := totalOnDisk(t, d)
	used, known := d.ledger.read()
	if !known || used < size || size > int64(bound) {
		t.Errorf("entries take %d bytes of %d, and the ledger says %d, %v", size, bound, used, known)
	}
	return d
}

// TestKilledProcesses: 32 processes put the same entries into one cache, with room for
// all, and are killed. Nothing that was reported stored is lost.
func TestKilledProcesses(t *testing.T) {
	const bound, each = 64 << 20, 40
	dir := openDisk(t, Options{Bound: bound}).Dir()
	h := hammerCache(t, dir, bound, each, func(process int) int { return process / 4 * each })
	d := wantWhole(t, dir, bound)
	for n := range h.stored {
		got, err := d.Get(t.Context(), sampleKey(n))
		if err != nil {
			t.Errorf("entry %d was stored: %v", n, err)
			continue
		}
		wantEntry(t, got, sampleEntry(n))
	}
	t.Logf("%d entries were reported stored", len(h.stored))
}

// TestKilledProcessesWithinBound: the same where a quarter has room. What was reported
// stored and is lost must be older than all that is left.
func TestKilledProcessesWithinBound(t *testing.T) {
	const bound, each = 2 << 20, 60
	dir := openDisk(t, Options{Bound: bound}).Dir()
	h := hammerCache(t, dir, bound, each, func(process int) int { return process * each })
	d := wantWhole(t, dir, bound)
	all, size, err := d.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[Key]bool)
	oldest := all[0].stat.Mtim.Nano()
	for i := range all {
		there[all[i].key] = true
		oldest = min(oldest, all[i].stat.Mtim.Nano())
	}
	lost := 0
	for n, at := range h.stored {
		if there[sampleKey(n)] {
			continue
		}
		lost++
		if at > oldest {
			t.Errorf("entry %d is lost, though one that is %d ns older is there", n, at-oldest)
		}
	}
	t.Logf("%d entries were reported stored, %d went, %d are left of %d bytes", len(h.stored), lost, len(all), size)
	if lost == 0 || size < bound/2 {
		t.Errorf("%d entries went, and %d bytes are left: no room was made", lost, size)
	}
}
