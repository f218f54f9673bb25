// Package arenatest has, for tests, arenas as the hooks write them: with threads, nodes and
// calls under way.
package arenatest

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A layout is what layout.table says, read by itself: what is made of the table is not
// relied on by what judges its readers.
type layout struct {
	sizes  map[string]int64 // of structs
	places map[string]int64 // "struct.field"
	consts map[string]int64
}

func readLayout(t testing.TB) *layout {
	t.Helper()
	file, err := os.Open(filepath.Join(moduleRoot(t), "internal", "wire", "arena", "layout.table"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	l := &layout{sizes: map[string]int64{}, places: map[string]int64{}, consts: map[string]int64{}}
	within := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) < 3 || words[0] == "#":
		case words[0] == "const":
			l.consts[words[1]], _ = strconv.ParseInt(strings.ReplaceAll(words[2], "_", ""), 0, 64) // those that do not fit are not needed
		case words[0] == "struct":
			within = words[1]
			l.sizes[within] = number(t, words[2])
		default:
			l.places[within+"."+words[2]] = number(t, words[0])
		}
	}
	return l
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("layout.table: %v", err)
	}
	return n
}

// moduleRoot is the directory with go.mod, above where the test runs.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("there is no go.mod above the test")
		}
		dir = above
	}
}
