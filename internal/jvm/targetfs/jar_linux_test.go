package targetfs

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
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
// removes it, where no process has loaded it.
func TestJarIsShared(t *testing.T) {
	dir := ownPlace(t)
	first, second := mustMake(t, startGuest(t, oldest(t), nil).jvm), mustMake(t, startGuest(t, oldest(t), nil).jvm)
	jar, same, other := mustPlace(t, first, "build 1"), mustPlace(t, second, "build 1"), mustPlace(t, second, "build 2")
	if jar.Path != same.Path || jar.Path == other.Path {
		t.Errorf("%s, %s, %s", jar.Path, same.Path, other.Path)
	}
	for range 2 {
		if err := first.Remove(); err != nil {
			t.Error(err)
		}
		holdsText(t, jar.Path, "build 1")
		holdsText(t, other.Path, "build 2")
	}
	if err := second.Remove(); err != nil {
		t.Error(err)
	}
	noneIn(t, dir)
}

// TestJarStaysWhileItIsUsed: a JVM that has it on its class path opens it again by its path, or
// for the first time. It goes with the next session or sweep when the JVM is gone.
func TestJarStaysWhileItIsUsed(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"usual":      func(string) error { return nil },
		"in the way": func(dir string) error { return os.Symlink("/nowhere", filepath.Join(dir, ".sonde-0")) },
		"there":      func(dir string) error { return os.Mkdir(filepath.Join(dir, ".sonde-0"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownPlace(t)
			if err := take(dir); err != nil {
				t.Fatal(err)
			}
			g, other := startGuest(t, oldest(t), nil), startGuest(t, oldest(t), nil)
			visit := func(jvm *process.JVM, load bool) string {
				t.Helper()
				f := mustMake(t, jvm)
				jar := mustPlace(t, f, "a jar")
				if load {
					if err := f.Loads(jar); err != nil {
						t.Fatal(err)
					}
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
				return jar.Path
			}
			path := visit(g.jvm, true)
			own := filepath.Dir(path)
			visit(other.jvm, false)
			age(t, own)
			if removed := sweep(t); len(removed) > 0 {
				t.Errorf("swept %v", removed)
			}
			isPrivate(t, own, os.ModeDir|0o700, g.jvm)
			isPrivate(t, path, os.ModeSticky|0o600, g.jvm)
			holdsText(t, path, "a jar")
			if entries, err := os.ReadDir(own); err != nil || len(entries) != 2 { // and its mark
				t.Errorf("%v, %v", entries, err)
			}
			g.end()
			if name == "in the way" { // where it is in no other session's directory
				if removed := sweep(t); !slices.Equal(removed, []string{own}) {
					t.Errorf("swept %v", removed)
				}
				return
			}
			visit(other.jvm, false)
			noneIn(t, dir)
		})
	}
}

// TestMarksOfEndedProcessesAreRemoved: a directory that is always in use does not grow with each JVM.
func TestMarksOfEndedProcessesAreRemoved(t *testing.T) {
	dir := ownPlace(t)
	g, ended := startGuest(t, oldest(t), nil), startGuest(t, oldest(t), nil)
	for _, jvm := range []*process.JVM{g.jvm, ended.jvm} {
		f := mustMake(t, jvm)
		if err := f.Loads(mustPlace(t, f, "a jar")); err != nil {
			t.Fatal(err)
		}
		if err := f.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	ended.end()
	f := mustMake(t, g.jvm)
	jar := mustPlace(t, f, "a jar")
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	holdsText(t, jar.Path, "a jar")
	entries, err := os.ReadDir(filepath.Join(dir, ".sonde-0"))
	if err != nil {
		t.Fatal(err)
	}
	var marks []string
	for _, e := range entries {
		if markName.MatchString(e.Name()) {
			marks = append(marks, e.Name())
		}
	}
	if want := []string{markFor(g.jvm.NamespacePID)}; !slices.Equal(marks, want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
}

// TestJarUnderContention: whoever has placed a jar finds it, whatever others
// remove meanwhile.
func TestJarUnderContention(t *testing.T) {
	dir := ownPlace(t)
	g := startGuest(t, oldest(t), nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				f, err := Make(g.jvm)
				if err != nil {
					t.Error(err)
					return
				}
				jar, err := f.PlaceJar([]byte("x"))
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := os.ReadFile(jar.Path); err != nil || string(data) != "x" {
					t.Errorf("%q, %v", data, err)
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	noneIn(t, dir)
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
			if name != "right" {
				isPrivate(t, path, os.ModeSticky|0o600, f.jvm)
			}
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
			if err := f.Remove(); err != nil {
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

const loaded = `public class Loaded {
    public static void agentmain(String options) { System.out.println("loaded " + options); }
}
`

// loadable is the jar of an agent that says it was loaded; remark makes it
// another build.
func loadable(t *testing.T, jdk jvmtest.JDK, remark string) []byte {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Loaded.java")
	if err := os.WriteFile(source, []byte(loaded), 0o600); err != nil {
		t.Fatal(err)
	}
	class, err := os.ReadFile(filepath.Join(jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{source}}), "Loaded.class"))
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	manifest := "Manifest-Version: 1.0\r\nAgent-Class: Loaded\r\nRemark: " + remark + "\r\n\r\n"
	for _, entry := range []struct{ name, content string }{{"META-INF/MANIFEST.MF", manifest}, {"Loaded.class", string(class)}} {
		file, err := w.Create(entry.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(entry.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

// TestManyLoads: an agent is loaded again, and the JVM holds one file open for each build,
// however often. Its jar stays as long as the JVM runs.
func TestManyLoads(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		for name, wrap := range kinds(t) {
			t.Run(fmt.Sprintf("%s/jdk%d", name, jdk.Major), func(t *testing.T) {
				g := startGuest(t, jdk, wrap)
				conn, err := attach.Open(t.Context(), g.jvm.PID)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				for i, build := range []string{"one", "one", "one", "two", "one", "two"} {
					f := mustMake(t, g.jvm)
					jar := mustPlace(t, f, string(loadable(t, jdk, build)))
					if err := f.Loads(jar); err != nil {
						t.Fatal(err)
					}
					if err := conn.LoadAgent(t.Context(), jar.Path, fmt.Sprint(i)); err != nil {
						t.Fatal(err)
					}
					g.Await(t, fmt.Sprintf("loaded %d", i))
					if err := f.Remove(); err != nil {
						t.Error(err)
					}
					sweep(t)
					isPrivate(t, g.seen(jar.Path), os.ModeSticky|0o600, g.jvm)
				}
				if n := g.openJars(t); n < 1 || n > 2 {
					t.Errorf("%d jars of ours are open", n)
				}
			})
		}
	}
}

func (g guest) openJars(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.jvm.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, "/.sonde-") {
			n++
		}
	}
	return n
}
