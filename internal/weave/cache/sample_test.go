package cache

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// sampleKey is the key of the n-th sample.
func sampleKey(n int) Key {
	return ingredients{class: binary.AppendUvarint(nil, uint64(n)), engine: "sample"}.key()
}

// sampleEntry is the n-th sample: the same in every process, with something of
// everything. Its woven bytes are a few hundred, or some thousand.
func sampleEntry(n int) *Entry {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	woven := make([]byte, 100+random.IntN(6000))
	for i := range woven {
		woven[i] = byte(random.Uint32())
	}
	e := &Entry{
		Class: "com/acme/Order", Original: OriginalOf(binary.AppendUvarint(nil, uint64(n))), Engine: "sample",
		Made: time.UnixMilli(1_700_000_000_000 + int64(n)), Woven: woven,
		Methods: []Method{
			{
				MethodResult: weave.MethodResult{Name: "pay", Descriptor: "(I)V", Woven: true}, HasID: true, ID: uint32(weave.MethodID(classfile.MethodRef{Class: "com/acme/Order", Name: "pay", Descriptor: "(I)V"})),
				Templates: []string{"live", "reflect"}, Offsets: PackOffsets(code.OffsetMap{{Old: 0, New: 12, Size: 30}, {Old: 30, New: 57, Size: 9}}),
			},
			{
				MethodResult: weave.MethodResult{Name: "print", Descriptor: "()V", Reason: &weave.Reason{Kind: weave.TooLarge, Detail: "70000 bytes"}},
				Templates:    []string{"live"},
			},
			{
				MethodResult: weave.MethodResult{Name: "now", Descriptor: "()J", Woven: true, Sites: 2, Left: []weave.LeftSite{{
					Offset: 17, Call: weave.Call{Opcode: opcode.Invokestatic, Owner: "java/lang/System", Name: "gc", Descriptor: "()V", IsInterface: true},
					Reason: &weave.Reason{Kind: weave.OddStack},
				}}},
				Offsets: PackOffsets(code.OffsetMap{{Old: 3, New: 3, Size: 2}}),
			},
		},
		Calls: []Slot{{classfile.MethodRef{Class: "java/lang/System", Name: "nanoTime", Descriptor: "()J"}, 0xfedc_ba98}},
	}
	return e
}

func wantEntry(t testing.TB, got, want *Entry) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		a, b := *got, *want
		a.Woven, b.Woven = nil, nil
		t.Errorf("the entry is\n%+v, not\n%+v; the same woven bytes: %v", a, b, bytes.Equal(got.Woven, want.Woven))
	}
}

// openDisk opens a cache in a new directory, or in the one given.
func openDisk(t testing.TB, o Options) *Disk {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "cache")
	}
	d, err := OpenDisk(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill puts samples into a cache.
func fill(t testing.TB, d *Disk, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := d.Put(t.Context(), sampleKey(n), sampleEntry(n)); err != nil {
			t.Fatalf("entry %d: %v", n, err)
		}
	}
}

// totalOnDisk returns the space that the entries of a cache take.
func totalOnDisk(t testing.TB, d *Disk) int64 {
	t.Helper()
	_, total, err := d.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// entryFile is where the n-th sample lies.
func entryFile(d *Disk, n int) string { return filepath.Join(d.dir, pathOf(sampleKey(n))) }

// needRoot skips what only root can set up.
func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can " + what)
	}
}
