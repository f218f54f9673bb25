package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// mountDisk mounts a file system in memory.
func mountDisk(t *testing.T, kilobytes int) string {
	t.Helper()
	needRoot(t, "mount a disk")
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("sonde-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=700", kilobytes)); err != nil {
		t.Skipf("NOT TESTED: a disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// wantWorkGoesOn uses a cache that cannot be written as a command does.
func wantWorkGoesOn(t *testing.T, d *Disk, kind error, from, to int) {
	t.Helper()
	var reported []error
	c := newCache(d, func(err error) { reported = append(reported, err) })
	fillCache(t, c, from, to) // fails silently
	if err := c.writes.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(reported) != 1 {
		t.Fatalf("reported %d times: %v", len(reported), reported)
	}
	wantDirError(t, reported[0], kind)
	if _, err := c.Get(t.Context(), sampleKey(0)); err != nil {
		t.Errorf("an existing entry cannot be read any more: %v", err)
	}
	if _, err := c.Get(t.Context(), sampleKey(to-1)); !errors.Is(err, ErrMissing) {
		t.Errorf("the last entry was stored: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := mountDisk(t, 256)
	d := openDisk(t, Options{Dir: filepath.Join(dir, "cache")})
	fill(t, d, 0, 1)
	wantWorkGoesOn(t, d, ErrFull, 1, 200)
	if n := d.Unfinished(); n != 0 {
		t.Errorf("%d files are left", n)
	}
	whole := 0
	err := d.Each(t.Context(), nil, func(item Item) error {
		whole++
		return item.Err
	})
	if err != nil || whole < 10 {
		t.Errorf("%d entries, %v", whole, err)
	}
	// When there is space again it is used.
	if _, err := d.Prune(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	fill(t, d, 0, 5)
}

// TestFullDiskFromTheStart has no space even for an empty cache.
func TestFullDiskFromTheStart(t *testing.T) {
	dir := mountDisk(t, 64)
	if err := os.WriteFile(filepath.Join(dir, "film"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	_, err := OpenDisk(Options{Dir: filepath.Join(dir, "cache")})
	wantDirError(t, err, ErrFull)
}

func TestReadOnlyDisk(t *testing.T) {
	dir := mountDisk(t, 1024)
	made := openDisk(t, Options{Dir: filepath.Join(dir, "cache")})
	fill(t, made, 0, 3)
	if err := errors.Join(made.Close(), unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	d := openDisk(t, Options{Dir: made.Dir()})
	wantWorkGoesOn(t, d, ErrReadOnly, 3, 10)

	_, err := OpenDisk(Options{Dir: filepath.Join(dir, "another")})
	wantDirError(t, err, ErrReadOnly)
}

// TestStrangerReadsSharedEntries: another user can read the entries of root only if they
// are shared.
func TestStrangerReadsSharedEntries(t *testing.T) {
	needRoot(t, "do something as another user")
	// The directories that tests get are for their own user.
	base, err := os.MkdirTemp("", "sonde-shared")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	shared := openDisk(t, Options{Dir: filepath.Join(base, "shared"), Sharing: WithEveryone})
	private := openDisk(t, Options{Dir: filepath.Join(base, "private")})
	fill(t, shared, 0, 3)
	fill(t, private, 0, 3)
	ctx := t.Context()
	asStranger(t, func() error {
		d, err := OpenDisk(Options{Dir: shared.Dir()})
		if err != nil {
			return err
		}
		got, err := d.Get(ctx, sampleKey(1))
		if err != nil {
			return err
		}
		wantEntry(t, got, sampleEntry(1))
		if err := d.Put(ctx, sampleKey(5), sampleEntry(5)); !errors.Is(err, ErrReadOnly) {
			return fmt.Errorf("putting: %w", err)
		}
		_, err = OpenDisk(Options{Dir: private.Dir()})
		if !errors.Is(err, ErrDenied) {
			return fmt.Errorf("opening the private cache: %w", err)
		}
		return d.Close()
	})
}

// asStranger calls do as another user, on a thread that ends with it.
func asStranger(t *testing.T, do func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: no other goroutine gets it
		keep := ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, stranger, keep); errno != 0 {
			done <- errno
			return
		}
		done <- do()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
