package weave_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// TestDeterminismOfHistory: what a weaver wove before, and how its tables have grown
// by that, does not show in what it weaves.
func TestDeterminismOfHistory(t *testing.T) {
	jdk := anyJDK(t)
	pick := compileGrid(t, jdk).pick(t, "nested", "across")
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	old, done, n := weave.NewWeaver(), errors.New("enough"), 0
	err = image.Each(func(module, path string, data []byte) error {
		if module != "java.base" || !strings.HasSuffix(path, ".class") {
			return nil
		}
		with, err := old.Weave(data, pick)
		if err != nil {
			return err
		}
		without, err := weave.NewWeaver().Weave(data, pick)
		if err != nil {
			return err
		}
		if !bytes.Equal(with.Bytes, without.Bytes) {
			t.Errorf("%s: a weaver with a past gives %d bytes, a new one %d", path, len(with.Bytes), len(without.Bytes))
		}
		if n++; n == 1000 {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Errorf("after %d classes: %v", n, err)
	}
}

// TestArgumentsAreTold: a debugger that stops at the method's entry, which is now the
// prolog's, finds the arguments' variables there.
func TestArgumentsAreTold(t *testing.T) {
	j := compileGrid(t, anyJDK(t))
	data := readFile(t, filepath.Join(j.dir, "GridTarget.class"))
	result, err := weave.NewWeaver().Weave(data, j.pick(t, "across", "loopBefore"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := classfile.Parse(result.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range c.Methods {
		body, err := code.Lift(c, &c.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range body.Vars {
			v := &body.Vars[k]
			name, _ := c.Pool.Utf8(v.Name)
			if told++; v.Start.Offset() != 0 {
				t.Errorf("%s begins at %d", name, v.Start.Offset())
			}
		}
		if first := body.First(); first == nil || lineAt(body) != 0 {
			t.Errorf("method %d: the first line begins at %d", i, lineAt(body))
		}
	}
	if told == 0 {
		t.Error("no variable is told at all")
	}
}

// lineAt returns where the first line number of a body begins.
func lineAt(body *code.Body) int {
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Line {
			return n.Offset()
		}
	}
	return -1
}
