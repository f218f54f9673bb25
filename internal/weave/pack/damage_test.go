package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsNoPackIsTold(t *testing.T) {
	other := written(t, sampleContent(t))
	other[len(magic)-1]++
	for name, one := range map[string]struct {
		file []byte
		want error
	}{
		"empty":   {nil, ErrNotPack},
		"short":   {[]byte("son"), ErrNotPack},
		"a jar":   {[]byte("PK\x03\x04 and so on"), ErrNotPack},
		"version": {other, ErrVersion},
		"cut":     {[]byte(magic), ErrDamaged},
	} {
		path := filepath.Join(t.TempDir(), "a.pack")
		if err := os.WriteFile(path, one.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		var failed *FileError
		if !errors.Is(err, one.want) || !errors.As(err, &failed) || failed.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestDescriptionsAreBounded: little can be deflated to look like much.
func TestDescriptionsAreBounded(t *testing.T) {
	const hot = 1000
	for _, tt := range []struct {
		length int64
		want   string
	}{{mostCold(hot), "cannot be unpacked"}, {mostCold(hot) + 1, "cannot be that long"}} {
		packed := append(binary.LittleEndian.AppendUint32(nil, uint32(tt.length)), make([]byte, 1<<20)...)
		if _, err := inflate(packed, hot); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes: %v", tt.length, err)
		}
	}
	if _, err := encode(&Content{Title: strings.Repeat("x", 65<<20)}); !errors.Is(err, ErrTooMuchToTell) {
		t.Error(err)
	}
}

// TestALengthThatIsNotTheFiles: nothing is read of a file that lies about it.
func TestALengthThatIsNotTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pack")
	if err := os.WriteFile(path, written(t, sampleContent(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil { // without a byte of it on disk
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "and has 1073741824") {
		t.Error(err)
	}
}

// TestEveryFlippedBitIsFound turns each bit of a pack, one at a time.
func TestEveryFlippedBitIsFound(t *testing.T) {
	file := written(t, sampleContent(t))
	for at := range file {
		for bit := range 8 {
			file[at] ^= 1 << bit
			if _, err := read(file); err == nil {
				t.Fatalf("byte %d, bit %d: nothing was found", at, bit)
			}
			file[at] ^= 1 << bit
		}
	}
	if _, err := read(file); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCutIsFound(t *testing.T) {
	file := written(t, sampleContent(t))
	for n := range file {
		if _, err := read(file[:n]); err == nil {
			t.Fatalf("cut to %d bytes: nothing was found", n)
		}
	}
	if _, err := read(append(bytes.Clone(file), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestNoiseUnderRightSumsIsRead spoils packs and repairs their checksums, as only someone
// who means to does: what is read then may be anything but a fault.
func TestNoiseUnderRightSumsIsRead(t *testing.T) {
	c := sampleContent(t)
	file := written(t, c)
	random := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		spoiled := bytes.Clone(file)
		for range 1 + random.IntN(3) {
			at := summedFrom + random.IntN(len(file)-summedFrom)
			if random.IntN(2) == 0 { // where most is decided
				at = summedFrom + random.IntN(headerSize+512)
			}
			spoiled[at] = byte(random.Uint32() >> (random.IntN(4) * 8))
		}
		use(t, repair(spoiled), c)
	}
}

// repair gives a file the checksums it should have, where it has room for them.
func repair(file []byte) []byte {
	h, failed := readBeginning(file)
	if failed != nil {
		return file
	}
	deltas, cold, length := int(h.parts.deltas.at), int(h.parts.cold.at), len(file)
	if deltas < headerSize || cold < deltas || cold > length {
		return file
	}
	h.length, h.coldSum = uint32(length), sum(file[cold:])
	h.parts.deltas.size, h.parts.cold.size = uint32(cold-deltas), uint32(length-cold)
	copy(file[summedFrom:], h.append(nil)[summedFrom:])
	binary.LittleEndian.PutUint32(file[deltaSumAt:], sum(file[deltas:cold]))
	binary.LittleEndian.PutUint32(file[frontSumAt:], sum(file[summedFrom:deltas]))
	return file
}

// use does all that can be done with a pack, if it is one.
func use(t testing.TB, file []byte, c *Content) {
	p, err := read(file)
	if err != nil {
		return
	}
	p.Sizes()
	for _, class := range c.Classes {
		p.Find(class.Entry.Class, class.Original)
	}
	if _, err := p.Image(); err != nil {
		t.Error(err)
	}
}

// FuzzOpen: any bytes, under right checksums, are a pack that can be used or an error.
func FuzzOpen(f *testing.F) {
	c := sampleContent(f)
	f.Add(written(f, c))
	f.Add(written(f, &Content{}))
	f.Fuzz(func(t *testing.T, file []byte) { use(t, repair(bytes.Clone(file)), c) })
}
