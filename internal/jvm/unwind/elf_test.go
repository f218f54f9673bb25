package unwind

import (
	"bytes"
	"debug/elf"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestOpenFails(t *testing.T) {
	patched := func(offset int, values ...byte) []byte {
		file := code(amd64).bytes()
		copy(file[offset:], values)
		return file
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "EOF"},
		{"truncated header", code(amd64).bytes()[:63], "EOF"},
		{"text", []byte(strings.Repeat("text", 20)), "it begins with 74 65 78 74 74 65"},
		{"32 bits", patched(4, byte(elf.ELFCLASS32)), "64 bits"},
		{"big endian", patched(5, byte(elf.ELFDATA2MSB)), "little endian"},
		{"another machine", patched(18, byte(elf.EM_RISCV), 0), "EM_RISCV"},
		{"program headers after the end", patched(32, 0xff, 0xff, 0xff, 0xff), "program headers"},
		{"program headers of another size", patched(54, 57), "program headers"},
		{"no program headers", patched(56, 0), "0 program headers"},
	} {
		if _, err := Open(bytes.NewReader(c.file), int64(len(c.file))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", c.name, c.want, err)
		}
	}
	for _, size := range []int64{-1, maxFile + 1, math.MaxInt64} {
		if _, err := Open(bytes.NewReader(nil), size); err == nil {
			t.Errorf("size %d: want an error, got none", size)
		}
	}
	broken := errors.New("broken disk")
	if _, err := Open(brokenReader{broken}, 1000); !errors.Is(err, broken) {
		t.Errorf("want %v, got %v", broken, err)
	}
}

type brokenReader struct{ err error }

