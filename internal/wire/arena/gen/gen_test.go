package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{ // committed, by generated
		filepath.Join(folder, "layout_gen.go"):       "../layout_gen.go",
		filepath.Join(folder, "java", "Layout.java"): "../../../../agent/hooks/stubs/sonde/layout/Layout.java",
	}
	if err := run("../layout.table", filepath.Join(folder, "layout_gen.go"), filepath.Join(folder, "java", "Layout.java")); err != nil {
		t.Fatal(err)
	}
	for generated, committed := range files {
		want, err := os.ReadFile(generated)
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(committed)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not what layout.table says: run go generate ./internal/wire/arena", committed)
		}
	}
}

func TestWhatCannotBeALayoutIsRefused(t *testing.T) {
	for table, want := range map[string]string{
		"const A":                               "line 1: neither const",
		"const A x":                             "line 1: ",
		"\nconst A 0x1_0000_0000_0000_0000":     "line 2: ",
		"const A 1\nconst A 2":                  "line 2: two constants are called A",
		"0 u32 a":                               "line 1: neither const",
		"struct s x":                            "line 1: ",
		"struct s 0":                            "line 1: s has no size",
		"struct s 12 of words":                  "line 1: the size of s is not a multiple of 8",
		"struct s 16\nstruct s 16":              "line 2: two structures are called s",
		"struct s 16\n0 u32":                    "line 2: neither const",
		"struct s 16\nx u32 a":                  "line 2: ",
		"struct s 16\n-8 u32 a":                 "line 2: s.a overlaps",
		"struct s 16\n0 u16 a":                  "line 2: unknown type",
		"struct s 16\n0 b a":                    "line 2: unknown type",
		"struct s 16\n0 a-4 a":                  "line 2: unknown type",
		"struct s 16\n2 u32 a":                  "line 2: s.a is not aligned",
		"struct s 16\n4 u64 a":                  "line 2: s.a is not aligned",
		"struct s 16\n0 u64 a\n4 u32 b":         "line 3: s.b overlaps",
		"struct s 16\n16 u32 a":                 "line 2: s.a is outside",
		"struct s 16\n8 b9 a":                   "line 2: s.a is outside",
		"struct s 16\n0 u32 a\n4 u32 a":         "line 3: s has two fields called a",
		"struct s 16\n0 a5 a":                   "line 2: s.a is outside",
		"struct s 16\n0 a9223372036854775807 a": "line 2: ",
	} {
		_, err := parse(table)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, not %q", table, err, want)
		}
	}
}

func TestMeaningsBecomeComments(t *testing.T) {
	l, err := parse("const BIG 0x80000000 # too big for an int\nstruct s 16 a thing\n8 u64 two_words of it")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"layoutBig = 0x80000000 // too big for an int", "// s: a thing.", "sTwoWords = 8 // of it"} {
		if !strings.Contains(string(l.goSource()), want) {
			t.Errorf("%q is not in\n%s", want, l.goSource())
		}
	}
	for _, want := range []string{"long BIG = 0x80000000L;", "int S_SIZE = 16;", "int S_TWO_WORDS = 8;"} {
		if !strings.Contains(string(l.javaSource()), want) {
			t.Errorf("%q is not in\n%s", want, l.javaSource())
		}
	}
}
