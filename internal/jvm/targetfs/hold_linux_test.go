package targetfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLetGo removes the file by which a program is held, with its user's power, and
// no other.
func TestLetGo(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			if held, err := LetGo(g.jvm); held || err != nil {
				t.Errorf("nothing was held: %v, %v", held, err)
			}
			path := g.seen("/tmp/" + holdFile(g.jvm.NamespacePID))
			t.Cleanup(func() { _ = os.Remove(path) })
			if err := os.Symlink("/etc/passwd", path); err != nil {
				t.Fatal(err)
			}
			if held, err := LetGo(g.jvm); held || err == nil {
				t.Errorf("by a link: %v, %v", held, err)
			}
			if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600), os.Lchown(path, int(g.jvm.UID), int(g.jvm.GID))); err != nil {
				t.Fatal(err)
			}
			if held, err := LetGo(g.jvm); !held || err != nil {
				t.Errorf("%v, %v", held, err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still held: %v", err)
			}
		})
	}
}

func TestHoldFilesAreSwept(t *testing.T) {
	dir := ownPlace(t)
	path := filepath.Join(dir, holdFile(4194304+7)) // no process has it
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if removed := sweep(t); !slices.Equal(removed, []string{path}) {
		t.Errorf("removed %v", removed)
	}
}
