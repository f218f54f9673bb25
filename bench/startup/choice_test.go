package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestShortMethodsAreLeftOut(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "agent", "dist", "watch.class"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := weavable(data, 0)
	if err != nil || all.methods == 0 || all.names != nil {
		t.Fatalf("%+v, %v; want methods of any name", all, err)
	}
	long, err := weavable(data, 1)
	if err != nil || long.methods != all.methods || len(long.names) == 0 {
		t.Errorf("of a byte at least: %+v, %v; want %d methods by name", long, err, all.methods)
	}
	if none, err := weavable(data, 1<<16); err != nil || none.methods != 0 || none.names != nil {
		t.Errorf("of more bytes than code can have: %+v, %v", none, err)
	}
}

func TestBothAgentsAreToldTheSameMethods(t *testing.T) {
	c := choice{classes: []chosen{{name: "a/All", methods: 3}, {name: "b/Some", names: []string{"f", "g"}, methods: 4}}}
	path, err := c.writeList(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(path)
	if want := "a/All 3\nb/Some 4 f g\n"; err != nil || string(list) != want {
		t.Errorf("ASM's agent reads %q, %v; want %q", list, err, want)
	}
	probes := strings.Fields(c.probes())
	for _, want := range []string{"a.All.*", "b.Some.f", "b.Some.g"} {
		if !slices.Contains(probes, want) {
			t.Errorf("the pack's probes lack %s: %s", want, probes)
		}
	}
}
