package weave_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// someClasses are woven in the tests of determinism: ours, the zoo's, and a sample of
// the JDK's, whose pools are large.
func someClasses(t *testing.T, j java) [][]byte {
	t.Helper()
	var all [][]byte
	for _, pattern := range []string{filepath.Join(j.dir, "*.class"), "../../classfile/testdata/zoo/17/*.class", "../../classfile/testdata/zoo/25/*.class"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			all = append(all, readFile(t, file))
		}
	}
	image, err := jimage.Open(j.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = image.Close() }() // only read
	count := 0
	err = image.Each(func(module, path string, data []byte) error {
		if module == "java.base" && strings.HasSuffix(path, ".class") {
			if count++; count%25 == 0 {
				all = append(all, bytes.Clone(data))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// weaveEach weaves classes with one weaver and returns the results.
func weaveEach(t testing.TB, w *weave.Weaver, classes [][]byte, pick func(weave.MethodInfo) []*weave.Template) [][]byte {
	t.Helper()
	var all [][]byte
	for _, class := range classes {
		result, err := w.Weave(class, pick)
		if err != nil {
			t.Error(err)
			return nil
		}
		all = append(all, result.Bytes)
	}
	return all
}

func wantSame(t testing.TB, what string, want, have [][]byte) {
	t.Helper()
	for i := range want {
		if i >= len(have) || !bytes.Equal(want[i], have[i]) {
			t.Errorf("%s: class %d is woven to other bytes", what, i)
			return
		}
	}
}

// TestDeterminism: what comes out depends on the class and the templates alone.
func TestDeterminism(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	classes := someClasses(t, j)
	originals := make([][]byte, len(classes))
	for i := range classes {
		originals[i] = bytes.Clone(classes[i])
	}
	rich, probe, all := j.pick(t, "rich", "tangled"), j.pick(t, "probe"), j.pick(t, "all")
	w := weave.NewWeaver()
	first := weaveEach(t, w, classes, rich)
	wantSame(t, "again", first, weaveEach(t, w, classes, rich))
	probed := weaveEach(t, w, classes, probe)
	weaveEach(t, w, classes, all)
	wantSame(t, "after other templates", first, weaveEach(t, w, classes, rich))
	wantSame(t, "the other template, after this", probed, weaveEach(t, w, classes, probe))
	wantSame(t, "by another weaver", first, weaveEach(t, weave.NewWeaver(), classes, rich))
	wantSame(t, "by a template compiled anew", first, weaveEach(t, w, classes, j.pick(t, "rich", "tangled")))

	backwards := make([][]byte, len(classes))
	for i := range classes {
		result, err := w.Weave(classes[len(classes)-1-i], rich)
		if err != nil {
			t.Fatal(err)
		}
		backwards[len(classes)-1-i] = result.Bytes
	}
	wantSame(t, "in another order", first, backwards)
	wantSame(t, "the input", originals, classes)
}

// TestDeterminismOfProcesses: another process weaves the same bytes, though hashes are
// seeded anew in each.
func TestDeterminismOfProcesses(t *testing.T) {
	const inner = "SONDE_TEST_WEAVE_DIGEST"
	j := compileJava(t, anyJDK(t), "17")
	if os.Getenv(inner) != "" {
		sum := sha256.New()
		for _, pick := range []func(weave.MethodInfo) []*weave.Template{j.pick(t, "tangled"), j.pick(t, "all", "rich")} {
			for _, woven := range weaveEach(t, weave.NewWeaver(), someClasses(t, j), pick) {
				_, _ = sum.Write(woven) // never fails
			}
		}
		fmt.Printf("digest %x\n", sum.Sum(nil))
		return
	}
	var first string
	for range 5 {
		command := exec.Command(os.Args[0], "-test.run=^TestDeterminismOfProcesses$")
		command.Env = append(os.Environ(), inner+"=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		digest, _, _ := strings.Cut(string(out), "\n")
		if !strings.HasPrefix(digest, "digest ") {
			t.Fatalf("no digest in %s", out)
		}
		if first == "" {
			first = digest
		}
		if digest != first {
			t.Fatalf("one process gives %s, another %s", first, digest)
		}
	}
}

// TestConcurrency: weavers share templates and nothing else. Under -race this also
// shows that weaving writes to no template.
func TestConcurrency(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	classes := someClasses(t, j)
	pick := j.pick(t, "rich", "tangled", "all")
	want := weaveEach(t, weave.NewWeaver(), classes, pick)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			wantSame(t, "concurrently", want, weaveEach(t, weave.NewWeaver(), classes, pick))
		})
	}
	workers.Wait()
}

// TestAppend: the woven class stands behind what was there, and in the memory that
// was there; a class that is not woven leaves it as it is.
func TestAppend(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	pick := j.pick(t, "rich")
	w := weave.NewWeaver()
	for i, class := range someClasses(t, j) {
		want, err := w.Weave(class, pick)
		if err != nil {
			t.Fatal(err)
		}
		wanted := bytes.Clone(want.Bytes)
		dst := append(make([]byte, 0, 1<<20), "before"...)
		have, err := w.Append(dst, class, pick)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have.Bytes, wanted) {
			t.Fatalf("class %d: Append and Weave differ", i)
		}
		if have.Bytes != nil && (&have.Bytes[0] != &dst[:7][6] || string(dst) != "before") {
			t.Fatalf("class %d was not written behind what was there", i)
		}
	}
}
