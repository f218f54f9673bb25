package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheJarIsKeptWhereNobodyElseWrites(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	jar, err := KeepJar("")
	if err != nil || !strings.HasPrefix(jar, filepath.Join(data, "sonde", "agent")+"/") {
		t.Fatalf("%s, %v", jar, err)
	}
	if again, err := KeepJar(""); err != nil || again != jar {
		t.Errorf("the second time: %s, %v", again, err)
	}
	open := filepath.Join(data, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepJar(open); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a directory that all may write to: %v", err)
	}
}

// TestAllParentsAreChecked: who may rename a directory on the way can put another there.
func TestAllParentsAreChecked(t *testing.T) {
	base := t.TempDir()
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	in := func(elements ...string) string { return filepath.Join(append([]string{base}, elements...)...) }
	open, sticky := in("open"), in("sticky")
	must(os.MkdirAll(in("open", "agent"), 0o755), os.Chmod(open, 0o777))
	must(os.MkdirAll(in("sticky", "agent"), 0o755), os.Chmod(sticky, 0o777|os.ModeSticky))
	must(os.MkdirAll(in("group", "a", "b"), 0o755), os.Chmod(in("group"), 0o775))
	must(os.MkdirAll(in("safe", "agent"), 0o755))
	must(os.Symlink(in("safe"), in("link")), os.Symlink("../safe", in("sticky", "link")), os.Symlink("open/../open", in("out")))
	must(os.Symlink("loop", in("loop")))
	for directory, want := range map[string]string{
		in("open", "agent"):           open + " can be written by others",
		in("sticky", "agent"):         "",
		sticky:                        sticky + " can be written by others",
		in("group", "a", "b"):         in("group") + " can be written by others",
		in("safe", "agent"):           "",
		in("link", "agent"):           "",
		in("sticky", "link", "agent"): sticky + " can be written by others", // the link could be another's one day
		in("out", "agent"):            open + " can be written by others",
		in("loop"):                    "loop",
	} {
		jar, err := KeepJar(directory)
		switch {
		case want == "" && (err != nil || filepath.Dir(jar) != directory):
			t.Errorf("%s: %s, %v", directory, jar, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--agent-dir") || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %s, %v", directory, jar, err)
		}
	}
	if entries, err := os.ReadDir(sticky); err != nil || len(entries) != 2 {
		t.Errorf("a jar was written where it was refused: %v, %v", entries, err)
	}
}

// TestOtherOwnersAreChecked on the way, and of the jar itself.
func TestOtherOwnersAreChecked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files of another user cannot be made here (be root)")
	}
	base := t.TempDir()
	theirs := filepath.Join(base, "theirs")
	own := filepath.Join(theirs, "own")
	if err := errors.Join(os.MkdirAll(own, 0o755), os.Chown(theirs, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepJar(own); err == nil || !strings.Contains(err.Error(), theirs+" belongs to another user") {
		t.Errorf("%v", err)
	}
	jar, err := KeepJar(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(jar, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepJar(base); err == nil || !strings.Contains(err.Error(), jar+" belongs to another user") {
		t.Errorf("%v", err)
	}
}

// TestNoHome: in a container there may be none.
func TestNoHome(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	if _, err := KeepJar(""); err == nil || !strings.Contains(err.Error(), "--agent-dir") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
