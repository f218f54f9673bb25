package process

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

func TestParsePackNotice(t *testing.T) {
	for text, want := range map[string]Pack{
		"/tmp/a.arena\n/x/a b.pack\n": {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"/tmp/a.arena\n/x/a b.pack":   {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"\n/x/a.pack\nit is gone\n":   {Path: "/x/a.pack", Problem: "it is gone"},
		"\n\nan argument\n":           {Problem: "an argument"},
		"\n/x/a.pack\n":               {Path: "/x/a.pack", Problem: "why is not known"},
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

// tell leaves a notice, as the agent of a pack does.
func tell(t *testing.T, text string) {
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
		tell(t, arena+"\n/x/a.pack\n")
		if p := Local.pack(thisJVM(), nil); (p != nil) != want || want && (p.Arena != name || p.Path != "/x/a.pack") {
			t.Errorf("%s: %+v", arena, p)
		}
	}
	tell(t, name+"\n/x/a.pack\n")
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
