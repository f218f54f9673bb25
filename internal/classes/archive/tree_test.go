package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeTree writes a tree with a class, a jar, a link, a read-only directory.
func makeTree(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"a/locked", "empty"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a/A.class": "weave", "a/locked/B.class": "leave", "run.sh": "#!/bin/sh", "lib.jar": string(jar(t, class("j/J.class", "weave"))),
	} {
		writeBytes(t, filepath.Join(root, name), []byte(text))
	}
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "a/A.class": 0o440, "a/locked": 0o550} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a/A.class", filepath.Join(root, "link.class")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/A.class", "run.sh", "empty", "a/locked", "a"} {
		if err := os.Chtimes(filepath.Join(root, name), longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = removeTree(root) }) // TempDir cannot remove what is read-only
}

func TestRewriteTree(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	makeTree(t, in)
	if err := os.Mkdir(out, 0o700); err != nil { // an empty directory may be there
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeTree(out) })
	report, err := Rewrite(context.Background(), in, out, options())
	if err != nil {
		t.Fatal(err)
	}
	if report.Classes != 3 || report.Changed != 2 || report.Nested != 1 {
		t.Errorf("report %+v", report)
	}
	noLeftovers(t, dir, 2)
	before, err := list(in, false)
	if err != nil {
		t.Fatal(err)
	}
	after, err := list(out, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Fatalf("%d members, want %d", len(after), len(before))
	}
	for i, f := range after {
		was := before[i]
		if f.rel != was.rel || f.info.Mode() != was.info.Mode() {
			t.Errorf("%s %v, want %s %v", f.rel, f.info.Mode(), was.rel, was.info.Mode())
		}
		if f.info.Mode().Type() != fs.ModeSymlink && !f.info.ModTime().Equal(was.info.ModTime()) {
			t.Errorf("%s: time %v, was %v", f.rel, f.info.ModTime(), was.info.ModTime())
		}
	}
	if data, err := os.ReadFile(filepath.Join(out, "link.class")); err != nil || string(data) != "WOVEN weave" {
		t.Errorf("through the link: %q, %v", data, err)
	}
}

func TestTreeOutputs(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	makeTree(t, in)
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(full, "precious"), nil)
	for _, out := range []string{in, filepath.Join(in, "out"), filepath.Join(in, "a", "out"), full, filepath.Join(full, "precious"), filepath.Join(dir, "no", "out")} {
		_, err := Rewrite(context.Background(), in, out, options())
		var refused *OutputError
		if !errors.As(err, &refused) {
			t.Errorf("output %s: error %v, want an OutputError", out, err)
		}
	}
	noLeftovers(t, dir, 2)
}

func TestFailedTreeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	makeTree(t, in)
	writeBytes(t, filepath.Join(in, "z.class"), []byte("fail"))
	if _, err := Rewrite(context.Background(), in, filepath.Join(dir, "out"), options()); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	noLeftovers(t, dir, 1)
}

func TestRewriteClassFile(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "A.class"), filepath.Join(dir, "B.class")
	writeBytes(t, in, []byte("\xca\xfe\xba\xbe weave"))
	if _, err := Rewrite(context.Background(), in, out, options()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "WOVEN \xca\xfe\xba\xbe weave" {
		t.Errorf("output %q, %v", data, err)
	}
}

func TestWalkAndFind(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "app!.jar")
	inner := jar(t, class("j/J.class", "inner"))
	writeBytes(t, in, jar(t, class("a/A.class", "outer"), stored("lib/in.jar", inner), class("x.txt", "")))
	var seen []string
	err := Walk(context.Background(), in, func(e Entry) error {
		if e.Seq != len(seen) {
			t.Errorf("%s is number %d, want %d", e.Path, e.Seq, len(seen))
		}
		seen = append(seen, e.Path+"="+string(e.Data))
		return nil
	})
	if want := []string{"a/A.class=outer", "lib/in.jar!/j/J.class=inner"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("Walk saw %q, %v; want %q", seen, err, want)
	}
	for spec, want := range map[string]string{
		in + "!/a/A.class": "outer", in + "!a.A": "outer", in + "!/lib/in.jar!/j/J.class": "inner", in + "!lib/in.jar!j.J": "inner",
	} {
		e, err := Find(Split(spec))
		if err != nil || string(e.Data) != want {
			t.Errorf("Find(%s) = %q, %v; want %q", spec, e.Data, err, want)
		}
	}
	if _, err := Find(in, "no.Such"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no.Such") {
		t.Errorf("missing: %v", err)
	}
	if file, entry := Split(in); file != in || entry != "" {
		t.Errorf("Split(%s) = %s, %s", in, file, entry)
	}
}

func TestWalkTree(t *testing.T) {
	dir := t.TempDir()
	in, link := filepath.Join(dir, "in"), filepath.Join(dir, "link")
	makeTree(t, in)
	writeBytes(t, filepath.Join(in, "fake.jar"), []byte("no zip"))
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := Walk(context.Background(), link, func(e Entry) error {
		seen = append(seen, e.Path)
		return nil
	})
	if want := []string{"a/A.class", "a/locked/B.class", "lib.jar!/j/J.class"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("Walk saw %q, %v; want %q", seen, err, want)
	}
}

func TestRelease(t *testing.T) {
	for path, want := range map[string]int{
		"META-INF/versions/17/a/A.class":                  17,
		"BOOT-INF/lib/x.jar!/META-INF/versions/9/A.class": 9,
		"META-INF/versions/x/A.class":                     0,
		"a/META-INF/versions/17/A.class":                  0,
		"META-INF/versions/17/x.jar!/A.class":             0,
	} {
		if got := (&Entry{Path: path}).Release(); got != want {
			t.Errorf("%s: release %d, want %d", path, got, want)
		}
	}
}

// TestLinksOut: a link that leads out of the tree leads there from the copy as well,
// and is named.
func TestLinksOut(t *testing.T) {
	dir := t.TempDir()
	in, beside := filepath.Join(dir, "in"), filepath.Join(dir, "beside.txt")
	if err := os.MkdirAll(filepath.Join(in, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(beside, []byte("beside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "inside.txt"), []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"sub/out": "../../beside.txt", "sub/within": "../inside.txt", "absolute": beside} {
		if err := os.Symlink(target, filepath.Join(in, link)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "elsewhere", "out")
	if err := os.Mkdir(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	report, err := Rewrite(t.Context(), in, out, Options{
		NewTransform: func() Transform { return func(Entry) ([]byte, error) { return nil, nil } },
	})
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{"sub/out": "beside", "sub/within": "inside", "absolute": "beside"} {
		if got, err := os.ReadFile(filepath.Join(out, link)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", link, got, err)
		}
	}
	if want := []string{"absolute", "sub/out"}; !slices.Equal(report.LinksOut, want) {
		t.Errorf("links out: %v, want %v", report.LinksOut, want)
	}
}
