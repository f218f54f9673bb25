package build

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// goods compiles the fixture, and gives its directory and its class files by name.
func goods(t *testing.T) (dir string, files map[string][]byte) {
	t.Helper()
	sources, err := filepath.Glob("testdata/goods/*.java")
	if err != nil {
		t.Fatal(err)
	}
	dir = jvmtest.Compile(t, jvmtest.Need(t, 17), jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17"}})
	files = make(map[string][]byte)
	for _, name := range []string{"goods/Store", "goods/Item", "goods/Grade"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name+".class")); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files
}

// other is a class file with other bytes and the same code.
func other(class []byte) []byte {
	changed := slices.Clone(class)
	changed[7]-- // of the version
	return changed
}

// jarOf makes a jar in memory.
func jarOf(t *testing.T, entries map[string][]byte) []byte {
	t.Helper()
	var jar bytes.Buffer
	out := zip.NewWriter(&jar)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, err := out.Create(name)
		if err == nil {
			_, err = entry.Write(entries[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

func writeJar(t *testing.T, entries map[string][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.jar")
	if err := os.WriteFile(path, jarOf(t, entries), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a set.
func read(t *testing.T, text string) *probeset.Set {
	t.Helper()
	set, err := probeset.Parse([]byte(text), "probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// settings are the usual ones, with a JDK.
func settings(t *testing.T) Settings {
	t.Helper()
	return Settings{Image: jvmtest.Need(t, 17).Image(), Notice: func(text string) { t.Log(text) }}
}

func plan(t *testing.T, set string, s Settings, paths ...string) *Planned {
	t.Helper()
	p, err := Plan(t.Context(), paths, read(t, set), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// told are fates in a line each: class, fate, why, methods and what is left.
func told(p *Planned) string {
	var lines []string
	for i := range p.Classes {
		f := &p.Classes[i]
		words := []string{f.Class, f.When.String(), f.Why}
		for j := range f.entryMethods() {
			words = append(words, "+"+f.entryMethods()[j])
		}
		for _, left := range f.Left {
			words = append(words, "-"+left.Method+" "+left.Reason)
		}
		lines = append(lines, strings.Join(words, " | "))
	}
	return strings.Join(lines, "\n")
}

// entryMethods are the names of methods that are woven.
func (f *Fate) entryMethods() (names []string) {
	if f.entry == nil {
		return nil
	}
	for i := range f.entry.Methods {
		if m := &f.entry.Methods[i]; m.Woven {
			names = append(names, m.Name)
		}
	}
	return names
}

// same compares texts.
func same(t *testing.T, have, want string) {
	t.Helper()
	if have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
}
