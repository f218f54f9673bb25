package unwind

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"
)

// The parts of an image, by address. An image begins with its headers; no bytes are needed for code.
const (
	imageBase     = 0x400000
	headerAddress = imageBase + 64 + 3*56
	tableAddress  = headerAddress + 8
	functionStart = imageBase + 0x8000
	functionSize  = 0x10000
	imageSize     = 0x20000
)

// An image is an ELF file made for a test: one segment with code, and the tables it is given.
type image struct {
	machine  elf.Machine
	entries  []byte        // of .eh_frame
	symbols  []namedSymbol // also exported, unless there are sections
	sections bool          // locate tables by section headers, else by program headers
	sysvHash bool          // count symbols by DT_HASH, else by DT_GNU_HASH
}

type namedSymbol struct {
	name        string
	kind        elf.SymType
	value, size uint64
}

func (i image) bytes() []byte {
	file := make([]byte, headerAddress-imageBase)
	add := func(value any) (offset uint64) {
		offset = uint64(len(file))
		file = encode(file, value)
		return offset
	}
	add([]byte{1, 0x1b, 0xff, 0xff, 4, 0, 0, 0}) // .eh_frame_hdr: the next bytes are .eh_frame
	add(append(slices.Clone(i.entries), 0, 0, 0, 0))

	names, symbols := []byte{0}, make([]elf.Sym64, 1)
	hashes := []uint32{1, 1, 1, 0, 0, 0, 1} // one bucket, which begins with symbol 1, and one word of the filter
	for n, s := range i.symbols {
		symbols = append(symbols, elf.Sym64{Name: uint32(len(names)), Info: byte(s.kind), Shndx: 1, Value: s.value, Size: s.size})
		names = append(append(names, s.name...), 0)
		hashes = append(hashes, uint32(truth(n == len(i.symbols)-1)))
	}
	symbolsAt, namesAt := add(symbols), add(names)
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(i.machine), Phoff: 64, Phentsize: 56}
	copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	programs := []elf.Prog64{{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: imageBase, Filesz: imageSize}}
	if i.sections {
		sectionNames := []byte("\x00.eh_frame\x00")
		sections := []elf.Section64{
			{},
			{Type: uint32(elf.SHT_STRTAB), Off: add(sectionNames), Size: uint64(len(sectionNames))},
			{Type: uint32(elf.SHT_PROGBITS), Name: 1, Off: tableAddress - imageBase, Addr: tableAddress, Size: uint64(len(i.entries))},
			{Type: uint32(elf.SHT_SYMTAB), Link: 4, Off: symbolsAt, Size: uint64(len(symbols) * elf.Sym64Size)},
			{Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
		}
		header.Shentsize, header.Shnum, header.Shstrndx, header.Shoff = 64, uint16(len(sections)), 1, add(sections)
	} else {
		tag := elf.DT_GNU_HASH
		if i.sysvHash {
			tag, hashes = elf.DT_HASH, []uint32{1, uint32(len(symbols))}
		}
		dynamic := []elf.Dyn64{
			{Tag: int64(tag), Val: imageBase + add(hashes)},
			{Tag: int64(elf.DT_SYMTAB), Val: imageBase + symbolsAt},
			{Tag: int64(elf.DT_STRTAB), Val: imageBase + namesAt},
			{Tag: int64(elf.DT_STRSZ), Val: uint64(len(names))},
		}
		programs = append(programs,
			elf.Prog64{Type: uint32(elf.PT_GNU_EH_FRAME), Vaddr: headerAddress},
			elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: add(dynamic), Filesz: uint64(16 * len(dynamic))})
	}
	header.Phnum = uint16(len(programs))
	copy(file, encode(encode(nil, header), programs))
	return file
}

func (i image) open(t testing.TB) *Library {
	t.Helper()
	file := i.bytes()
	l, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func encode(to []byte, value any) []byte {
	to, err := binary.Append(to, order, value)
	if err != nil {
		panic(err)
	}
	return to
}

// entry adds an entry to a frame table.
func entry(table []byte, parts ...any) []byte {
	var content []byte
	for _, part := range parts {
		content = encode(content, part)
	}
	return append(encode(table, uint32(len(content))), content...)
}

// describe returns a frame table with the function of an image. Its CIE has letters and data for them.
func describe(machine elf.Machine, letters string, data, initial, instructions []byte) []byte {
	register := byte(AMD64.PC)
	if machine == elf.EM_AARCH64 {
		register = 30
	}
	cie := []any{uint32(0), byte(1), []byte(letters + "\x00"), byte(1), byte(0x78), register} // units 1 and -8
	if letters != "" {
		cie = append(cie, byte(len(data)), data)
	}
	table := entry(nil, append(cie, initial)...)
	distance := len(table) + 4
	here := tableAddress + uint64(distance) + 4
	return entry(table, uint32(distance), uint32(functionStart-here), uint32(functionSize), byte(0), instructions)
}

// The program of CIEs: the return address is at the top of the stack, or in lr.
var (
	initialAMD64 = []byte{0x0c, 7, 8, 0x90, 1}
	initialARM64 = []byte{0x0c, 31, 0}
)

// code returns an image with the function that these instructions describe.
func code(machine elf.Machine, instructions ...byte) image {
	initial := initialAMD64
	if machine == elf.EM_AARCH64 {
		initial = initialARM64
	}
	return image{machine: machine, entries: describe(machine, "zR", []byte{0x1b}, initial, instructions)}
}
