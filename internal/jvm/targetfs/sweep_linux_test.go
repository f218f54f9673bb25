package targetfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// abandon lets go of a foothold as a Sonde does that is killed.
func abandon(f *Foothold) {
	for _, l := range f.listeners {
		_ = l.Close()
	}
	for _, jar := range f.jars {
		jar.dir.close()
	}
	for _, a := range f.arenas {
		_ = a.File.Close()
		a.where.close()
	}
	f.own.close()
	f.outer.close()
}

func sweep(t *testing.T) []string {
	t.Helper()
	removed, err := Sweep(t.Context(), process.Local)
	if err != nil {
		t.Error(err)
	}
	return removed
}

// age makes things look as old as what was left long ago.
func age(t *testing.T, names ...string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	for _, name := range names {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweepLeavesWhatIsUsed(t *testing.T) {
	ownPlace(t)
	g := startGuest(t, oldest(t), nil)
	f := mustMake(t, g.jvm)
	jar, socket, session, arena := everything(t, f)
	age(t, f.Path(), filepath.Dir(jar), arena)
	for _, ended := range []bool{false, true} {
		if removed := sweep(t); len(removed) > 0 {
			t.Errorf("its process ended: %v: removed %v", ended, removed)
		}
		for _, name := range []string{jar, socket, session, arena} {
			if _, err := os.Lstat(name); err != nil {
				t.Error(err)
			}
		}
		g.end()
	}
}

func TestSweepAfterKill(t *testing.T) {
	for name, wrap := range map[string][]string{"root's": nil, "nobody's": jvmtest.AsNobody(t)} {
		t.Run(name, func(t *testing.T) {
			dir := ownPlace(t)
			g := startGuest(t, oldest(t), wrap)
			f, err := Make(g.jvm)
			if err != nil {
				t.Fatal(err)
			}
			jar, _, _, arena := everything(t, f)
			if did := g.does(t, "map", arena, "4096"); did != "map" {
				t.Fatal(did)
			}
			if err := f.own.fill(roomName, nil); err != nil { // it was killed while it tried out whether there is room
				t.Fatal(err)
			}
			abandon(f)
			// The process lives, and the Sonde may be about to lock what it made.
			if removed := sweep(t); !slices.Equal(removed, []string{filepath.Dir(jar)}) {
				t.Errorf("young: %v", removed)
			}
			age(t, f.Path(), arena)
			if removed := sweep(t); !slices.Equal(removed, []string{f.Path()}) {
				t.Errorf("old, the arena mapped: %v", removed)
			}
			g.end()
			if removed := sweep(t); !slices.Equal(removed, []string{arena}) {
				t.Errorf("ended: %v", removed)
			}
			noneIn(t, dir)
		})
	}
}

// TestSweepElsewhere: in the mount namespace of another process.
func TestSweepElsewhere(t *testing.T) {
	g := startGuest(t, oldest(t), jvmtest.OtherNamespaces(t, "rw"))
	only(t, "/tmp")
	f, err := Make(g.jvm)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, arena := everything(t, f)
	abandon(f)
	age(t, g.seen(f.Path()), g.seen(arena))
	sweep(t) // a Sonde of another test may sweep meanwhile
	noneIn(t, g.seen("/tmp"))
}

const noProcess = 1<<31 - 1

// TestSweepLeavesWhatIsNotOurs, though it is named as if.
func TestSweepLeavesWhatIsNotOurs(t *testing.T) {
	dir := ownPlace(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	directory, jars, arena := fmt.Sprintf(".sonde-%d-01234567", noProcess), ".sonde-0", fmt.Sprintf("sonde-%d-0123456789abcdef.arena", noProcess)
	ticket := fmt.Sprintf(".sonde_pid%d", noProcess)
	write := func(name string, mode os.FileMode) func() error {
		return func() error { return errors.Join(os.WriteFile(in(name), nil, mode), os.Chmod(in(name), mode)) }
	}
	for name, put := range map[string]func() error{
		"a file for a directory": write(directory, 0o600),
		"a directory for a file": func() error { return os.Mkdir(in(arena), 0o700) },
		"an open directory":      func() error { return os.Mkdir(in(directory), 0o755) },
		"a directory with more": func() error {
			return errors.Join(os.Mkdir(in(directory), 0o700), os.WriteFile(in(directory+"/photo"), nil, 0o600))
		},
		"jars with more": func() error {
			return errors.Join(os.Mkdir(in(jars), 0o700), os.WriteFile(in(jars+"/photo"), nil, 0o600))
		},
		"another's jars":   func() error { return os.Mkdir(in(".sonde-1"), 0o700) },
		"an open arena":    write(arena, 0o644),
		"an open ticket":   write(ticket, 0o644),
		"a linked arena":   func() error { return errors.Join(write(arena, 0o600)(), os.Link(in(arena), in("x"))) },
		"a link":           func() error { return os.Symlink(dir, in(directory)) },
		"a link of ticket": func() error { return os.Symlink("/etc/passwd", in(ticket)) },
		"a living's":       write(fmt.Sprintf(".sonde_pid%d", os.Getpid()), 0o600),
		"another name":     write(".sonde-x", 0o600),
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		before, err := filepath.Glob(in("*"))
		if err != nil || len(before) == 0 {
			t.Fatal(name, err)
		}
		if removed := sweep(t); len(removed) > 0 {
			t.Errorf("%s: removed %v", name, removed)
		}
		for _, path := range before {
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			os.RemoveAll(path)
		}
	}
}

func TestSweepNotes(t *testing.T) {
	if !process.Local.SeesAll() {
		t.Skip("NOT TESTED: this is a container, where not all processes can be seen")
	}
	dir := ownPlace(t)
	for _, name := range []string{".sonde_pid%d", ".sonde_hold%d", ".sonde_invite%d", ".sonde_invite%d-01234567", ".sonde_pack%d"} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(name, noProcess)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The agent of a pack that was killed while it made its arena; and one that had.
	making := filepath.Join(dir, fmt.Sprintf(".sonde_arena%d-0123456789abcdef0123456789", noProcess))
	measured := filepath.Join(dir, fmt.Sprintf("sonde-%d-0123456789abcdef0123456789.arena", noProcess))
	err := errors.Join(os.Mkdir(making, 0o700), os.WriteFile(filepath.Join(making, "arena"), nil, 0o600), os.WriteFile(measured, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	// And one that was killed while it wrote its ticket.
	writing := filepath.Join(dir, fmt.Sprintf(".sonde_pid%d-0123456789abcdef0123456789abcdef", noProcess))
	if err := errors.Join(os.Mkdir(writing, 0o700), os.WriteFile(filepath.Join(writing, "note"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if removed := sweep(t); len(removed) != 7 {
		t.Errorf("%v", removed)
	}
	if err := os.Remove(measured); err != nil { // it stays
		t.Error(err)
	}
	noneIn(t, dir)
}

// TestSweepLeavesWhatOthersMake: seen from a container, the agent that makes an arena may
// be outside.
func TestSweepLeavesWhatOthersMake(t *testing.T) {
	dir := ownPlace(t)
	making := filepath.Join(dir, fmt.Sprintf(".sonde_arena%d-0123456789abcdef0123456789", noProcess))
	if err := os.Mkdir(making, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		seesAll, old bool
		want         int
	}{{false, false, 0}, {false, true, 1}, {true, false, 1}} {
		if tt.old {
			age(t, making)
		}
		s := &sweeper{seesAll: tt.seesAll}
		if err := s.sweepIn(process.Local, os.Getpid(), dir); err != nil || len(s.removed) != tt.want {
			t.Errorf("%+v: %v, %v", tt, s.removed, err)
		}
		if err := os.MkdirAll(making, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(making); err != nil {
		t.Error(err)
	}
}

// TestSweepAsNobody: of others' it removes nothing.
func TestSweepAsNobody(t *testing.T) {
	const variable = "SONDE_TEST_SWEEP_PLACE"
	name := func(n int) string { return ".sonde-" + strconv.Itoa(noProcess) + "-0000000" + strconv.Itoa(n) }
	if dir := os.Getenv(variable); dir != "" {
		only(t, dir)
		if removed := sweep(t); !slices.Equal(removed, []string{filepath.Join(dir, name(1))}) {
			t.Errorf("%v", removed)
		}
		return
	}
	jvmtest.AsNobody(t) // or skip
	dir := ownPlace(t)
	for n, owner := range []int{0, nobody, 1} {
		path := filepath.Join(dir, name(n))
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, owner, owner)); err != nil {
			t.Fatal(err)
		}
	}
	jvmtest.AgainAsNobody(t, variable+"="+dir)
	if removed := sweep(t); len(removed) != 2 {
		t.Errorf("root: %v", removed)
	}
}
