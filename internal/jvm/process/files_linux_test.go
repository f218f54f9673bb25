package process

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

const nobody = 65534

// mapShared makes a file that this process shares memory with, until it is unmapped.
func mapShared(t *testing.T, name string) (unmap func()) { return mapFile(t, name, syscall.MAP_SHARED) }

func mapFile(t *testing.T, name string, how int) (unmap func()) {
	t.Helper()
	if err := os.WriteFile(name, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, how)
	if err != nil {
		t.Fatal(err)
	}
	unmap = sync.OnceFunc(func() {
		if err := syscall.Munmap(mapped); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(unmap)
	return unmap
}

func TestOpenMapped(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	unmap := mapShared(t, in("arena"))
	mapFile(t, in("private"), syscall.MAP_PRIVATE)
	twin := filepath.Join(other, "arena")
	err := errors.Join(os.WriteFile(twin, make([]byte, 4096), 0o600), syscall.Mkfifo(in("pipe"), 0o600), os.Symlink(in("arena"), in("link")))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		in("arena"): nil, twin: ErrNotMapped, in("private"): ErrNotMapped, in("pipe"): ErrNotPlain, in("link"): ErrNotPlain,
		"/dev/null": ErrNotPlain, dir: ErrNotPlain, in("none"): os.ErrNotExist,
	} {
		for _, flags := range []int{os.O_RDONLY, os.O_RDWR} {
			file, err := Local.OpenMapped(thisJVM(), name, flags)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil {
				continue
			}
			if _, err := file.WriteAt([]byte{1}, 0); (err == nil) != (flags == os.O_RDWR) {
				t.Errorf("written: %v", err)
			}
			_ = file.Close()
		}
	}
	unmap()
	if _, err := Local.OpenMapped(thisJVM(), in("arena"), os.O_RDONLY); !errors.Is(err, ErrNotMapped) {
		t.Errorf("unmapped: %v", err)
	}
}

func TestOpenMappedOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files cannot be given to another user here (be root)")
	}
	name := filepath.Join(t.TempDir(), "arena")
	mapShared(t, name)
	for _, tt := range []struct {
		owner, user int
		want        error
	}{{0, 0, nil}, {nobody, nobody, nil}, {0, nobody, nil}, {nobody, 0, ErrForeign}, {nobody, 1, ErrForeign}} {
		if err := os.Chown(name, tt.owner, tt.owner); err != nil {
			t.Fatal(err)
		}
		j := thisJVM()
		j.UID = uint32(tt.user)
		file, err := Local.OpenMapped(j, name, os.O_RDWR)
		if !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
		if err == nil {
			_ = file.Close()
		}
	}
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(dir, "inside"), []byte("x"), 0o600), os.Symlink("/etc/passwd", filepath.Join(dir, "outside")),
		os.Symlink("inside", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	for _, name := range []string{dir, filepath.Base(dir), "../" + filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)} {
		folder, err := Local.OpenFolder(thisJVM(), name)
		if err != nil {
			t.Fatal(err)
		}
		for inner, want := range map[string]error{
			"inside": nil, "link": nil, ".": nil, "outside": fs.ErrNotExist, "pipe": ErrNotPlain, "..": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid,
		} {
			file, err := folder.Open(inner)
			if !errors.Is(err, want) {
				t.Errorf("%s in %s: %v, want %v", inner, name, err, want)
			}
			if err == nil {
				_ = file.Close()
			}
		}
		if entries, err := folder.List(3); err != nil || len(entries) != 3 {
			t.Errorf("%s: %v, %v; want three entries", name, entries, err)
		}
		_ = folder.Close()
	}
	if folder, err := Local.OpenFolder(thisJVM(), "/etc/passwd"); err == nil {
		_ = folder.Close()
		t.Error("a file was opened as a folder")
	}
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(in("pack"), []byte("x"), 0o600), os.WriteFile(in("empty"), nil, 0o600), os.WriteFile(in("large"), []byte("large"), 0o600),
		syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pack", in("link")))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, want := range map[string]error{
		in("pack"): nil, in("link"): nil, "pack": nil, "../" + filepath.Base(dir) + "/pack": nil, in("empty"): ErrEmpty, in("large"): ErrTooLarge,
		in("pipe"): ErrNotPlain, "/dev/null": ErrNotPlain, "/proc/self/environ": ErrEmpty, dir: ErrNotPlain, in("none"): os.ErrNotExist,
	} {
		file, err := Local.OpenFile(thisJVM(), name, 4)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = file.Close()
		}
	}
	info, err := os.Stat(in("pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []uint32{0, nobody - 1} {
		if err := NamedBy(nobody, 4)(info, owner); !errors.Is(err, ErrForeign) {
			t.Errorf("a file of user %d: %v, want %v", owner, err, ErrForeign)
		}
	}
	if err := os.Chmod(in("pack"), 0o604); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(in("pack")); err != nil || NamedBy(nobody, 4)(info, 0) != nil {
		t.Errorf("a file that all may read: %v", err)
	}
}

