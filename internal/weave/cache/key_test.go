package cache

import (
	"os"
	"testing"
)

// TestKeysDiffer has ingredients that read the same when put behind each other.
func TestKeysDiffer(t *testing.T) {
	seen := make(map[Key]int)
	for i, in := range []Ingredients{
		{},
		{Class: []byte("a")},
		{Class: []byte("b")},
		{Spec: "a"},
		{Engine: "a"},
		{Templates: [][]byte{nil}},
		{Templates: [][]byte{nil, nil}},
		{Templates: [][]byte{[]byte("a")}},
		{Templates: [][]byte{[]byte("a"), []byte("b")}},
		{Templates: [][]byte{[]byte("b"), []byte("a")}},
		{Templates: [][]byte{[]byte("ab")}},
		{Class: []byte("a"), Spec: "bc", Engine: "d"},
		{Class: []byte("ab"), Spec: "c", Engine: "d"},
		{Class: []byte("a"), Spec: "b", Engine: "cd"},
		{Class: []byte("a"), Spec: "d", Engine: "bc"},
	} {
		key := in.Key()
		if before, twice := seen[key]; twice {
			t.Errorf("%d has the key of %d", i, before)
		}
		seen[key] = i
	}
}

// TestKeyStays: a key that changes its meaning must change keyDomain, and this text.
func TestKeyStays(t *testing.T) {
	in := Ingredients{Class: []byte("class"), Templates: [][]byte{[]byte("one"), []byte("two")}, Spec: "spec", Engine: "engine"}
	const want = "fc08c2990b93c440f521a51fb7411c5d882f4a9baa8bed2b72aac01db43173e5"
	if got := in.Key().String(); got != want {
		t.Errorf("the key is %s, not %s", got, want)
	}
}

func TestParseKey(t *testing.T) {
	key := sampleKey(1)
	if got, err := ParseKey(key.String()); err != nil || got != key {
		t.Errorf("%v came back as %v, %v", key, got, err)
	}
	for _, bad := range []string{"", "12", key.String()[1:] + "g", key.String() + "00"} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestEngineIsThisBuild(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build, err := buildOf(path)
	if err != nil || len(build) != 20 {
		t.Fatal(build, err)
	}
	if other, err := buildOf("/proc/self/cmdline"); err != nil || other == build {
		t.Errorf("what is no program has %q, %v", other, err)
	}
	if Engine() == "" {
		t.Error("the engine has no version")
	}
}
