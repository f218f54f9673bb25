package targetfs

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// allocatedBytes is what a file really takes.
func allocatedBytes(t *testing.T, a *Arena) int64 {
	t.Helper()
	info, err := a.File.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != a.Size {
		t.Errorf("size %d of %d", info.Size(), a.Size)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

func TestArenaIsMapped(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			f := mustMake(t, g.jvm)
			a, err := f.Arena(0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(a.Path) != "/dev/shm" || a.Size != DefaultArenaSize || a.Allocated() != 1<<20 {
				t.Errorf("%+v", a)
			}
			if found, err := Find(g.jvm); err != nil || len(found.Arenas) > 0 || found.Standby || inspect(t, g.jvm.PID).Inside != process.Outside {
				t.Errorf("before: %+v, %v", found, err)
			}
			if did := g.does(t, "map", a.Path, strconv.Itoa(1<<20)); did != "map" {
				t.Fatal(did)
			}
			found, err := Find(g.jvm)
			if err != nil || len(found.Arenas) != 1 || filepath.Base(found.Arenas[0]) != filepath.Base(a.Path) {
				t.Errorf("mapped: %+v, %v", found, err)
			}
			number := make([]byte, 8)
			if _, err := a.File.ReadAt(number, 0); err != nil || binary.BigEndian.Uint64(number) != 4711 {
				t.Errorf("%v, %v", number, err)
			}
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
			if inspect(t, g.jvm.PID).Inside != process.Inside {
				t.Error("a mapping outlives the file's name")
			}
			if err := a.Grow(2 << 20); !errors.Is(err, os.ErrClosed) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

func TestArenaGrows(t *testing.T) {
	real := fallocate
	t.Cleanup(func() { fallocate = real })
	interrupted := true
	for name, fn := range map[string]func(int, int64, int64) error{
		"fallocate": real,
		"zeros":     func(int, int64, int64) error { return unix.EOPNOTSUPP },
		"interrupted": func(fd int, offset, length int64) error {
			if interrupted = !interrupted; !interrupted {
				return unix.EINTR
			}
			return real(fd, offset, length)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fallocate = fn
			f := mustMake(t, startGuest(t, oldest(t), nil).jvm)
			a, err := f.Arena(64<<20, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, upTo := range []int64{0, 1 << 20, 3<<20 + 4096, 36 << 20} {
				if err := a.Grow(upTo); err != nil {
					t.Error(err)
				}
				if took := allocatedBytes(t, a); took != max(upTo, 1<<20) || a.Allocated() != took {
					t.Errorf("grown to %d: %d, %d", upTo, took, a.Allocated())
				}
			}
			if err := a.Grow(64<<20 + 1); !errors.Is(err, ErrFull) || a.Allocated() != 36<<20 {
				t.Errorf("beyond its end: %v", err)
			}
			if err := errors.Join(f.Remove(), f.Remove()); err != nil {
				t.Error(err)
			}
			isGone(t, a.Path)
		})
	}
}

// smallMemory runs a command with a small /dev/shm, in namespaces of its own.
func smallMemory(t *testing.T, tmpOptions string) []string {
	t.Helper()
	const setUp = `mount -t tmpfs -o size=1m none /dev/shm && exec "$@"`
	return slices.Concat(jvmtest.OtherNamespaces(t, tmpOptions), []string{"sh", "-c", setUp, "sh"}, jvmtest.AsNobody(t))
}

func TestFull(t *testing.T) {
	g := startGuest(t, oldest(t), smallMemory(t, "size=8m"))
	f := mustMake(t, g.jvm)
	a, err := f.Arena(0, 2<<20)
	if err != nil || filepath.Dir(a.Path) != "/tmp" {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := a.Grow(16 << 20); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "/tmp") {
		t.Errorf("%v", err)
	}
	// What was allocated before can still be written.
	if did := g.does(t, "map", a.Path, strconv.Itoa(2<<20)); did != "map" {
		t.Error(did)
	}
	if _, err := f.Arena(0, 4<<20); !errors.Is(err, ErrFull) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if _, err := f.PlaceJar(make([]byte, 9<<20)); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if b, err := f.Arena(0, 1<<18); err != nil || filepath.Dir(b.Path) != "/dev/shm" {
		t.Errorf("%+v, %v", b, err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	noneIn(t, g.seen("/tmp"))
	noneIn(t, g.seen("/dev/shm"))
}

// TestFullTmp: the files go where there is room.
func TestFullTmp(t *testing.T) {
	g := startGuest(t, oldest(t), slices.Concat(jvmtest.OtherNamespaces(t, "size=256k"), jvmtest.AsNobody(t)))
	f := mustMake(t, g.jvm)
	if !strings.HasPrefix(f.own.path, "/dev/shm/") {
		t.Errorf("the foothold is in %s, want /dev/shm", f.own.path)
	}
	path := g.seen(f.own.path)
	if _, err := f.PlaceJar(make([]byte, 400<<10)); err != nil {
		t.Error(err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	noneIn(t, g.seen("/tmp"))
	isGone(t, path)
}

func TestArenaNowhere(t *testing.T) {
	g := startGuest(t, oldest(t), smallMemory(t, "ro"))
	only(t, "/dev/shm", "/tmp")
	f := mustMake(t, g.jvm)
	if _, err := f.Arena(0, 4<<20); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	for _, wrong := range [][2]int64{{1 << 20, 2 << 20}, {1 << 20, -1}} {
		if _, err := f.Arena(wrong[0], wrong[1]); !errors.Is(err, ErrFiles) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
