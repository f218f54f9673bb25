package cache

import (
	"os"
	"testing"
)

// ingredients are everything that determines a key.
type ingredients struct {
	class     []byte
	templates [][]byte
	spec      string
	engine    string
}

func (i ingredients) key() Key {
	return NewRecipe(i.engine, i.templates...).Key(OriginalOf(i.class), i.spec)
}

// TestKeysDiffer uses ingredients that read the same when they are concatenated.
func TestKeysDiffer(t *testing.T) {
	seen := make(map[Key]int)
	for i, in := range []ingredients{
		{},
		{class: []byte("a")},
		{class: []byte("b")},
		{spec: "a"},
		{engine: "a"},
		{templates: [][]byte{nil}},
		{templates: [][]byte{nil, nil}},
		{templates: [][]byte{[]byte("a")}},
		{templates: [][]byte{[]byte("a"), []byte("b")}},
		{templates: [][]byte{[]byte("b"), []byte("a")}},
		{templates: [][]byte{[]byte("ab")}},
		{class: []byte("a"), spec: "bc", engine: "d"},
		{class: []byte("ab"), spec: "c", engine: "d"},
		{class: []byte("a"), spec: "b", engine: "cd"},
		{class: []byte("a"), spec: "d", engine: "bc"},
	} {
		key := in.key()
		if before, twice := seen[key]; twice {
			t.Errorf("%d has the key of %d", i, before)
		}
		seen[key] = i
	}
}

// TestKeyStays: a change to the meaning of keys must change keyDomain, and this text.
func TestKeyStays(t *testing.T) {
	in := ingredients{class: []byte("class"), templates: [][]byte{[]byte("one"), []byte("two")}, spec: "spec", engine: "engine"}
	const want = "fc08c2990b93c440f521a51fb7411c5d882f4a9baa8bed2b72aac01db43173e5"
	if got := in.key().String(); got != want {
		t.Errorf("the key is %s, not %s", got, want)
	}
}

func TestEngineIdentifiesThisBuild(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build, err := buildOf(path)
	if err != nil || len(build) != 20 {
		t.Fatal(build, err)
	}
	if other, err := buildOf("/proc/self/cmdline"); err != nil || other == build {
		t.Errorf("a file that is not a program has %q, %v", other, err)
	}
	if Engine() == "" {
		t.Error("the engine has no version")
	}
}
