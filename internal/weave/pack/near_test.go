package pack

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// realClass is a small class file with its woven form.
func realClass(t testing.TB) Class {
	t.Helper()
	class, err := os.ReadFile(filepath.FromSlash("../../../classfile/testdata/zoo/17/Nested$Deep.class"))
	if err != nil {
		t.Fatal(err)
	}
	woven, ok := weaveClass(t, class)
	if !ok {
		t.Fatal("it could not be woven")
	}
	return woven.entry()
}

// isFoundByAgent is what the agent asks: neither the name nor the SHA-256 helps.
func isFoundByAgent(p *Pack, file []byte) bool {
	for i := range p.records {
		if p.records[i].is(file) {
			return true
		}
	}
	return false
}

// TestAClassOneBitAwayIsNotFound turns every bit of a class file.
func TestAClassOneBitAwayIsNotFound(t *testing.T) {
	class := realClass(t)
	p := opened(t, written(t, &Content{Classes: []Class{class}}))
	wantClasses(t, p, []Class{class})
	near := bytes.Clone(class.Original)
	for at := range near {
		for bit := range 8 {
			near[at] ^= 1 << bit
			if _, found := p.Find(class.Entry.Class, near); found || isFoundByAgent(p, near) {
				t.Fatalf("byte %d, bit %d: it was found", at, bit)
			}
			near[at] ^= 1 << bit
		}
	}
	for n := range near {
		if isFoundByAgent(p, near[:n]) {
			t.Fatalf("cut to %d bytes it was found", n)
		}
	}
}

// TestABurstIsNotFound changes up to 32 bits in a row: each checksum alone must tell.
func TestABurstIsNotFound(t *testing.T) {
	class := realClass(t).Original
	sum32, sum32C := crc32.ChecksumIEEE(class), sum(class)
	random := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		near := bytes.Clone(class)
		at, burst := random.IntN(8*len(near)-31), random.Uint32()|1
		for i := range 32 {
			near[(at+i)/8] ^= byte(burst>>i&1) << ((at + i) % 8)
		}
		if crc32.ChecksumIEEE(near) == sum32 || sum(near) == sum32C {
			t.Fatalf("%#x at bit %d makes no difference", burst, at)
		}
	}
}

// TestClassesOfOneName has many with the same name, and asks for each.
func TestClassesOfOneName(t *testing.T) {
	var classes []Class
	for n := range 40 {
		name := "a/Same"
		if n%3 == 0 {
			name = "a/Other"
		}
		original := bytes.Repeat([]byte{byte(n)}, 50)
		woven := append([]byte("woven"), original...)
		classes = append(classes, Class{&cache.Entry{Class: name, Original: cache.OriginalOf(original), Woven: woven}, original})
	}
	p := opened(t, written(t, &Content{Classes: classes}))
	wantClasses(t, p, classes)
	if _, found := p.Find("a/Same", classes[0].Original); found {
		t.Error("it was found under another name")
	}
}
