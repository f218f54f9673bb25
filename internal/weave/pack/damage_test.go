package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
		if _, err := inflated(packed, hot); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes: %v", tt.length, err)
		}
	}
	if _, err := encode(&Content{Title: strings.Repeat("x", 65<<20)}); !errors.Is(err, ErrDescriptionTooLong) {
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
		use(repair(spoiled), c)
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
func use(file []byte, c *Content) {
	p, err := read(file)
	if err != nil {
		return
	}
	p.Sizes()
	for _, class := range c.Classes {
		p.Find(class.Entry.Class, class.Original)
	}
	p.bytes(p.header.parts.image)
}

// FuzzOpen: any bytes, under right checksums, are a pack that can be used or an error.
func FuzzOpen(f *testing.F) {
	c := sampleContent(f)
	f.Add(written(f, c))
	f.Add(written(f, &Content{}))
	f.Fuzz(func(t *testing.T, file []byte) { use(repair(bytes.Clone(file)), c) })
}

// TestAgentReadsTheSameHeader compares where the agent looks for what with where it is
// written.
func TestAgentReadsTheSameHeader(t *testing.T) {
	source, err := os.ReadFile("../../../agent/control/src8/sonde/agent/control/PackHeader.java")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, constant := range regexp.MustCompile(`static final int ([A-Z_]+) = ([0-9]+);`).FindAllSubmatch(source, -1) {
		if got[string(constant[1])], err = strconv.Atoi(string(constant[2])); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{
		"BYTES": headerSize, "FRONT_SUM": frontSumAt, "SUMMED": summedFrom, "BUILD": buildAt, "BUILD_BYTES": buildSize,
	}
	for name, set := range headerNumbers() {
		const mark = 0x12345678
		var h header
		set(&h, mark)
		written := h.append(nil)
		for at := 0; at < len(written); at += 4 {
			if binary.LittleEndian.Uint32(written[at:]) == mark {
				want[name] = at
			}
		}
	}
	for name, at := range want {
		if got[name] != at {
			t.Errorf("%s is at %d, and read at %d", name, at, got[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("the agent reads %s, which is not compared", name)
	}
}

// headerNumbers are the numbers of a header, by the names the agent has for them.
func headerNumbers() map[string]func(h *header, n uint32) {
	return map[string]func(h *header, n uint32){
		"LENGTH":            func(h *header, n uint32) { h.length = n },
		"INDEX":             func(h *header, n uint32) { h.parts.index.at = n },
		"INDEX_SLOTS":       func(h *header, n uint32) { h.parts.index.size = n },
		"RECORDS":           func(h *header, n uint32) { h.parts.records.at = n },
		"RECORDS_COUNT":     func(h *header, n uint32) { h.parts.records.size = n },
		"NAMES":             func(h *header, n uint32) { h.parts.names.at = n },
		"TABLE":             func(h *header, n uint32) { h.parts.table.at = n },
		"TABLE_WORDS":       func(h *header, n uint32) { h.parts.table.size = n },
		"ANCHORS":           func(h *header, n uint32) { h.parts.anchors.at = n },
		"ANCHORS_COUNT":     func(h *header, n uint32) { h.parts.anchors.size = n },
		"BRIDGES":           func(h *header, n uint32) { h.parts.bridges.at = n },
		"BRIDGES_COUNT":     func(h *header, n uint32) { h.parts.bridges.size = n },
		"DICTIONARY":        func(h *header, n uint32) { h.parts.dictionary.at = n },
		"DICTIONARY_BYTES":  func(h *header, n uint32) { h.parts.dictionary.size = n },
		"IMAGE":             func(h *header, n uint32) { h.parts.image.at = n },
		"IMAGE_BYTES":       func(h *header, n uint32) { h.parts.image.size = n },
		"DELTAS":            func(h *header, n uint32) { h.parts.deltas.at = n },
		"DELTAS_BYTES":      func(h *header, n uint32) { h.parts.deltas.size = n },
		"ARENA_LENGTH":      func(h *header, n uint32) { h.arena.Length = int64(n) },
		"ARENA_LIMIT":       func(h *header, n uint32) { h.arena.Limit = int64(n) },
		"AT_LIMIT":          func(h *header, n uint32) { h.arena.Places.Limit = n },
		"AT_NEXT":           func(h *header, n uint32) { h.arena.Places.Next = n },
		"AT_EPOCH":          func(h *header, n uint32) { h.arena.Places.Epoch = n },
		"AT_TARGET_PID":     func(h *header, n uint32) { h.arena.Places.TargetPID = n },
		"AT_TARGET_START":   func(h *header, n uint32) { h.arena.Places.TargetStart = n },
		"AT_OPENED_WALL":    func(h *header, n uint32) { h.arena.Places.OpenedWall = n },
		"AT_COMMAND_LENGTH": func(h *header, n uint32) { h.arena.Places.CommandLength = n },
		"AT_COMMAND":        func(h *header, n uint32) { h.arena.Places.Command = n },
		"COMMAND_MOST":      func(h *header, n uint32) { h.arena.Places.CommandMost = n },
		"AT_WOVEN":          func(h *header, n uint32) { h.arena.Places.Woven = n },
		"AT_DIFFERS":        func(h *header, n uint32) { h.arena.Places.Differs = n },
		"AT_BLIND":          func(h *header, n uint32) { h.arena.Places.Blind = n },
		"AT_FAILED":         func(h *header, n uint32) { h.arena.Places.Failed = n },
		"AT_NAMES_USED":     func(h *header, n uint32) { h.arena.Places.NamesUsed = n },
		"AT_TEXT":           func(h *header, n uint32) { h.arena.Places.AccountText = n },
		"TEXT_MOST":         func(h *header, n uint32) { h.arena.Places.AccountedMost = n },
	}
}

// inflated returns the error that inflate panics with.
func inflated(packed []byte, hot int) (plain string, failed *FileError) {
	defer recoverDamage(&failed)
	return inflate(packed, hot), nil
}
