package layering

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostLines is where a file stops being a page one can read.
const mostLines = 1000

var generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

// namelessNames say nothing about what a package is.
var namelessNames = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared"}

func TestNoFileIsTooLong(t *testing.T) {
	for _, file := range sourceFiles(t) {
		if !slices.Contains([]string{".go", ".java", ".sh"}, path.Ext(file)) || inTestdata(file) {
			continue
		}
		data := readFile(t, file)
		if lines := bytes.Count(data, []byte("\n")); lines > mostLines && !generated.Match(data) {
			t.Errorf("%s has %d lines, more than %d: find the noun that wants a file of its own", file, lines, mostLines)
		}
	}
}

func TestPackagesHaveNames(t *testing.T) {
	for _, p := range readPackages(t) {
		for _, element := range strings.Split(p.path, "/") {
			if slices.Contains(namelessNames, element) {
				t.Errorf("package %s: %q does not say what it is about", p.path, element)
			}
		}
	}
}

// TestNoWorkplacePath keeps folders of the machine a file was written on out of
// what is committed. The pattern is put together here so that this file does
// not hold what it forbids.
func TestNoWorkplacePath(t *testing.T) {
	forbidden := regexp.MustCompile(`(^|[^\w.*~$})-])/` + `wo` + `rk/`)
	for _, file := range sourceFiles(t) {
		for number, line := range bytes.Split(readFile(t, file), []byte("\n")) {
			if forbidden.Match(line) {
				t.Errorf("%s:%d names a folder of one machine: make it relative to the repository", file, number+1)
			}
		}
	}
}

// inTestdata tells test data, whose size is given by what it tests.
func inTestdata(file string) bool {
	return slices.Contains(strings.Split(file, "/"), "testdata")
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	return data
}
