package targetfs

import (
	"errors"
	"fmt"
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

// isPrivate makes sure of a file's type, its owner, and that others cannot use it.
func isPrivate(t *testing.T, name string, mode os.FileMode, jvm *process.JVM) {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Error(err)
		return
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode() != mode || stat.Uid != jvm.UID || stat.Gid != jvm.GID {
		t.Errorf("%s: %v of %d:%d, want %v of %d:%d", name, info.Mode(), stat.Uid, stat.Gid, mode, jvm.UID, jvm.GID)
	}
}

func isGone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", name, err)
	}
}

// everything makes all there is to make and returns the paths.
func everything(t *testing.T, f *Foothold) (jar, socket, session, arena string) {
	t.Helper()
	j, err := f.PlaceJar([]byte("jar of " + t.Name()))
	if err != nil || j.Remark != "" {
		t.Fatal(j, err)
	}
	l, err := f.ListenUnix()
	if err != nil {
		t.Fatal(err)
	}
	session, err = f.WriteSession(Session{Jar: j.Path, Socket: l.Socket, Token: random(32), Proof: random(32), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Arena(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ListenLoopback(); err != nil {
		t.Fatal(err)
	}
	return j.Path, l.Socket, session, a.Path()
}

func TestMakeAndRemove(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			f := mustMake(t, g.jvm)
			jar, socket, session, arena := everything(t, f)
			isPrivate(t, g.seen(f.Path()), os.ModeDir|0o700, g.jvm)
			isPrivate(t, g.seen(filepath.Dir(jar)), os.ModeDir|0o700, g.jvm)
			isPrivate(t, g.seen(socket), os.ModeSocket|0o600, g.jvm)
			isPrivate(t, g.seen(jar), os.ModeSticky|0o600, g.jvm)
			for _, file := range []string{session, arena} {
				isPrivate(t, g.seen(file), 0o600, g.jvm)
			}
			if !strings.HasPrefix(f.Path(), fmt.Sprintf("/tmp/.sonde-%d-", g.jvm.NamespacePID)) || filepath.Dir(jar) != fmt.Sprintf("/tmp/.sonde-%d", g.jvm.UID) {
				t.Error(f.Path(), jar)
			}
			for range 2 {
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
			for _, gone := range []string{f.Path(), arena} {
				isGone(t, g.seen(gone))
			}
			if g.alone() {
				isGone(t, g.seen(filepath.Dir(jar)))
			}
			if _, err := f.PlaceJar(nil); !errors.Is(err, ErrFiles) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

// TestAsNobody does it all without root's power, for a JVM of one's own.
func TestAsNobody(t *testing.T) {
	const variable = "SONDE_TEST_FOOTHOLD_PID"
	if text := os.Getenv(variable); text != "" {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		f := mustMake(t, inspect(t, pid))
		_, _, _, arena := everything(t, f)
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
		for _, gone := range []string{f.Path(), arena} {
			isGone(t, gone)
		}
		if _, err := Make(&process.JVM{PID: os.Getppid(), User: "root"}); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "root") {
			t.Errorf("root's: %v", err)
		}
		return
	}
	g := startGuest(t, oldest(t), jvmtest.AsNobody(t))
	jvmtest.AgainAsNobody(t, fmt.Sprintf("%s=%d", variable, g.jvm.PID))
}

// TestRemoveAfterTheEnd: the target and its namespaces are gone.
func TestRemoveAfterTheEnd(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			tmp, err := process.Local.OpenInside(g.jvm.PID, "/tmp", unix.O_RDONLY|unix.O_DIRECTORY)
			if err != nil {
				t.Fatal(err)
			}
			defer tmp.Close()
			f := mustMake(t, g.jvm)
			jar, _, _, arena := everything(t, f)
			g.end()
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
			names, err := tmp.Readdirnames(-1)
			if err != nil || slices.Contains(names, filepath.Base(f.Path())) || g.alone() && slices.Contains(names, filepath.Base(filepath.Dir(jar))) {
				t.Errorf("left: %v, %v", names, err)
			}
			isGone(t, arena) // /dev/shm is ours too
			if _, err := Make(g.jvm); !errors.Is(err, ErrGone) {
				t.Errorf("made for a process that is gone: %v", err)
			}
		})
	}
}

// TestRemoveOnlyOurs: what others put into the directory stays, and is named.
func TestRemoveOnlyOurs(t *testing.T) {
	dir := ownPlace(t)
	f, err := Make(startGuest(t, oldest(t), nil).jvm)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(f.Path(), "foreign")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	everything(t, f)
	if err := f.Remove(); !errors.Is(err, ErrLeft) || !strings.Contains(err.Error(), f.Path()) {
		t.Error(err)
	}
	entries, err := os.ReadDir(f.Path())
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(foreign), f.Remove()); err != nil {
		t.Error(err)
	}
	noneIn(t, dir)
}

func TestPlaces(t *testing.T) {
	for options, want := range map[string]string{"rw": "/tmp/", "ro": "/dev/shm/", "mode=0777": "/dev/shm/", "mode=0755,uid=1": "/dev/shm/"} {
		g := startGuest(t, oldest(t), slices.Concat(jvmtest.OtherNamespaces(t, options), jvmtest.AsNobody(t)))
		f := mustMake(t, g.jvm)
		if jar, err := f.PlaceJar([]byte("x")); !strings.HasPrefix(f.Path(), want) || err != nil || !strings.HasPrefix(jar.Path, want) {
			t.Errorf("%s: %s, %+v, %v", options, f.Path(), jar, err)
		}
	}
}

func TestNoPlace(t *testing.T) {
	only(t, "/tmp")
	for options, kind := range map[string]error{"ro": ErrReadOnly, "mode=0777": ErrUnsafe, "mode=0755,uid=1": ErrUnsafe, "nr_inodes=1": ErrFull, "mode=0755": ErrReadOnly} {
		g := startGuest(t, oldest(t), slices.Concat(jvmtest.OtherNamespaces(t, options), jvmtest.AsNobody(t)))
		_, err := Make(g.jvm)
		if !errors.Is(err, kind) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", options, err)
		}
	}
}
