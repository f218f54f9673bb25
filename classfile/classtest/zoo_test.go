package classtest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// TestZoo holds the library to its laws on one class for each thing there is:
// parse and append give the same bytes; so do lift and lower, and decoding and
// encoding each attribute; and the reference parser finds the same class.
func TestZoo(t *testing.T) {
	eachClass(t, "../testdata/zoo", func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		class, err := classfile.Parse(data)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		written, err := class.Append(nil)
		if err != nil {
			t.Fatalf("append: %v", err)
		}
		if !bytes.Equal(written, original) {
			t.Fatalf("append gives other bytes: %v", describeDifference(original, written))
		}
		for i := range class.Methods {
			lowerUnchanged(t, class, &class.Methods[i])
		}
		written, err = class.Append(nil)
		if err != nil {
			t.Fatalf("append with lowered bodies: %v", err)
		}
		if !bytes.Equal(written, original) {
			t.Errorf("lift and lower give other bytes: %v", describeDifference(original, written))
		}
		if !bytes.Equal(data, original) {
			t.Error("the bytes parsed were changed")
		}
	})
}

// lowerUnchanged puts the lowered form of a body in the place of the body.
func lowerUnchanged(t *testing.T, class *classfile.Class, m *classfile.Member) {
	t.Helper()
	name, descriptor, err := class.MemberName(m)
	if err != nil {
		t.Fatalf("method name: %v", err)
	}
	body, err := code.Lift(class, m)
	if err != nil {
		t.Fatalf("lift %s%s: %v", name, descriptor, err)
	}
	if body == nil {
		return
	}
	lowered, err := body.Append(nil)
	if err != nil {
		t.Fatalf("lower %s%s: %v", name, descriptor, err)
	}
	attribute := class.Find(m.Attributes, classfile.KindCode)
	if !bytes.Equal(lowered, attribute.Data) {
		t.Errorf("%s%s: lowered to other bytes\n was % x\n now % x", name, descriptor, clip(attribute.Data), clip(lowered))
	}
	attribute.Data = lowered
}

// TestZooAttributes decodes every attribute in a place where it means something
// and encodes it again.
func TestZooAttributes(t *testing.T) {
	met := map[string]bool{}
	eachClass(t, "../testdata/zoo", func(t *testing.T, data []byte) {
		if strings.HasSuffix(t.Name(), "UnknownAttributes.class") {
			return // it has names where they mean nothing
		}
		class, err := classfile.Parse(data)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		for _, a := range allAttributes(t, class) {
			met[class.Kind(a.Name).String()] = true
			contents, err := class.Decode(a)
			if err != nil {
				t.Fatalf("decode %v: %v", class.Kind(a.Name), err)
			}
			encoded, err := contents.AppendTo(nil)
			if err != nil {
				t.Fatalf("encode %v: %v", class.Kind(a.Name), err)
			}
			if !bytes.Equal(encoded, a.Data) {
				t.Errorf("%v: decoded and encoded to other bytes\n was % x\n now % x", class.Kind(a.Name), clip(a.Data), clip(encoded))
			}
		}
	})
	for _, name := range classtest.AttributeNames() {
		if !met[name] {
			t.Errorf("no class of the zoo has the attribute %s, or the library does not know it", name)
		}
	}
}

// allAttributes lists the attributes of a class, its members, bodies and record
// components.
func allAttributes(t *testing.T, class *classfile.Class) []classfile.Attribute {
	t.Helper()
	todo := append([]classfile.Attribute(nil), class.Attributes...)
	for _, members := range [][]classfile.Member{class.Fields, class.Methods} {
		for _, m := range members {
			todo = append(todo, m.Attributes...)
		}
	}
	for i := 0; i < len(todo); i++ {
		contents, err := class.Decode(todo[i])
		if err != nil {
			t.Fatalf("decode %v: %v", class.Kind(todo[i].Name), err)
		}
		switch contents := contents.(type) {
		case *classfile.Code:
			todo = append(todo, contents.Attributes...)
		case classfile.Record:
			for _, component := range contents {
				todo = append(todo, component.Attributes...)
			}
		}
	}
	return todo
}

func describeDifference(was, now []byte) error { return classtest.Equal(was, now) }

func clip(data []byte) []byte { return data[:min(len(data), 200)] }

// eachClass runs a test for every class file below a folder.
func eachClass(t *testing.T, root string, check func(t *testing.T, data []byte)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		count++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) { check(t, data) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Fatalf("no class below %s: run go generate", root)
	}
}
