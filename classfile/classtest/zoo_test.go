package classtest_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
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
			encoded, err := classfile.AppendContents(nil, contents)
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

// The table of expected errors is read by people: rewrite it with -update and
// look at the difference.
const errorTable = "../testdata/invalid/errors.txt"

var update = flag.Bool("update", false, "rewrite the table of expected errors")

// TestInvalid reads each class with one defect to its end and compares what the
// library says with the table. An error has the type that names the structure
// and the offset, and is one line long. What parses comes back as it was, defect
// and all.
func TestInvalid(t *testing.T) {
	want := readErrorTable(t)
	var table strings.Builder
	table.WriteString("# class, then the stage that refuses it and what it says. Rewrite: go test ./classfile/classtest -update\n")
	eachClass(t, "../testdata/invalid", func(t *testing.T, data []byte) {
		name := strings.TrimSuffix(filepath.Base(t.Name()), ".class")
		got := verdict(t, data)
		fmt.Fprintf(&table, "%-36s %s\n", name, got)
		if !*update && got != want[name] {
			t.Errorf("\n got  %s\n want %s", got, want[name])
		}
		delete(want, name)
	})
	if *update {
		if err := os.WriteFile(errorTable, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name := range want {
		t.Errorf("the table has %s, which does not exist", name)
	}
}

// TestReferenceRefusesInvalid checks the specimens themselves, by the other
// parser: each has a defect.
func TestReferenceRefusesInvalid(t *testing.T) {
	eachClass(t, "../testdata/invalid", func(t *testing.T, data []byte) {
		_, err := classtest.Describe(data)
		var malformed *classtest.MalformedError
		if !errors.As(err, &malformed) {
			t.Errorf("got %v, want a *MalformedError", err)
		}
	})
}

// verdict reads everything in a class: its structure, every body, every attribute,
// and then looks where the indices in them lead.
func verdict(t *testing.T, data []byte) string {
	t.Helper()
	class, err := classfile.Parse(data)
	if err != nil {
		return refusal(t, "parse", err)
	}
	written, err := class.Append(nil)
	if err != nil {
		t.Errorf("parsed, yet it cannot be written: %v", err)
	}
	if string(written) != string(data) {
		t.Error("parsed, yet written otherwise")
	}
	for i := range class.Methods {
		if _, err := code.Lift(class, &class.Methods[i]); err != nil {
			return refusal(t, "lift", err)
		}
	}
	if err := decodeAll(class); err != nil {
		return refusal(t, "decode", err)
	}
	err = new(code.Lifter).Check(class)
	if err == nil {
		t.Error("no stage finds the defect")
		return ""
	}
	return refusal(t, "check", err)
}

func decodeAll(class *classfile.Class) error {
	attributes := append([]classfile.Attribute(nil), class.Attributes...)
	for _, members := range [][]classfile.Member{class.Fields, class.Methods} {
		for i := range members {
			attributes = append(attributes, members[i].Attributes...)
		}
	}
	for i := 0; i < len(attributes); i++ {
		contents, err := class.Decode(attributes[i])
		if err != nil {
			return err
		}
		if body, ok := contents.(*classfile.Code); ok {
			attributes = append(attributes, body.Attributes...)
		}
	}
	return nil
}

func refusal(t *testing.T, stage string, err error) string {
	t.Helper()
	var format *classfile.FormatError
	if !errors.As(err, &format) {
		t.Errorf("%s: %T is not a *FormatError: %v", stage, err, err)
	} else if format.Structure == "" || format.Offset < 0 || format.Detail == "" {
		t.Errorf("%s: the error does not say what and where: %#v", stage, format)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: the error is longer than a line: %v", stage, err)
	}
	return stage + ": " + err.Error()
}

func readErrorTable(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(errorTable)
	if err != nil && !*update {
		t.Fatal(err)
	}
	table := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		table[name] = strings.TrimSpace(text)
	}
	return table
}

// tooFull are the bodies of the zoo that leave no room for a template.
var tooFull = map[string]bool{"LongestBody": true}

// TestZooWoven weaves the smallest probe around every method of the zoo. The
// reference parser must find the result sound, and the JVM must load it if it
// loads the original.
func TestZooWoven(t *testing.T) {
	var originals, woven []string
	folder := t.TempDir()
	eachClass(t, "../testdata/zoo", func(t *testing.T, data []byte) {
		_, file, _ := strings.Cut(t.Name(), "/")
		result, err := weave.NewWeaver().Weave(data, everyMethod(t))
		if err != nil {
			t.Fatalf("weave: %v", err)
		}
		for _, m := range result.Methods {
			if !m.Woven && !tooFull[strings.TrimSuffix(filepath.Base(file), ".class")] {
				t.Errorf("%s%s was left alone: %v", m.Name, m.Descriptor, m.Reason)
			}
		}
		if result.Bytes == nil {
			return
		}
		if _, err := classtest.Describe(result.Bytes); err != nil {
			t.Fatalf("the woven class is not sound: %v", err)
		}
		target := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(target, result.Bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		originals = append(originals, filepath.Join("../testdata/zoo", file))
		woven = append(woven, target)
	})
	compareLoading(t, folder, originals, woven)
}

func compareLoading(t *testing.T, folder string, originals, woven []string) {
	t.Helper()
	jdk := jvmtest.Need(t, 25)
	runtimeJar := filepath.Join(folder, "runtime.jar")
	if err := os.WriteFile(runtimeJar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	before, after := loadVerdicts(t, jdk, originals, runtimeJar), loadVerdicts(t, jdk, woven, runtimeJar)
	for i := range before {
		if before[i] == "ok" && after[i] != "ok" {
			t.Errorf("%s loads as it is, and woven gives %s", originals[i], after[i])
		}
	}
}

// TestInvalidIsBounded feeds what is broken to the rest of the library. Nothing
// may panic; the tests' own time limit bounds the rest.
func TestInvalidIsBounded(t *testing.T) {
	eachClass(t, "../testdata/invalid", func(t *testing.T, data []byte) {
		class, err := classfile.Parse(data)
		if err != nil {
			return
		}
		if err := dump.Class(io.Discard, class, dump.Options{}); err != nil {
			t.Errorf("dump to a writer that never fails: %v", err)
		}
		result, err := weave.NewWeaver().Weave(data, everyMethod(t))
		if err != nil || result.Bytes == nil {
			return
		}
		if _, err := classfile.Parse(result.Bytes); err != nil {
			t.Errorf("the woven class cannot be read: %v", err)
		}
	})
}

// everyMethod chooses the built-in probe for all methods.
func everyMethod(t *testing.T) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	class, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("there is no built-in template probe")
	}
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	templates := []*weave.Template{template}
	return func(weave.MethodInfo) []*weave.Template { return templates }
}
