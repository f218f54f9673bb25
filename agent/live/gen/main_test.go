package main

import (
	"os"
	"path/filepath"
	"testing"
)

const generated = "../src/sonde/template/live"

func TestCommittedTemplatesAreUpToDate(t *testing.T) {
	names := map[string]bool{}
	for _, one := range templates() {
		names[one.name+".java"] = true
		committed, err := os.ReadFile(filepath.Join(generated, one.name+".java"))
		if err != nil || string(committed) != one.source() {
			t.Errorf("%s.java is not the output of gen: run make generate (%v)", one.name, err)
		}
	}
	entries, err := os.ReadDir(generated)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !names[entry.Name()] {
			t.Errorf("%s is not generated", entry.Name())
		}
	}
}
