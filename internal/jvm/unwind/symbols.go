package unwind

import (
	"bytes"
	"debug/elf"
	"io"
	"iter"
	"slices"
	"sort"
	"strings"
)

// A symbol is a function with a name.
type symbol struct {
	start, end uint64
	name       uint32 // offset in the names
}

// Symbol returns the name of the function that contains an address, as the linker knows it, or ""
// if there is none.
func (l *Library) Symbol(address uint64) string {
	// Functions that begin later win, and among names of one function those with fewer underscores.
	const candidates = 16
	end := sort.Search(len(l.symbols), func(i int) bool { return l.symbols[i].start > address })
	best, bestStart := "", uint64(0)
	for _, s := range slices.Backward(l.symbols[max(0, end-candidates):end]) {
		if address >= s.end || best != "" && s.start != bestStart {
			continue
		}
		if name := nameAt(l.names, s.name); best == "" || underscores(name) < underscores(best) {
			best, bestStart = name, s.start
		}
	}
	best, _, _ = strings.Cut(best, "@") // the version
	return best
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

// Exported returns the virtual address of a symbol that the library exports.
func (l *Library) Exported(name string) (address uint64, ok bool) {
	for s := range symbols(l.exported) {
		if s.Shndx != uint16(elf.SHN_UNDEF) && isName(l.exportedNames, s.Name, name) {
			return s.Value, true
		}
	}
	return 0, false
}

func (l *Library) addSymbols(table, names []byte) {
	base := uint32(len(l.names))
	for s := range symbols(table) {
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_NOTYPE:
		default:
			continue
		}
		defined := s.Shndx != uint16(elf.SHN_UNDEF) && s.Value+s.Size > s.Value && uint64(s.Name) < uint64(len(names))
		if defined && len(l.symbols) < maxSymbols {
			l.symbols = append(l.symbols, symbol{s.Value, s.Value + s.Size, base + s.Name})
		}
	}
	if len(l.names)+len(names) <= 2*maxNames {
		l.names = append(l.names, names...)
	}
}

// An Image is an ELF file in the memory of a process, where the dynamic linker has replaced addresses
// by those in the process.
type Image interface {
	io.ReaderAt
	// Base returns what the linker has added to addresses.
	Base() uint64
}

// readDynamic reads the symbols for dynamic linking, which need no section headers.
func (l *Library) readDynamic(f *file, segment elf.Prog64) {
	const entrySize = 16
	entries := f.read(segment.Off, min(segment.Filesz, maxDynamic))
	values := map[elf.DynTag]uint64{}
	for entry := range slices.Chunk(entries[:len(entries)&^(entrySize-1)], entrySize) {
		values[elf.DynTag(order.Uint64(entry))] = order.Uint64(entry[8:])
	}
	if image, ok := f.r.(Image); ok {
		for _, tag := range []elf.DynTag{elf.DT_GNU_HASH, elf.DT_HASH, elf.DT_SYMTAB, elf.DT_STRTAB} {
			if values[tag] >= image.Base() {
				values[tag] -= image.Base()
			}
		}
	}
	count := countHashed(f.at(values[elf.DT_GNU_HASH], maxHashTable))
	if table := f.at(values[elf.DT_HASH], 8); len(table) == 8 { // the numbers of buckets and of symbols
		count = uint64(order.Uint32(table[4:]))
	}
	l.exported = f.at(values[elf.DT_SYMTAB], min(count, maxSymbols)*elf.Sym64Size)
	l.exportedNames = f.at(values[elf.DT_STRTAB], min(values[elf.DT_STRSZ], maxNames))
	l.addSymbols(l.exported, l.exportedNames)
}

// countHashed returns the number of symbols up to the last one in a hash table:
//
//	number of buckets, first symbol, number of words in a filter, a shift   uint32 each
//	the filter                                                              uint64 each
//	the first symbol of each bucket                                         uint32 each
//	a hash for each symbol, odd for the last of its bucket                  uint32 each
func countHashed(table []byte) uint64 {
	if len(table) < 16 {
		return 0
	}
	first := uint64(order.Uint32(table[4:]))
	buckets := 16 + 8*uint64(order.Uint32(table[8:]))
	hashes := buckets + 4*uint64(order.Uint32(table))
	if hashes > uint64(len(table)) {
		return 0
	}
	last := uint64(0)
	for bucket := range slices.Chunk(table[buckets:hashes], 4) {
		last = max(last, uint64(order.Uint32(bucket)))
	}
	if last < first {
		return first
	}
	for at := hashes + 4*(last-first); at+4 <= uint64(len(table)); at += 4 {
		last++
		if table[at]&1 != 0 {
			return last
		}
	}
	return 0
}

func symbols(table []byte) iter.Seq[elf.Sym64] {
	return func(yield func(elf.Sym64) bool) {
		for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
			s := elf.Sym64{
				Name: order.Uint32(table), Info: table[4], Other: table[5],
				Shndx: order.Uint16(table[6:]), Value: order.Uint64(table[8:]), Size: order.Uint64(table[16:]),
			}
			if !yield(s) {
				return
			}
		}
	}
}

// nameAt returns the name at an offset of a table of names, truncated to a length that no real name has.
func nameAt(names []byte, offset uint32) string {
	const maxName = 64 << 10
	if uint64(offset) >= uint64(len(names)) {
		return ""
	}
	name := names[offset:]
	name, _, _ = bytes.Cut(name[:min(len(name), maxName)], []byte{0})
	return string(name)
}

// isName compares the name at an offset of a table of names.
func isName(names []byte, offset uint32, name string) bool {
	end := uint64(offset) + uint64(len(name))
	return end < uint64(len(names)) && names[end] == 0 && string(names[offset:end]) == name
}
