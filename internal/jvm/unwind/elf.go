package unwind

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Limits of what is read from a file. Tables beyond them are left out, as damaged ones are.
const (
	maxFile         = 1 << 30
	maxSegments     = 1000
	maxFrameTable   = 64 << 20
	maxFunctions    = 2_000_000
	maxCIEs         = 100_000
	maxSymbols      = 2_000_000
	maxNames        = 128 << 20
	maxSectionNames = 1 << 20
	maxDynamic      = 64 << 10
	maxHashTable    = 32 << 20
)

var order = binary.LittleEndian

// A Library is what unwinding needs of an ELF file: a shared library, a program, or the vdso. Several goroutines may use it.
type Library struct {
	Machine Machine

	code    []elf.Prog64 // the segments with code
	symbols []symbol     // by address
	names   []byte       // of symbols

	exported      []byte // the symbol table for dynamic linking
	exportedNames []byte
	signalReturn  uint64 // address of the function of this name, 0 if there is none

	frameTable        []byte // .eh_frame
	frameTableAddress uint64
	functions         []function // by address

	lock sync.Mutex
	rows map[uint64]*row // by address of the instruction
}

// Open reads an ELF file, or an image of the vdso, of the given size. Tables that are missing or damaged are left out: their
// functions have no names or no known callers. The reader is not used after Open returns.
func Open(r io.ReaderAt, size int64) (*Library, error) {
	if size > maxFile {
		return nil, fmt.Errorf("an ELF file of %d bytes is larger than the %d bytes that Sonde reads", size, maxFile)
	}
	f := &file{r: r, size: uint64(max(size, 0))}
	var header elf.Header64
	if err := binary.Read(io.NewSectionReader(r, 0, size), order, &header); err != nil {
		return nil, fmt.Errorf("reading the header of an ELF file: %w", err)
	}
	if !bytes.HasPrefix(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)}) {
		return nil, fmt.Errorf("not an ELF file of 64 bits, little endian: it begins with % x", header.Ident[:6])
	}
	l := &Library{rows: map[uint64]*row{}}
	switch machine := elf.Machine(header.Machine); machine {
	case elf.EM_X86_64:
		l.Machine = AMD64
	case elf.EM_AARCH64:
		l.Machine = ARM64
	default:
		return nil, fmt.Errorf("an ELF file for %v, which is neither amd64 nor arm64", machine)
	}
	segments := readTable[elf.Prog64](f, header.Phoff, header.Phnum, header.Phentsize)
	if len(segments) == 0 || len(segments) > maxSegments {
		return nil, fmt.Errorf("an ELF file whose %d program headers cannot be read: there are none or more than %d, they have another size, or they lie beyond the end of the file", header.Phnum, maxSegments)
	}
	var dynamic, frameHeader elf.Prog64
	for _, s := range segments {
		switch elf.ProgType(s.Type) {
		case elf.PT_LOAD:
			f.segments = append(f.segments, s)
			if elf.ProgFlag(s.Flags)&elf.PF_X != 0 {
				l.code = append(l.code, s)
			}
		case elf.PT_DYNAMIC:
			dynamic = s
		case elf.PT_GNU_EH_FRAME:
			frameHeader = s
		}
	}
	if _, ok := r.(Image); !ok { // whose end is not in memory
		l.readSections(f, &header)
	}
	l.readDynamic(f, dynamic)
	slices.SortFunc(l.symbols, func(a, b symbol) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	l.symbols = slices.Clip(l.symbols)
	if l.frameTable == nil {
		l.frameTable, l.frameTableAddress = f.frameTable(frameHeader)
	}
	l.readFrameTable()
	if l.Machine == ARM64 {
		l.signalReturn, _ = l.Exported(signalReturn)
	}
	return l, nil
}

// Address translates an offset in the file, of code or of the begin of a mapping of code, to the
// virtual address by which the file's tables refer to it.
func (l *Library) Address(fileOffset uint64) (uint64, bool) {
	// A mapping begins at a page, which may contain the end of the segment before.
	const largestPage = 64 << 10
	for _, s := range l.code {
		begin := s.Off &^ (largestPage - 1)
		if fileOffset >= begin && fileOffset-begin < s.Filesz+(s.Off-begin) {
			return s.Vaddr + fileOffset - s.Off, true
		}
	}
	return 0, false
}

// readSections reads the tables that only section headers locate, and tables of which they know the
// exact size. A file need not have section headers.
func (l *Library) readSections(f *file, header *elf.Header64) {
	sections := readTable[elf.Section64](f, header.Shoff, header.Shnum, header.Shentsize)
	if int(header.Shstrndx) >= len(sections) {
		return
	}
	var symbols, frames elf.Section64
	names := f.section(sections[header.Shstrndx], maxSectionNames)
	for _, s := range slices.Backward(sections) { // the first one of each kind counts
		switch {
		case elf.SectionType(s.Type) == elf.SHT_SYMTAB:
			symbols = s
		case isName(names, s.Name, ".eh_frame"):
			frames = s
		}
	}
	l.frameTable, l.frameTableAddress = f.section(frames, maxFrameTable), frames.Addr
	if uint64(symbols.Link) < uint64(len(sections)) {
		l.addSymbols(f.section(symbols, maxSymbols*elf.Sym64Size), f.section(sections[symbols.Link], maxNames))
	}
}

// A file reads parts of an ELF file.
type file struct {
	r        io.ReaderAt
	size     uint64
	segments []elf.Prog64 // the loaded ones
}

// read returns the bytes at an offset, fewer if the file ends before. It returns nil if they
// cannot be read.
func (f *file) read(offset, n uint64) []byte {
	if offset >= f.size {
		return nil
	}
	data := make([]byte, min(n, f.size-offset))
	if got, _ := f.r.ReadAt(data, int64(offset)); got < len(data) {
		return nil
	}
	return data
}

// readTable reads a table of structures, nil if the file does not have it.
func readTable[T any](f *file, offset uint64, count, entrySize uint16) []T {
	table := make([]T, count)
	size := binary.Size(table)
	if size != int(count)*int(entrySize) {
		return nil
	}
	if _, err := binary.Decode(f.read(offset, uint64(size)), order, table); err != nil {
		return nil
	}
	return table
}

// section returns the content of a section, nil if it has none or is larger than the limit.
func (f *file) section(s elf.Section64, limit uint64) []byte {
	if elf.SectionType(s.Type) == elf.SHT_NOBITS || s.Size > limit {
		return nil
	}
	return f.read(s.Off, s.Size)
}

// at returns the bytes at a virtual address, at most n and none after the end of its segment.
func (f *file) at(address, n uint64) []byte {
	for _, s := range f.segments {
		if address >= s.Vaddr && address-s.Vaddr < s.Filesz {
			offset := address - s.Vaddr
			return f.read(s.Off+offset, min(n, s.Filesz-offset))
		}
	}
	return nil
}

// frameTable finds .eh_frame by the segment that refers to it. Its end is not known: an entry
// without length is the last one.
func (f *file) frameTable(header elf.Prog64) (table []byte, address uint64) {
	c := cursor{data: f.at(header.Vaddr, 16), address: header.Vaddr}
	version, encoding := c.fixed(1), byte(c.fixed(1))
	c.fixed(2) // the encodings of a table that is not needed, because functions are sorted here
	address = c.pointer(encoding)
	if c.bad || version != 1 {
		return nil, 0
	}
	return f.at(address, maxFrameTable), address
}
