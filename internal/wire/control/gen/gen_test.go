package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

func table(t *testing.T) []kind {
	t.Helper()
	kinds, err := parse(read(t, "../kinds.table"))
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCommittedFilesAreOfThisTable(t *testing.T) {
	goSource, err := goConstants(table(t))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{
		"../kinds_gen.go": goSource,
		"../../../../agent/control/src8/sonde/agent/control/Kind.java": javaConstants(table(t)),
	} {
		if !bytes.Equal([]byte(read(t, file)), want) {
			t.Errorf("%s is not what kinds.table gives: run make generate", file)
		}
	}
}

// TestDocumentAgrees holds the document, which people read, against the table,
// which programs are made of.
func TestDocumentAgrees(t *testing.T) {
	var want strings.Builder
	for _, k := range table(t) {
		want.WriteString(k.name + " " + k.from + "\n")
	}
	var got strings.Builder
	row := regexp.MustCompile(`(?m)^\| ([A-Z]+) ([0-9]+) \| ([a-z]+) \|`)
	numbers := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(read(t, "../../../../docs/formats/control.md"), -1) {
		got.WriteString(match[1] + " " + match[3] + "\n")
		numbers[match[1]] = match[2]
	}
	if got.String() != want.String() {
		t.Errorf("control.md has the rows\n%s, kinds.table\n%s", got.String(), want.String())
	}
	source := read(t, "../../../../agent/control/src8/sonde/agent/control/Kind.java")
	for name, number := range numbers {
		if !strings.Contains(source, "int "+name+" = "+number+";") {
			t.Errorf("control.md gives %s the number %s, Kind.java does not", name, number)
		}
	}
}

func TestDefectsAreNamed(t *testing.T) {
	for row, defect := range map[string]string{
		"HELLO 1 agent":                          "line 1: want",
		"HELLO 0 agent - x":                      "no number",
		"HELLO 256 agent - x":                    "no number",
		"Hello 1 agent - x":                      "capitals",
		"HELLO 1 moon - x":                       "sends nothing",
		"HELLO 1 agent - x\nHELLO 2 agent - x":   "line 2: HELLO 2 is there",
		"HELLO 1 agent - x\nREFUSED 1 sonde - x": "line 2: REFUSED 1 is there",
		"HELLO 1 agent HELLO x":                  "want a request of Sonde",
		"PING 4 sonde DONE x":                    "want a request of Sonde, and a kind",
	} {
		if _, err := parse(row); err == nil || !strings.Contains(err.Error(), defect) {
			t.Errorf("%q: %v", row, err)
		}
	}
}