// TestFilesAreOpenedAsTheUser: root opens what a JVM names only if the user of the JVM could.
func TestFilesAreOpenedAsTheUser(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	const group = 4711
	dir := jvmtest.PublicDirectory(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(in("public"), []byte("x"), 0o644), os.WriteFile(in("secret"), []byte("x"), 0o600), os.WriteFile(in("shared"), []byte("x"), 0o640),
		os.Chown(in("shared"), 0, group), os.Symlink("secret", in("link")),
		os.Mkdir(in("closed"), 0o700), os.WriteFile(in("closed/file"), []byte("x"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	j := thisJVM()
	j.UID, j.GID, j.Groups = nobody, nobody, []uint32{group}
	folder, err := Local.OpenFolder(j, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	for name, want := range map[string]error{
		"public": nil, "shared": nil, "secret": fs.ErrPermission, "link": fs.ErrPermission, "closed/file": fs.ErrPermission,
	} {
		file, err := Local.OpenFile(j, in(name), 4)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		inner, failed := folder.Open(name)
		if !errors.Is(failed, want) {
			t.Errorf("%s in its folder: %v, want %v", name, failed, want)
		}
		if err == nil && failed == nil {
			_ = errors.Join(file.Close(), inner.Close())
		}
	}
	closed, err := Local.OpenFolder(j, in("closed"))
	if err == nil {
		_, err = closed.List(1)
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a closed folder: %v", err)
	}
}

// TestOptionsAreReadAsTheUser: a process that names a file of root's as its options does not learn, nor make root print,
// what the file contains.
func TestOptionsAreReadAsTheUser(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	const pid = 7
	h := Host{Proc: jvmtest.PublicDirectory(t)}
	for _, dir := range []string{"root", "fd", "task"} {
		if err := os.MkdirAll(h.Path(pid, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"status": "Uid:\t65534\t65534\nGid:\t65534\t65534\nGroups:\t\n", "cmdline": "java\x00@/shadow\x00@/public\x00",
		"stat": "7 (java) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0", "maps": "7f1-7f2 r-xp 00000000 fe:00 1 /lib/server/libjvm.so\n",
		"environ": "", "../uptime": "100 100\n", "root/public": "Main",
	} {
		if err := os.WriteFile(h.Path(pid, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.WriteFile(h.Path(pid, "root/shadow"), []byte("root:$6$secret:1:"), 0o600), os.Symlink("/usr/bin/java", h.Path(pid, "exe")))
	if err != nil {
		t.Fatal(err)
	}
	if j, err := h.Inspect(pid); err != nil || j.Main != "Main" {
		t.Errorf("%+v, %v; want the main class Main", j, err)
	}
}

func TestParsePackNotice(t *testing.T) {
	for text, want := range map[string]Pack{
		"/tmp/a.arena\n/x/a b.pack\n": {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"/tmp/a.arena\n/x/a b.pack":   {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"\n/x/a.pack\nit is gone\n":   {Path: "/x/a.pack", Problem: "it is gone"},
		"\n\nan argument\n":           {Problem: "an argument"},
		"\n/x/a.pack\n":               {Path: "/x/a.pack", Problem: "the agent reported no reason"},
	} {
		if got, ok := ParsePackNotice([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "\n", "/tmp/a.arena\n"} {
		if got, ok := ParsePackNotice([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// thisJVM has this test pass for a JVM.
func thisJVM() *JVM {
	return &JVM{PID: os.Getpid(), NamespacePID: os.Getpid(), UID: uint32(os.Geteuid())}
}

// leaveNotice writes a notice, as the agent of a pack does.
func leaveNotice(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join("/tmp", PackNoticeName(os.Getpid()))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(name) })
}

// TestWhatANoticeNames is believed where the process has that very file in memory.
func TestWhatANoticeNames(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	name := filepath.Join(dir, "of any name")
	unmap := mapShared(t, name)
	twin, pipe := filepath.Join(other, "of any name"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(twin, make([]byte, 4096), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for arena, want := range map[string]bool{name: true, twin: false, pipe: false, "/dev/null": false, filepath.Join(other, "gone"): false} {
		leaveNotice(t, arena+"\n/x/a.pack\n")
		if p := Local.pack(thisJVM(), nil); (p != nil) != want || want && (p.Arena != name || p.Path != "/x/a.pack") {
			t.Errorf("%s: %+v", arena, p)
		}
	}
	leaveNotice(t, name+"\n/x/a.pack\n")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if Local.pack(thisJVM(), nil) == nil {
		t.Error("with its arena's file the pack is gone, though it is mapped")
	}
	unmap()
	if p := Local.pack(thisJVM(), nil); p != nil {
		t.Errorf("it is still there: %+v", p)
	}
}

// TestAPackWithoutItsNotice is known by the arena.
func TestAPackWithoutItsNotice(t *testing.T) {
	const pack = "/x/shop.pack"
	for name, is := range map[string]bool{
		"sonde-7-0123456789abcdef0123456789.arena": true, "sonde-7.arena": true, "sonde-7-2.arena": true, "sonde-7-0123456789abcdef.arena": false, "7.arena": false,
	} {
		path := filepath.Join(t.TempDir(), name)
		arenatest.Make(t, path, arena.Owner{Command: "pack " + pack})
		if p := Local.pack(thisJVM(), []string{path}); (p != nil) != is || is && *p != (Pack{Arena: path, Path: pack}) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, owner := range []arena.Owner{{Sonde: 7, Command: "pack " + pack}, {Command: "sonde count"}} {
		path := filepath.Join(t.TempDir(), "sonde-7-0123456789abcdef0123456789.arena")
		arenatest.Make(t, path, owner)
		stated, is := StatedPack(owner)
		if p := Local.pack(thisJVM(), []string{path}); p != nil || stated != "" || is {
			t.Errorf("%+v: %+v, %q", owner, p, stated)
		}
	}
	path := filepath.Join(t.TempDir(), "sonde-7-0123456789abcdef0123456789.arena")
	mapShared(t, path)
	if p := Local.pack(thisJVM(), []string{path}); p != nil {
		t.Errorf("no arena: %+v", p)
	}
}

func TestDiscardsAll(t *testing.T) {
	const pid = 7
	for name, tt := range map[string]struct {
		thread, file, library string
		inside                Presence
		want                  bool
	}{
		"untouched":            {want: true},
		"recorded before":      {thread: "JFR Recorder Th\n"},
		"an earlier Sonde":     {file: "/tmp/.sonde-0/agent-5d1c3ab654a98cd0.jar"},
		"another jar":          {file: "/opt/agent.jar", want: true},
		"an agent that waits":  {inside: Standby},
		"dependencies tracked": {library: "\x00AlwaysRecordEvolDependencies\x00"},
	} {
		h := Host{Proc: t.TempDir()}
		for _, dir := range []string{"task/8", "fd", "root/lib"} {
			if err := os.MkdirAll(h.Path(pid, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		errs := []error{
			os.WriteFile(h.Path(pid, "task/8/comm"), []byte(cmp.Or(tt.thread, "java\n")), 0o600),
			os.WriteFile(h.Path(pid, "root/lib/libjvm.so"), []byte("ELF"+tt.library), 0o600),
			os.Symlink(cmp.Or(tt.file, "/dev/null"), h.Path(pid, "fd/3")),
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		j := &JVM{PID: pid, Kind: HotSpot, Inside: tt.inside, Library: "/lib/libjvm.so"}
		if got := h.DiscardsAll(j); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
