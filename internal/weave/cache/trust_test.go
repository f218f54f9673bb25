package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is a user that no test runs as.
const stranger = 54_321

func wantDirError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var dir *DirError
	if !errors.As(err, &dir) || !errors.Is(err, kind) {
		t.Fatalf("%v is not %v", err, kind)
	}
	for _, w := range append(words, "--cache") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has several lines", err)
	}
}

func TestDirectoryOthersCanWriteIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o770, 0o702, 0o777} {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		_, err := OpenDisk(Options{Dir: dir})
		wantDirError(t, err, ErrUntrusted, "others may write to it")
	}
}

func TestUntrustedInsideIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"file":      func(file string) error { return os.Chmod(file, 0o620) },
		"directory": func(file string) error { return os.Chmod(filepath.Dir(file), 0o777) },
		"link": func(file string) error {
			return errors.Join(os.Rename(file, file+".away"), os.Symlink(file+".away", file))
		},
		"linked directory": func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.Rename(dir, dir+".away"), os.Symlink(dir+".away", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := openDisk(t, Options{})
			fill(t, made, 0, 1)
			if err := spoil(entryFile(made, 0)); err != nil {
				t.Fatal(err)
			}
			d := openDisk(t, Options{Dir: made.Dir()})
			entry, err := d.Get(t.Context(), sampleKey(0))
			if entry != nil || errors.Is(err, ErrMissing) {
				t.Fatal(entry, err)
			}
			var reported []error
			c := newCache(d, func(err error) { reported = append(reported, err) })
			for range 3 {
				if _, err := c.Get(t.Context(), sampleKey(0)); !errors.Is(err, ErrMissing) {
					t.Error(err)
				}
			}
			if len(reported) != 1 {
				t.Errorf("reported: %v", reported)
			}
		})
	}
}

func TestWrongOwner(t *testing.T) {
	needRoot(t, "make a directory of another user")
	made := openDisk(t, Options{})
	fill(t, made, 0, 3)
	err := filepath.WalkDir(made.Dir(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, stranger, stranger))
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenDisk(Options{Dir: made.Dir()})
	wantDirError(t, err, ErrUntrusted, "user 54321", "--cache-trust")

	// With --cache-trust the cache can be read, but not written.
	d := openDisk(t, Options{Dir: made.Dir(), Trust: []uint32{stranger}})
	got, err := d.Get(t.Context(), sampleKey(1))
	if err != nil {
		t.Fatal(err)
	}
	wantEntry(t, got, sampleEntry(1))
	err = d.Put(t.Context(), sampleKey(4), sampleEntry(4))
	wantDirError(t, err, ErrReadOnly, "user 54321")
	if _, err := d.Prune(t.Context(), 0); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

// TestSharing: shared entries can be read by others, also those that were added before.
func TestSharing(t *testing.T) {
	for sharing, modes := range map[Sharing][2]fs.FileMode{WithGroup: {0o750, 0o640}, WithEveryone: {0o755, 0o644}} {
		private := openDisk(t, Options{})
		fill(t, private, 0, 2)
		d := openDisk(t, Options{Dir: private.Dir(), Sharing: sharing})
		wantMode(t, d.Dir(), modes[0])
		fill(t, d, 2, 40)
		wantMode(t, filepath.Dir(entryFile(d, 39)), modes[0])
		wantMode(t, entryFile(d, 39), modes[1])
		if _, err := d.Get(t.Context(), sampleKey(0)); err != nil {
			t.Fatal(err)
		}
		wantMode(t, entryFile(d, 0), modes[1])
		wantMode(t, entryFile(d, 1), 0o600) // not read since
	}
}

func TestOtherDirectoriesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenDisk(Options{Dir: dir})
	wantDirError(t, err, ErrNoCache, "other files")
	_, err = OpenDisk(Options{Dir: filepath.Join(dir, "thesis.txt")})
	wantDirError(t, err, ErrNoCache)
	_, err = OpenDisk(Options{Dir: filepath.Join(dir, "none"), Existing: true})
	wantDirError(t, err, ErrNoCache)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	empty := t.TempDir()
	_, err = OpenDisk(Options{Dir: empty, Existing: true})
	wantDirError(t, err, ErrNoCache, "empty")
	if names, err := os.ReadDir(empty); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}
