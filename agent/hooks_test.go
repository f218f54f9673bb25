package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBusySections checks that all sections in which a hook touches the arena have the same frame. A thread marks its
// place as busy, reads the address of the arena after that, checks the epoch of the arena, and removes the mark
// however the section ends; leaving waits for the marks before it unmaps the arena. The frame is repeated in the
// sources: as a method it would be two more calls in interpreted code for each hook, and with the section as an
// argument an allocation.
func TestBusySections(t *testing.T) {
	files, err := filepath.Glob("hooks/src/java/lang/*.java")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	begin := regexp.MustCompile(`(?m)^( +)U\.putLongOpaque\((\w+), place \+ BUSY, 1\);\n`)
	sections := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source := string(text)
		found := begin.FindAllStringSubmatchIndex(source, -1)
		if all := strings.Count(source, "BUSY, 1)"); all != len(found) {
			t.Errorf("%s: %d marks, %d of them in the usual form", file, all, len(found))
		}
		for _, at := range found {
			sections++
			margin, table := source[at[2]:at[3]], source[at[4]:at[5]]
			body, rest, ended := strings.Cut(source[at[1]:], "\n"+margin+"} finally {\n")
			line := strings.Count(source[:at[0]], "\n") + 1
			if !ended || !strings.HasPrefix(rest, margin+"    U.putLongRelease("+table+", place + BUSY, 0);") {
				t.Errorf("%s:%d: the section does not end by removing its mark in a finally block", file, line)
				continue
			}
			frame := regexp.MustCompile(`^(try \{\s+long b = (SondeHooks\.)?base;|long b = (SondeHooks\.)?base;\s+try \{)`)
			if !frame.MatchString(strings.TrimLeft(body, " ")) {
				t.Errorf("%s:%d: the section does not begin by reading the address of the arena", file, line)
			}
			if !regexp.MustCompile(`\bepoch [!=]= `).MatchString(body) {
				t.Errorf("%s:%d: the section does not check the epoch of the arena", file, line)
			}
		}
	}
	if sections < 19 {
		t.Errorf("only %d sections were found", sections)
	}
}
