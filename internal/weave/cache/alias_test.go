package cache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func openCache(t *testing.T, dir string) *Cache {
	t.Helper()
	c := Open(Options{Dir: dir}, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// soughtSample is the n-th sample, as a session seeks it.
func soughtSample(class []byte) *Sought {
	return &Sought{Recipe: NewRecipe("sample"), Class: class, Spec: []byte("all of it")}
}

// keepSought has the cache keep an entry for a class file, and a process end.
func keepSought(t *testing.T, dir string, class []byte) *Entry {
	t.Helper()
	c := openCache(t, dir)
	s, entry := soughtSample(class), sampleEntry(0)
	entry.Original = OriginalOf(class)
	if _, err := c.Find(t.Context(), s); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	if err := errors.Join(c.Put(t.Context(), s.Key(), entry), c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return entry
}

// TestFoundWithoutItsKey: what was kept once is found by its alias, and is only found for
// the very class file, recipe and spec.
func TestFoundWithoutItsKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	class := bytes.Repeat([]byte("class file "), 30)
	entry := keepSought(t, dir, class)
	c := openCache(t, dir)
	s := soughtSample(class)
	got, err := c.Find(t.Context(), s)
	if err != nil || s.hasKey || s.hasOriginal {
		t.Fatalf("%v; the key was made: %v", err, s.hasKey)
	}
	wantEntry(t, got, entry)
	if n := c.Counts(); n.Hits != 1 || n.Misses != 0 {
		t.Errorf("%+v", n)
	}
	for bit := range 8 * len(class) {
		class[bit/8] ^= 1 << (bit % 8)
		if _, err := c.Find(t.Context(), soughtSample(class)); !errors.Is(err, ErrMissing) {
			t.Fatalf("found with bit %d turned: %v", bit, err)
		}
		class[bit/8] ^= 1 << (bit % 8)
	}
	for name, other := range map[string]*Sought{
		"recipe":  {Recipe: NewRecipe("sample", []byte("template")), Class: class, Spec: s.Spec},
		"spec":    {Recipe: s.Recipe, Class: class, Spec: []byte("all of it.")},
		"shorter": {Recipe: s.Recipe, Class: class[:len(class)-1], Spec: s.Spec},
	} {
		if _, err := c.Find(t.Context(), other); !errors.Is(err, ErrMissing) {
			t.Errorf("found with another %s: %v", name, err)
		}
	}
}

// TestSecretIsKeptSecret: one that others can read, or that is cut, is made anew, and
// what it named is found by its key.
func TestSecretIsKeptSecret(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"readable": func(file string) error { return os.Chmod(file, 0o644) },
		"cut":      func(file string) error { return os.Truncate(file, 5) },
		"gone":     os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			class := []byte("class file")
			entry := keepSought(t, dir, class)
			file := filepath.Join(dir, secretFile)
			wantMode(t, file, 0o600)
			before, err := os.ReadFile(file)
			if err != nil || len(before) != secretSize {
				t.Fatal(len(before), err)
			}
			if err := spoil(file); err != nil {
				t.Fatal(err)
			}
			for _, needsKey := range []bool{true, false} { // it is gathered with its new alias
				c, s := openCache(t, dir), soughtSample(class)
				got, err := c.Find(t.Context(), s)
				if err != nil || s.hasKey != needsKey {
					t.Fatalf("%v; the key was made: %v", err, s.hasKey)
				}
				wantEntry(t, got, entry)
				if err := c.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantMode(t, file, 0o600)
			if after, err := os.ReadFile(file); err != nil || len(after) != secretSize || bytes.Equal(before, after) {
				t.Errorf("the secret is the old one, %d bytes, %v", len(after), err)
			}
		})
	}
}