func (r brokenReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

// TestOpenShort opens files that end early, and files that end before their announced size.
func TestOpenShort(t *testing.T) {
	for _, sections := range []bool{false, true} {
		i := code(amd64)
		i.symbols, i.sections = functionSymbols, sections
		file := i.bytes()
		for n := range file {
			for _, size := range []int{n, len(file)} {
				l, err := Open(bytes.NewReader(file[:n]), int64(size))
				if err == nil {
					exercise(l)
				}
			}
		}
	}
}

// exercise calls everything that an opened file is good for.
func exercise(l *Library) {
	addresses := []uint64{0, functionStart, functionStart + 1, functionStart + functionSize - 1, math.MaxUint64}
	for _, f := range l.functions[:min(len(l.functions), 8)] {
		addresses = append(addresses, f.start, f.end-1)
	}
	for _, address := range addresses {
		regs := calleeRegisters(l.Machine)
		for range 4 {
			if _, err := l.Step(address, &regs, stackWord); err != nil {
				break
			}
		}
		l.Symbol(address)
		l.Address(address)
	}
	l.Exported("exported")
}

var functionSymbols = []namedSymbol{
	{"__alias", elf.STT_FUNC, functionStart, 0x100},
	{"alias", elf.STT_FUNC, functionStart, 0x100},
	{"_alias", elf.STT_FUNC, functionStart, 0x100},
	{"whole", elf.STT_FUNC, functionStart + 0x200, 0x100},
	{"part", elf.STT_NOTYPE, functionStart + 0x240, 0x10},
	{"empty", elf.STT_FUNC, functionStart + 0x280, 0},
	{"table", elf.STT_OBJECT, functionStart + 0x400, 0x100},
	{"versioned@@V1", elf.STT_GNU_IFUNC, functionStart + 0x600, 0x10},
	{"endless", elf.STT_FUNC, math.MaxUint64 - 1, 100},
}

func TestSymbol(t *testing.T) {
	for _, i := range []image{{symbols: functionSymbols}, {symbols: functionSymbols, sysvHash: true}, {symbols: functionSymbols, sections: true}} {
		i.machine = amd64
		l := i.open(t)
		for _, c := range []struct {
			address uint64
			want    string
		}{
			{functionStart - 1, ""},
			{functionStart, "alias"},
			{functionStart + 0xff, "alias"},
			{functionStart + 0x100, ""},
			{functionStart + 0x23f, "whole"},
			{functionStart + 0x240, "part"},
			{functionStart + 0x250, "whole"},
			{functionStart + 0x280, "whole"},
			{functionStart + 0x300, ""},
			{functionStart + 0x400, ""},
			{functionStart + 0x600, "versioned"},
			{math.MaxUint64, ""},
		} {
			if got := l.Symbol(c.address); got != c.want {
				t.Errorf("sections %v: the function at %#x: want %q, got %q", i.sections, c.address, c.want, got)
			}
		}
		address, ok := l.Exported("table")
		if want := !i.sections; ok != want || ok && address != functionStart+0x400 {
			t.Errorf("sections %v: exported table: want %v at %#x, got %v at %#x", i.sections, want, functionStart+0x400, ok, address)
		}
		if address, ok := l.Exported("tab"); ok {
			t.Errorf("exported tab: want none, got %#x", address)
		}
	}
}

func TestAddress(t *testing.T) {
	segment := func(flags elf.ProgFlag, offset, address, size uint64) elf.Prog64 {
		return elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Off: offset, Vaddr: address, Filesz: size}
	}
	header := elf.Header64{Machine: uint16(arm64), Phoff: 64, Phentsize: 56, Phnum: 3}
	copy(header.Ident[:], "\x7fELF\x02\x01")
	file := encode(encode(nil, header), []elf.Prog64{
		segment(elf.PF_R, 0, 0, 0x23456),
		segment(elf.PF_R|elf.PF_X, 0x23460, 0x33460, 0x10000), // its first page is shared with the segment before
		segment(elf.PF_R|elf.PF_W, 0x33460, 0x53460, 0x1000),
	})
	l, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		offset, want uint64
		ok           bool
	}{
		{0, 0, false},
		{0x23000, 0x33000, true}, // where a mapping of the code begins
		{0x20000, 0x30000, true}, // likewise, with large pages
		{0x23460, 0x33460, true},
		{0x3345f, 0x4345f, true},
		{0x33460, 0, false},
		{math.MaxUint64, 0, false},
	} {
		if got, ok := l.Address(c.offset); got != c.want || ok != c.ok {
			t.Errorf("offset %#x: want %#x, %v, got %#x, %v", c.offset, c.want, c.ok, got, ok)
		}
	}
}

// TestFrameTable opens files with CIEs of all kinds, with section headers and without.
func TestFrameTable(t *testing.T) {
	const pcrel4 = 0x1b
	damaged := func(offset int, value byte) []byte {
		table := describe(amd64, "zR", []byte{pcrel4}, initialAMD64, nil)
		table[offset] = value
		return table
	}
	for _, c := range []struct {
		name    string
		entries []byte
		want    bool // the function is found
	}{
		{"zR", describe(amd64, "zR", []byte{pcrel4}, initialAMD64, nil), true},
		{"zPLR", describe(amd64, "zPLR", []byte{0x9b, 1, 2, 3, 4, pcrel4, pcrel4}, initialAMD64, nil), true},
		{"zRB", describe(amd64, "zRB", []byte{pcrel4}, initialAMD64, nil), true},
		{"version 3", damaged(8, 3), true},
		{"before another function", append(describe(amd64, "zR", []byte{pcrel4}, initialAMD64, nil), code(amd64).entries...), true},
		{"version 2", damaged(8, 2), false},
		{"unknown letter", describe(amd64, "zRX", []byte{pcrel4}, initialAMD64, nil), false},
		{"letters without z", describe(amd64, "eh", nil, initialAMD64, nil), false},
		{"letters without end", entry(nil, uint32(0), byte(1), []byte("zRRRRRR")), false},
		{"too little data for letters", describe(amd64, "zLR", []byte{pcrel4}, initialAMD64, nil), false},
		{"relative to data", describe(amd64, "zR", []byte{0x3b}, initialAMD64, nil), false},
		{"indirect", describe(amd64, "zR", []byte{0x9b}, initialAMD64, nil), false},
		{"return address in an unknown register", damaged(14, 33), false},
		{"too long", damaged(3, 0x10), false},
		{"longer than the table", damaged(0, 0xff), false},
		{"a first length of zero", append(make([]byte, 4), code(amd64).entries...), false},
	} {
		for _, sections := range []bool{false, true} {
			l := image{machine: amd64, entries: c.entries, sections: sections}.open(t)
			regs := calleeRegisters(AMD64)
			_, err := l.Step(functionStart, &regs, stackWord)
			if c.want && err != nil || !c.want && !errors.Is(err, ErrUnknown) {
				t.Errorf("%s, sections %v: want the function found: %v, got %v", c.name, sections, c.want, err)
			}
		}
	}
}

