package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// zoo are the class files of the library's tests.
func zoo(t testing.TB) (classes [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../../../classfile/testdata/zoo/*/*.class")
	if err != nil || len(files) == 0 {
		t.Fatal("no classes found ", err)
	}
	for _, file := range files {
		class, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, class)
	}
	return classes
}

// newWeaver weaves as live commands do, with hooks at calls of some methods.
func newWeaver(t testing.TB) (*weave.Weaver, func(weave.MethodInfo) []*weave.Template) {
	t.Helper()
	template, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		t.Fatal(err)
	}
	w := weave.NewWeaver()
	if w.SiteTemplate, err = weave.CompileSiteTemplate(agent.LiveTemplate()); err != nil {
		t.Fatal(err)
	}
	templates := []*weave.Template{template}
	return w, func(weave.MethodInfo) []*weave.Template { return templates }
}

// TestWovenClassesComeBack: what the weaver gives and what comes back is the same, also
// of calls that were left alone.
func TestWovenClassesComeBack(t *testing.T) {
	w, pick := newWeaver(t)
	w.Sites = func(_ weave.MethodInfo, call weave.Call) (int32, bool) { return 7, call.Opcode != opcode.Invokespecial }
	left, wrapped, notWoven := 0, 0, 0
	for _, class := range zoo(t) {
		result, err := w.Weave(class, pick)
		if err != nil {
			continue // a module, say
		}
		parsed, err := classfile.Parse(class)
		if err != nil {
			t.Fatal(err)
		}
		key := ingredients{class: class}.key()
		made := NewEntry(Weaving{
			Class: parsed.Name(), Original: OriginalOf(class), Engine: "test", Made: time.UnixMilli(1), Result: result,
			Templates: func(string, string) []string { return []string{"live"} },
		})
		entry, err := decode(key, encoded(t, key, made))
		if err != nil {
			t.Fatal(err)
		}
		wantEntry(t, entry, made)
		wantResult(t, entry, result)
		if !entry.Fits(weave.MethodID) {
			t.Error(entry.Class, "does not fit where ids are as everywhere")
		}
		for _, m := range result.Methods {
			left += len(m.Left)
			wrapped += m.Sites
			if !m.Woven {
				notWoven++
			}
		}
	}
	if left == 0 || wrapped == 0 || notWoven == 0 {
		t.Errorf("%d calls left alone, %d wrapped, %d methods left alone: too little was tried", left, wrapped, notWoven)
	}
}

func wantResult(t *testing.T, entry *Entry, want *weave.Result) {
	t.Helper()
	got := entry.Result()
	if !bytes.Equal(got.Bytes, want.Bytes) || len(got.Methods) != len(want.Methods) {
		t.Fatalf("%s: %d bytes in %d methods came back, not %d in %d", entry.Class, len(got.Bytes), len(got.Methods), len(want.Bytes), len(want.Methods))
	}
	for i := range want.Methods {
		offsets, err := entry.Methods[i].Offsets.Map()
		if err != nil || !slices.Equal(offsets, want.Methods[i].Offsets) {
			t.Errorf("%s.%s: offsets %v, not %v, %v", entry.Class, want.Methods[i].Name, offsets, want.Methods[i].Offsets, err)
		}
		m := want.Methods[i]
		m.Offsets = nil
		if len(m.Left) == 0 {
			m.Left = nil
		}
		if !reflect.DeepEqual(got.Methods[i], m) {
			t.Errorf("%s: %+v came back, not %+v", entry.Class, got.Methods[i], m)
		}
	}
}

// TestOtherIDsDoNotFit: a process that names one method otherwise cannot use an entry.
func TestOtherIDsDoNotFit(t *testing.T) {
	e := sampleEntry(1)
	same := func(m classfile.MethodRef) int32 {
		if m.Name == "nanoTime" {
			return int32(e.Calls[0].ID)
		}
		return weave.MethodID(m)
	}
	if !e.Fits(same) {
		t.Error("it does not fit the process that made it")
	}
	for _, other := range []string{"pay", "nanoTime"} {
		moved := func(m classfile.MethodRef) int32 {
			if m.Name == other {
				return same(m) + 1
			}
			return same(m)
		}
		if e.Fits(moved) {
			t.Errorf("it fits, though %s has another id", other)
		}
	}
	// Of methods that have no id in the code nothing is asked.
	if !e.Fits(func(m classfile.MethodRef) int32 {
		if m.Name == "print" || m.Name == "now" {
			return 1
		}
		return same(m)
	}) {
		t.Error("it does not fit")
	}
}

// TestOtherClassIsNotServed: a class one bit away has another key.
func TestOtherClassIsNotServed(t *testing.T) {
	d := openDisk(t, Options{})
	recipe := NewRecipe("test", []byte("template"))
	class := zoo(t)[0]
	fillKey := recipe.Key(OriginalOf(class), "spec")
	if err := d.Put(t.Context(), fillKey, sampleEntry(1)); err != nil {
		t.Fatal(err)
	}
	for at := range class {
		class[at] ^= 1
		if entry, err := d.Get(t.Context(), recipe.Key(OriginalOf(class), "spec")); err == nil {
			t.Fatalf("byte %d: %v", at, entry.Class)
		}
		class[at] ^= 1
	}
	if _, err := d.Get(t.Context(), recipe.Key(OriginalOf(class), "spec")); err != nil {
		t.Error(err)
	}
}
