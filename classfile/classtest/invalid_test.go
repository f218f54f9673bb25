package classtest_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// The table of expected errors is read by people: rewrite it with -update and
// look at the difference.
const errorTable = "../testdata/invalid/errors.txt"

var update = flag.Bool("update", false, "rewrite the table of expected errors")

// TestInvalid reads each class with one defect to its end and compares what the
// library says with the table. An error is of the type that tells the structure
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
	err = code.Check(class)
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
