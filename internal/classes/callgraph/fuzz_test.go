package callgraph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

// FuzzAdd adds a class file that may be damaged. Whatever it is, the graph survives
// it, and removes nothing and reports nothing twice.
func FuzzAdd(f *testing.F) {
	seeds, err := filepath.Glob("../../../classfile/testdata/*/*/*.class")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("../../../classfile/testdata/invalid/*.class")
	if err != nil {
		f.Fatal(err)
	}
	seeds = append(seeds, more...)
	if len(seeds) == 0 {
		f.Fatal("no class files to begin with")
	}
	for _, path := range seeds {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := New(Settings{Skip: skipJDK})
		if _, err := g.Add(data); err != nil {
			if len(g.Missing()) > 0 || len(g.Find(func(classfile.MethodRef) bool { return true })) > 0 {
				t.Errorf("a class was refused (%v), but left something", err)
			}
			return
		}
		all := g.Find(func(classfile.MethodRef) bool { return true })
		reported := make(map[classfile.MethodRef]bool)
		for _, m := range g.ExpandAll(all).Methods {
			if reported[m] {
				t.Errorf("%s was reported twice", m)
			}
			reported[m] = true
		}
		g.Ahead(all, Limits{Depth: 3, Methods: 100, Fan: 3})
		g.Closure(all)
		if e, err := g.Add(data); err != nil || len(e.Methods)+len(e.Sites) > 0 {
			t.Errorf("the same class again: %v, %v", e, err)
		}
	})
}
