package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/code"
)

func encoded(t testing.TB, key Key, e *Entry) []byte {
	t.Helper()
	file, err := encode(key, e)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEntryComesBack(t *testing.T) {
	for _, want := range []*Entry{
		sampleEntry(1),
		{Class: "A", Made: sampleEntry(0).Made}, // nothing in it could be woven
	} {
		key := sampleKey(1)
		got, err := decode(key, encoded(t, key, want))
		if err != nil {
			t.Fatal(err)
		}
		wantEntry(t, got, want)
	}
}

// TestEveryFlippedBitIsFound turns each bit of a file, one at a time.
func TestEveryFlippedBitIsFound(t *testing.T) {
	key := sampleKey(1)
	entry := sampleEntry(1)
	entry.Woven = entry.Woven[:64]
	file := encoded(t, key, entry)
	for at := range file {
		for bit := range 8 {
			file[at] ^= 1 << bit
			if _, err := decode(key, file); !errors.Is(err, ErrMissing) {
				t.Fatalf("byte %d, bit %d: %v", at, bit, err)
			}
			file[at] ^= 1 << bit
		}
	}
	if _, err := decode(key, file); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCutIsFound(t *testing.T) {
	key := sampleKey(1)
	file := encoded(t, key, sampleEntry(1))
	for n := range file {
		if _, err := decode(key, file[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
	if _, err := decode(key, append(file, 0)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a byte more: %v", err)
	}
}

func TestEntryOfAnotherKeyIsRefused(t *testing.T) {
	file := encoded(t, sampleKey(1), sampleEntry(1))
	if _, err := decode(sampleKey(2), file); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

func TestAnotherVersionIsNotDamage(t *testing.T) {
	file := encoded(t, sampleKey(1), sampleEntry(1))
	file[len(magic)-1]++
	if _, err := decode(sampleKey(1), file); !errors.Is(err, ErrVersion) || errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}

// sealed makes a file of a description and a woven class that is right but for what
// these say.
func sealed(key Key, described, woven []byte) []byte {
	file := make([]byte, headerSize, headerSize+len(described)+len(woven))
	copy(file, magic)
	copy(file[checkedFrom:], key[:])
	binary.LittleEndian.PutUint32(file[lengthsAt:], uint32(len(described)))
	binary.LittleEndian.PutUint32(file[lengthsAt+4:], uint32(len(woven)))
	file = append(append(file, described...), woven...)
	binary.LittleEndian.PutUint64(file[checksumAt:], checksum(file[checkedFrom:]))
	return file
}

// FuzzDecode reads descriptions that nobody wrote, behind a checksum that is right.
// What can be read says the same when it is written again.
func FuzzDecode(f *testing.F) {
	for n := range 3 {
		described, woven, err := split(sampleKey(n), encoded(f, sampleKey(n), sampleEntry(n)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(described, woven[:50])
	}
	f.Add([]byte{0, 0}, []byte{})
	key := sampleKey(1)
	f.Fuzz(func(t *testing.T, described, woven []byte) {
		entry, err := decode(key, sealed(key, described, woven))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := decode(key, encoded(t, key, entry))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, entry) {
			t.Fatalf("%+v came back as %+v", entry, again)
		}
		for _, m := range entry.Methods {
			if unpacked, err := m.Offsets.Map(); err == nil && len(unpacked) > 0 {
				if back, err := PackOffsets(unpacked).Map(); err != nil || !slices.Equal(back, unpacked) {
					t.Fatalf("%v came back as %v, %v", unpacked, back, err)
				}
			}
		}
	})
}

// FuzzFile reads files that nobody wrote.
func FuzzFile(f *testing.F) {
	key := sampleKey(1)
	f.Add(encoded(f, key, sampleEntry(1)))
	f.Fuzz(func(t *testing.T, file []byte) {
		kept := bytes.Clone(file)
		if _, err := decode(key, file); err != nil && !errors.Is(err, ErrMissing) {
			t.Fatal(err)
		}
		if !bytes.Equal(kept, file) {
			t.Fatal("reading has changed it")
		}
	})
}

func TestOffsetsComeBack(t *testing.T) {
	for _, want := range []code.OffsetMap{
		nil,
		{{Old: 0, New: 0, Size: 65535}},
		{{Old: 10, New: 300, Size: 1}, {Old: 11, New: 5, Size: 60000}, {Old: 3, New: 65535, Size: 0}}, // in no order
	} {
		got, err := PackOffsets(want).Map()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
	}
	for _, bad := range []Offsets{"\x01", "\x01\x02\x80", "\xff\xff\xff\x01\x01"} {
		if m, err := bad.Map(); !errors.Is(err, errOffsets) {
			t.Errorf("% x: %v, %v", []byte(bad), m, err)
		}
	}
}
