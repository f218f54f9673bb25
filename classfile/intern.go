package classfile

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"unsafe"
)

// interned finds existing entries: added entries, and Class entries by name.
// Parsed entries of other kinds are not searched: hashing a whole pool would cost more
// than the few bytes of a duplicate entry.
type interned struct {
	slots   []uint16 // open addressing, 0 is free
	used    int
	classes bool // Class entries that were parsed are in
}

// fewSlots is the size of a table for most classes.
const fewSlots = 128

var seed = maphash.MakeSeed()

// bytesOf returns the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (t *interned) reset() {
	if t.used > 0 {
		clear(t.slots)
	}
	// A large class must not make every later one clear its table.
	t.slots = t.slots[:min(len(t.slots), fewSlots)]
	t.used, t.classes = 0, false
}

// AddUtf8 returns the index of a Utf8 entry with this text, given as modified UTF-8.
func (p *Pool) AddUtf8(text string) uint16 { return p.addUtf8(bytesOf(text)) }

func (p *Pool) addUtf8(text []byte) uint16 {
	if len(text) > math.MaxUint16 {
		p.full = true
		return 0
	}
	mark := len(p.tail)
	p.tail = append(p.tail, byte(TagUtf8), byte(len(text)>>8), byte(len(text)))
	p.tail = append(p.tail, text...)
	return p.intern(mark)
}

// AddClass returns the index of a Class entry for an internal name or array
// descriptor, an existing one where there is one.
func (p *Pool) AddClass(name string) uint16 { return p.AddClassName(bytesOf(name)) }

// AddClassName is AddClass for a name that is still bytes.
func (p *Pool) AddClassName(name []byte) uint16 {
	if !p.interned.classes {
		p.interned.classes = true
		p.rehash(len(p.interned.slots)) // with them
	}
	h := classHash(name)
	if i, ok := p.lookup(h, func(i uint16) bool {
		return p.at[i]&added == 0 && p.Tag(i) == TagClass && p.nameIs(i, name)
	}); ok {
		return i
	}
	return p.addRef(TagClass, p.addUtf8(name)) // finds an entry that was added by its bytes
}

// AddNewClass is AddClass without a search of the parsed entries. A duplicate entry costs
// a few bytes; searching for a single class costs more time than that is worth.
func (p *Pool) AddNewClass(name string) uint16 {
	if p.interned.classes {
		return p.AddClass(name)
	}
	return p.addRef(TagClass, p.AddUtf8(name))
}

// AddString returns the index of a String entry.
func (p *Pool) AddString(text string) uint16 { return p.addRef(TagString, p.AddUtf8(text)) }

// AddMethodType returns the index of a MethodType entry.
func (p *Pool) AddMethodType(descriptor string) uint16 {
	return p.addRef(TagMethodType, p.AddUtf8(descriptor))
}

// AddNameAndType returns the index of a NameAndType entry.
func (p *Pool) AddNameAndType(name, descriptor string) uint16 {
	return p.AddPair(TagNameAndType, p.AddUtf8(name), p.AddUtf8(descriptor))
}

// AddMember returns the index of a Fieldref, Methodref or InterfaceMethodref entry.
func (p *Pool) AddMember(tag Tag, class, name, descriptor string) uint16 {
	return p.AddPair(tag, p.AddNewClass(class), p.AddNameAndType(name, descriptor))
}

// AddInt returns the index of an Integer entry.
func (p *Pool) AddInt(v int32) uint16 {
	mark := len(p.tail)
	p.tail = binary.BigEndian.AppendUint32(append(p.tail, byte(TagInteger)), uint32(v))
	return p.intern(mark)
}

// AddPair returns the index of an entry with two references: see [Pool.Pair].
func (p *Pool) AddPair(tag Tag, a, b uint16) uint16 {
	mark := len(p.tail)
	if tag == TagMethodHandle {
		p.tail = append(p.tail, byte(tag), byte(a), byte(b>>8), byte(b))
	} else {
		p.tail = append16(append(p.tail, byte(tag)), a, b)
	}
	return p.intern(mark)
}

