package foothold

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func mustPlace(t *testing.T, f *Foothold, content string) *Jar {
	t.Helper()
	jar, err := f.PlaceJar([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return jar
}

// holdsText makes sure of a plain file's content.
func holdsText(t *testing.T, name, content string) {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s: %v, %v", name, info, err)
		return
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != content {
		t.Errorf("%s: %q, %v", name, data, err)
	}
}

// TestJarIsShared: the path is the same in each session, and the last to need it
// removes it.
func TestJarIsShared(t *testing.T) {
	dir := ownPlace(t)
	first, second := mustMake(t, startGuest(t, oldest(t), nil).jvm), mustMake(t, startGuest(t, oldest(t), nil).jvm)
	jar, same, other := mustPlace(t, first, "build 1"), mustPlace(t, second, "build 1"), mustPlace(t, second, "build 2")
	if jar.Path != same.Path || jar.Path == other.Path {
		t.Errorf("%s, %s, %s", jar.Path, same.Path, other.Path)
	}
	for _, release := range []func() error{
		func() error { return first.Release(jar) }, func() error { return first.Release(jar) }, func() error { return second.Release(same) },
	} {
		if err := release(); err != nil {
			t.Error(err)
		}
		holdsText(t, jar.Path, "build 1")
		holdsText(t, other.Path, "build 2")
	}
	if err := second.Release(other); err != nil {
		t.Error(err)
	}
	isGone(t, filepath.Dir(jar.Path))
	if again := mustPlace(t, first, "build 1"); again.Path != jar.Path {
		t.Error(again.Path)
	}
	for _, f := range []*Foothold{first, second} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	noneIn(t, dir)
}

// TestJarUnderContention: whoever has placed a jar finds it, whatever others
// remove meanwhile.
func TestJarUnderContention(t *testing.T) {
	dir := ownPlace(t)
	g := startGuest(t, oldest(t), nil)
	var all sync.WaitGroup
	for range 4 {
		f := mustMake(t, g.jvm)
		all.Go(func() {
			for range 100 {
				jar, err := f.PlaceJar([]byte("x"))
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := os.ReadFile(jar.Path); err != nil || string(data) != "x" {
					t.Errorf("%q, %v", data, err)
				}
				if err := f.Release(jar); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	entries, err := filepath.Glob(filepath.Join(dir, ".sonde-*"))
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestJarInTheWay: something has the jar's name already.
func TestJarInTheWay(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	const content = "the agent"
	victim := filepath.Join(t.TempDir(), "victim")
	for name, put := range map[string]func(path string) error{
		"right":         func(path string) error { return os.WriteFile(path, []byte(content), 0o600) },
		"other content": func(path string) error { return os.WriteFile(path, []byte("something else"), 0o600) },
		"longer":        func(path string) error { return os.WriteFile(path, []byte(content+"s"), 0o600) },
		"open": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, 0o666))
		},
		"another's": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chown(path, nobody, nobody))
		},
		"link": func(path string) error {
			return errors.Join(os.WriteFile(victim, []byte(content), 0o600), os.Symlink(victim, path))
		},
		"hard link": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Link(path, filepath.Join(filepath.Dir(path), ".new-0123456789abcdef")))
		},
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownPlace(t)
			own := filepath.Join(dir, ".sonde-0")
			path := filepath.Join(own, jarFor([]byte(content)))
			if err := errors.Join(os.Mkdir(own, 0o700), put(path)); err != nil {
				t.Fatal(err)
			}
			f := mustMake(t, startGuest(t, oldest(t), nil).jvm)
			jar := mustPlace(t, f, content)
			if jar.Path != path || jar.Remark != "" {
				t.Errorf("%+v", jar)
			}
			isPrivate(t, path, 0o600, f.jvm)
			holdsText(t, path, content)
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
			noneIn(t, dir)
			if data, err := os.ReadFile(victim); err == nil && !bytes.Equal(data, []byte(content)) {
				t.Errorf("the link's end was changed: %q", data)
			}
		})
	}
}

// TestJarDirectoryInTheWay: where it cannot be used the jar lies elsewhere, and
// what is in the way stays as it is.
func TestJarDirectoryInTheWay(t *testing.T) {
	wrap := jvmtest.AsNobody(t)
	elsewhere := t.TempDir()
	for name, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(elsewhere, path) },
		"root's":    func(path string) error { return os.Mkdir(path, 0o777) },
		"another's": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 1, 1)) },
		"open":      func(path string) error { return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, nobody, nobody)) },
		"a file": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, nobody, nobody))
		},
		"dead link": func(path string) error { return os.Symlink("/nowhere", path) },
		"own's link": func(path string) error {
			return errors.Join(os.Symlink(elsewhere, path), os.Lchown(path, nobody, nobody))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownPlace(t)
			path := filepath.Join(dir, ".sonde-65534")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			f := mustMake(t, startGuest(t, oldest(t), wrap).jvm)
			jar := mustPlace(t, f, "x")
			if filepath.Dir(jar.Path) != f.Path() || !strings.Contains(jar.Remark, path) || strings.Contains(jar.Remark, "\n") {
				t.Errorf("%+v", jar)
			}
			holdsText(t, jar.Path, "x")
			if err := errors.Join(f.Release(jar), f.Remove()); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != ".sonde-65534" {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