// TestFrameTableWithoutLetters has absolute addresses of 8 bytes, and a location that is set.
func TestFrameTableWithoutLetters(t *testing.T) {
	table := entry(nil, uint32(0), byte(1), byte(0), byte(1), byte(0x78), byte(16), initialAMD64)
	distance := uint32(len(table) + 4)
	setLocation := append(encode([]byte{0x01}, uint64(functionStart+0x20)), 0x0e, 16)
	table = entry(table, distance, uint64(functionStart), uint64(functionSize), setLocation)
	l := image{machine: amd64, entries: table}.open(t)
	for offset, want := range map[uint64]uint64{0x1f: calleeSP + 8, 0x20: calleeSP + 16} {
		regs := calleeRegisters(AMD64)
		if _, err := l.Step(functionStart+offset, &regs, stackWord); err != nil || regs.Values[AMD64.SP] != want {
			t.Errorf("at offset %#x: want a stack pointer of %#x, got %#x, %v", offset, want, regs.Values[AMD64.SP], err)
		}
	}
}

// FuzzOpen checks that no file makes opening it or its use fail otherwise than by an error.
func FuzzOpen(f *testing.F) {
	for _, machine := range []elf.Machine{amd64, arm64} {
		for _, instructions := range [][]byte{pushRBP, {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, {0x16, 3, 2, 0x77, 40}} {
			for _, sections := range []bool{false, true} {
				i := code(machine, instructions...)
				i.symbols, i.sections = functionSymbols, sections
				f.Add(i.bytes())
			}
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		l, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		exercise(l)
		for i := range l.functions {
			if i > 0 && l.functions[i-1].start > l.functions[i].start {
				t.Errorf("want functions by address, got %#x after %#x", l.functions[i].start, l.functions[i-1].start)
			}
		}
	})
}

// FuzzStep checks that no call frame information makes a step fail otherwise than by an error, which changes no register.
func FuzzStep(f *testing.F) {
	f.Add(true, uint16(64), initialAMD64, pushRBP)
	f.Add(true, uint16(0), initialAMD64, []byte{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22})
	f.Add(true, uint16(0), initialAMD64, []byte{0x10, 3, 2, 0x77, 40, 0x16, 3, 5, 0x77, 40, 0x94, 2, 0x19})
	f.Add(false, uint16(4), initialARM64, []byte{0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3})
	f.Fuzz(func(t *testing.T, isAMD64 bool, offset uint16, initial, instructions []byte) {
		machine := arm64
		if isAMD64 {
			machine = amd64
		}
		l := image{machine: machine, entries: describe(machine, "zR", []byte{0x1b}, initial, instructions)}.open(t)
		before := calleeRegisters(l.Machine)
		regs := before
		if _, err := l.Step(functionStart+uint64(offset), &regs, stackWord); err != nil && regs != before {
			t.Errorf("after %v: want unchanged registers, got %x", err, regs)
		}
	})
}