// AddRaw returns the index of an entry given with its tag, which must not refer to
// other entries: a number or a Utf8.
func (p *Pool) AddRaw(entry string) uint16 {
	mark := len(p.tail)
	p.tail = append(p.tail, entry...)
	return p.intern(mark)
}

func (p *Pool) addRef(tag Tag, ref uint16) uint16 {
	mark := len(p.tail)
	p.tail = append16(append(p.tail, byte(tag)), ref)
	return p.intern(mark)
}

// intern returns an index for the entry at the end of the tail. If an equal entry exists,
// it removes the new one and returns the existing index.
func (p *Pool) intern(mark int) uint16 {
	e := p.tail[mark:]
	h := entryHash(e)
	if i, ok := p.lookup(h, func(i uint16) bool {
		off := p.at[i]
		return off&added != 0 && equalEntry(p.tail[off&^added:mark], e)
	}); ok {
		p.tail = p.tail[:mark]
		return i
	}
	need := 1
	if Tag(e[0]).Wide() {
		need = 2
	}
	if len(p.at)+need > math.MaxUint16 {
		p.tail, p.full = p.tail[:mark], true
		return 0
	}
	i := uint16(len(p.at))
	p.at = append(p.at, uint32(mark)|added)
	if need == 2 {
		p.at = append(p.at, 0)
	}
	p.put(h, i)
	return i
}

// equalEntry reports whether the entry that have begins with is e. An entry's
// length follows from its first three bytes, so a common prefix is equality.
func equalEntry(have, e []byte) bool {
	return len(have) >= len(e) && string(have[:len(e)]) == string(e)
}

// entryHash hashes an encoded entry. Most added entries are references or numbers of five
// bytes, which are hashed without maphash.
func entryHash(e []byte) uint32 {
	if len(e) == 5 {
		return (binary.BigEndian.Uint32(e[1:]) + uint32(e[0])<<24) * 0x9E3779B1 >> 7
	}
	return uint32(maphash.Bytes(seed, e))
}

func classHash(name []byte) uint32 { return ^uint32(maphash.Bytes(seed, name)) }

func (p *Pool) lookup(h uint32, same func(uint16) bool) (uint16, bool) {
	t := &p.interned
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(t.slots) - 1)
	for s := h & mask; t.slots[s] != 0; s = (s + 1) & mask {
		if same(t.slots[s]) {
			return t.slots[s], true
		}
	}
	return 0, false
}

func (p *Pool) put(h uint32, i uint16) {
	t := &p.interned
	if (t.used+1)*2 > len(t.slots) {
		p.rehash(2 * len(t.slots)) // i is in the pool, so in the table now
		return
	}
	t.put(h, i)
}

func (t *interned) put(h uint32, i uint16) {
	mask := uint32(len(t.slots) - 1)
	s := h & mask
	for t.slots[s] != 0 {
		s = (s + 1) & mask
	}
	t.slots[s] = i
	t.used++
}

// rehash rebuilds the table with at least this many slots: from the added entries and, if
// they are wanted, the parsed Class entries by name.
func (p *Pool) rehash(slots int) {
	t := &p.interned
	entries := 0
	for i := range p.at {
		if p.hashed(i) {
			entries++
		}
	}
	for slots = max(slots, fewSlots); slots < 2*(entries+1); slots *= 2 {
	}
	if slots <= cap(t.slots) {
		t.slots = t.slots[:slots]
		clear(t.slots)
	} else {
		t.slots = make([]uint16, slots)
	}
	t.used = 0
	for i := range p.at {
		if !p.hashed(i) {
			continue
		}
		if p.at[i]&added != 0 {
			raw, _ := p.Raw(uint16(i))
			t.put(entryHash(raw), uint16(i))
		} else if name, err := p.ClassName(uint16(i)); err == nil {
			t.put(classHash(name), uint16(i))
		}
	}
}

// hashed reports whether an entry belongs in the table: an added entry, or a parsed Class
// entry once they are wanted.
func (p *Pool) hashed(i int) bool {
	off := p.at[i]
	return off&added != 0 || p.interned.classes && off != 0 && Tag(p.src[off]) == TagClass
}
