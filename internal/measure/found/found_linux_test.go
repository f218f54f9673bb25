package found

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
)

func ref(class, name string) classfile.MethodRef {
	return classfile.MethodRef{Class: class, Name: name, Descriptor: "()V"}
}

// files returns the digest of classes whose files are those of a version.
func files(versions map[string]string) Digest {
	return func(class string) string { return versions[class] }
}

func TestNew(t *testing.T) {
	known := files(map[string]string{"a/Shop": "1", "a/Bank": "2"})
	for name, test := range map[string]struct {
		path []classfile.MethodRef
		want bool
	}{
		"a path":              {[]classfile.MethodRef{ref("a/Shop", "serve"), ref("a/Bank", "pay")}, true},
		"the method itself":   {[]classfile.MethodRef{ref("a/Shop", "serve")}, false},
		"no file":             {[]classfile.MethodRef{ref("a/Shop", "serve"), ref("a/Proxy", "pay")}, false},
		"no descriptor":       {[]classfile.MethodRef{ref("a/Shop", "serve"), {Class: "a/Bank", Name: "pay"}}, false},
		"no method":           {nil, false},
		"a path without end":  {make([]classfile.MethodRef, mostPath+1), false},
		"twice the same step": {[]classfile.MethodRef{ref("a/Shop", "serve"), ref("a/Shop", "serve")}, true},
	} {
		if c, got := New(strings.Repeat("x", 2*longest), time.Second, test.path, known); got != test.want {
			t.Errorf("%s: got %t, want %t: %+v", name, got, test.want, c)
		}
	}
}

func TestBelow(t *testing.T) {
	before := map[string]string{"a/Shop": "1", "a/Bank": "2", "a/Mail": "3"}
	var causes Causes
	for _, last := range []classfile.MethodRef{ref("a/Bank", "pay"), ref("a/Mail", "send")} {
		c, _ := New(last.Name, time.Second, []classfile.MethodRef{ref("a/Shop", "serve"), last}, files(before))
		causes = append(causes, c)
	}
	for name, test := range map[string]struct {
		root string
		now  map[string]string
		want string
	}{
		"the newest":         {"serve", before, "pay"},
		"its class changed":  {"serve", map[string]string{"a/Shop": "1", "a/Bank": "x", "a/Mail": "3"}, "send"},
		"not loaded":         {"serve", map[string]string{"a/Shop": "1", "a/Mail": "3"}, "send"},
		"the method changed": {"serve", map[string]string{"a/Shop": "x", "a/Bank": "2", "a/Mail": "3"}, "none"},
		"below another one":  {"pay", before, "none"},
		"no class is known":  {"serve", nil, "none"},
		"other ones differ":  {"serve", map[string]string{"a/Shop": "1", "a/Bank": "2", "b/C": "4"}, "pay"},
	} {
		isRead := map[string]bool{"serve": true}[test.root]
		if on := causes.ClassesBelow(func(m classfile.MethodRef) bool { return m.Name == test.root }); isRead != maps.Equal(on, map[string]bool{"a/Shop": true, "a/Bank": true, "a/Mail": true}) || !isRead && len(on) > 0 {
			t.Errorf("%s: classes on the ways: got %v", name, on)
		}
		got := "none"
		if c := causes.Below(func(m classfile.MethodRef) bool { return m.Name == test.root }, files(test.now)); c != nil {
			got = c.Text
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "found")
	if got := Read(dir); got != nil {
		t.Fatalf("got %v, want nothing", got)
	}
	keep := func(text, last string) {
		t.Helper()
		c, _ := New(text, time.Second, []classfile.MethodRef{ref("a/Shop", "serve"), ref("a/Bank", last)}, func(string) string { return "1" })
		if err := Keep(dir, c); err != nil {
			t.Fatal(err)
		}
	}
	texts := func() (all []string) {
		for _, c := range Read(dir) {
			all = append(all, c.Text)
		}
		return all
	}
	keep("it sleeps", "pay")
	keep("it computes", "read")
	keep("it waits", "pay")
	if got, want := texts(), []string{"it waits", "it computes"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range mostCauses + 5 {
		keep("more", fmt.Sprint("m", i))
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != mostCauses || len(texts()) != mostCauses {
		t.Errorf("got %d files, %d causes, %v, want %d", len(left), len(texts()), err, mostCauses)
	}
	for _, entry := range left {
		if info, err := entry.Info(); err != nil || info.Mode() != 0o600 {
			t.Fatalf("got %v, %v, want a file for its owner alone", info, err)
		}
	}
}

// TestHostileFiles reads files that Sonde has not written.
func TestHostileFiles(t *testing.T) {
	const method = `{"class": "a", "method": "b", "descriptor": "c", "sha256": "d"}`
	const good = `{"path": [` + method + "," + method + `]}`
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want int
	}{
		"good":               {good, 0o600, 1},
		"others may read it": {good, 0o644, 1},
		"others may write":   {good, 0o666, 0},
		"the group may":      {good, 0o660, 0},
		"empty":              {"", 0o600, 0},
		"no JSON":            {"{", 0o600, 0},
		"another type":       {`{"path": 1}`, 0o600, 0},
		"null":               {"null", 0o600, 0},
		"no path":            {"{}", 0o600, 0},
		"empty methods":      {`{"path": [{}, {}]}`, 0o600, 0},
		"one method":         {`{"path": [` + method + `]}`, 0o600, 0},
		"a long path":        {`{"path": [` + strings.Repeat(method+",", mostPath) + method + `]}`, 0o600, 0},
		"a long text":        {`{"cause": "` + strings.Repeat("x", longest+1) + `", ` + good[1:], 0o600, 0},
		"a large file":       {strings.Repeat(" ", mostBytes) + good, 0o600, 0},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "1.json")
		if err := errors.Join(os.WriteFile(path, []byte(test.text), 0o600), os.Chmod(path, test.mode)); err != nil {
			t.Fatal(err)
		}
		if got := Read(dir); len(got) != test.want {
			t.Errorf("%s: got %+v, want %d", name, got, test.want)
		}
	}
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "1.json")
	err := errors.Join(os.WriteFile(elsewhere, []byte(good), 0o600), os.Symlink(elsewhere, filepath.Join(dir, "1.json")), os.Mkdir(filepath.Join(dir, "2.json"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "3.json"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "4.json")), os.WriteFile(filepath.Join(dir, "new-5"), []byte(good), 0o600))
	if os.Geteuid() == 0 {
		foreign := filepath.Join(dir, "6.json")
		err = errors.Join(err, os.WriteFile(foreign, []byte(good), 0o600), os.Chown(foreign, 12345, 12345))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := Read(dir); got != nil {
		t.Errorf("got %+v, want nothing: links, a directory, a pipe, a file that was not finished, and one of another user", got)
	}
}
