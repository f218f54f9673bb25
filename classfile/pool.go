package classfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Pool is a constant pool. Parsed entries keep their bytes; added entries are stored
// separately, already encoded. So a pool is read and written in one piece, and an index
// never changes its meaning.
type Pool struct {
	src        []byte   // the class file
	start, end int      // where src holds the entries
	at         []uint32 // by index, where the entry's tag is: in src, or, with added set, in tail
	tail       []byte   // entries that were added
	full       bool
	interned   interned
}

// added marks an offset into the tail.
const added = 1 << 31

// read finds the entries of a class file's pool and returns the offset of its end.
func (p *Pool) read(data []byte) (end int, err error) {
	if uint64(len(data)) >= added {
		return 0, &FormatError{"class file", 0, "exceeds 2 GiB"}
	}
	count := int(binary.BigEndian.Uint16(data[8:]))
	if count == 0 {
		return 0, &FormatError{"constant pool", 8, "count is 0, must be 1 at least"}
	}
	p.src, p.start, p.full = data, 10, false
	p.tail = p.tail[:0]
	p.interned.reset()
	at := slices.Grow(p.at[:0], count)[:count]
	at[0] = 0
	pos := 10
	for i := 1; i < count; i++ {
		if pos+3 > len(data) {
			return 0, truncatedEntry(at, i, pos, len(data))
		}
		tag := Tag(data[pos])
		at[i] = uint32(pos)
		if tag == TagUtf8 {
			pos += 3 + int(data[pos+1])<<8 + int(data[pos+2])
			continue
		}
		size := int(tagSize[tag])
		if size == 0 {
			return 0, &FormatError{fmt.Sprintf("constant pool entry %d of %d", i, count-1), pos, fmt.Sprintf("no such tag: %d", tag)}
		}
		if tag.Wide() {
			i++
			if i == count {
				return 0, &FormatError{fmt.Sprintf("constant pool entry %d of %d", i-1, count-1), pos, "a long or double needs two indices, the pool has one left"}
			}
			at[i] = 0
		}
		pos += size
	}
	if pos > len(data) {
		return 0, truncatedEntry(at, count, pos, len(data))
	}
	p.at, p.end = at, pos
	return pos, nil
}

// truncatedEntry names the entry before i if that one reaches past the end: its length is
// only checked when the next entry is read.
func truncatedEntry(at []uint32, i, pos, size int) error {
	if pos > size {
		for i--; at[i] == 0; i-- { // the second index of a long or double
		}
		pos = int(at[i])
	}
	return &FormatError{fmt.Sprintf("constant pool entry %d of %d", i, len(at)-1), pos, "truncated"}
}

func (p *Pool) append(dst []byte) []byte {
	dst = append16(dst, uint16(len(p.at)))
	dst = append(dst, p.src[p.start:p.end]...)
	return append(dst, p.tail...)
}

// Len returns one more than the highest index, as the class file counts.
func (p *Pool) Len() int { return len(p.at) }

// Err returns ErrPoolFull once an entry could not be added.
func (p *Pool) Err() error {
	if p.full {
		return ErrPoolFull
	}
	return nil
}

// entry returns the bytes from an entry's tag on; nil where there is none.
func (p *Pool) entry(i uint16) []byte {
	if int(i) >= len(p.at) || p.at[i] == 0 {
		return nil
	}
	if off := p.at[i]; off&added == 0 {
		return p.src[off:p.end]
	} else {
		return p.tail[off&^added:]
	}
}

// Tag returns the kind of an entry; 0 for index 0, for an index outside the pool
// and for the second index of a long or double.
func (p *Pool) Tag(i uint16) Tag {
	if e := p.entry(i); e != nil {
		return Tag(e[0])
	}
	return 0
}

func (p *Pool) typed(i uint16, tag Tag) ([]byte, error) {
	e := p.entry(i)
	if e == nil || Tag(e[0]) != tag {
		return nil, &PoolError{i, tag.String(), p.Tag(i)}
	}
	return e[1:], nil
}

// Utf8 returns the text of a Utf8 entry, in the class file's modified UTF-8.
func (p *Pool) Utf8(i uint16) ([]byte, error) {
	e, err := p.typed(i, TagUtf8)
	if err != nil {
		return nil, err
	}
	return e[2 : 2+int(binary.BigEndian.Uint16(e))], nil
}

// named follows the single Utf8 reference of an entry.
func (p *Pool) named(i uint16, tag Tag) ([]byte, error) {
	e, err := p.typed(i, tag)
	if err != nil {
		return nil, err
	}
	return p.Utf8(binary.BigEndian.Uint16(e))
}

// ClassName returns the internal name (or array descriptor) a Class entry holds.
func (p *Pool) ClassName(i uint16) ([]byte, error) { return p.named(i, TagClass) }

// StringValue returns the text of a String entry.
func (p *Pool) StringValue(i uint16) ([]byte, error) { return p.named(i, TagString) }

// MethodType returns the descriptor of a MethodType entry.
func (p *Pool) MethodType(i uint16) ([]byte, error) { return p.named(i, TagMethodType) }

// ModuleName returns the name of a Module entry.
func (p *Pool) ModuleName(i uint16) ([]byte, error) { return p.named(i, TagModule) }

// PackageName returns the internal name of a Package entry.
func (p *Pool) PackageName(i uint16) ([]byte, error) { return p.named(i, TagPackage) }

// NameAndType returns the two texts of a NameAndType entry.
func (p *Pool) NameAndType(i uint16) (name, descriptor []byte, err error) {
	e, err := p.typed(i, TagNameAndType)
	if err != nil {
		return nil, nil, err
	}
	if name, err = p.Utf8(binary.BigEndian.Uint16(e)); err != nil {
		return nil, nil, err
	}
	descriptor, err = p.Utf8(binary.BigEndian.Uint16(e[2:]))
	return name, descriptor, err
}

// Pair returns the two indices of a Fieldref, Methodref, InterfaceMethodref (class,
// name and type), NameAndType (name, descriptor), Dynamic or InvokeDynamic entry
// (bootstrap method, name and type), and the kind and reference of a MethodHandle.
func (p *Pool) Pair(i uint16) (a, b uint16, err error) {
	e := p.entry(i)
	switch p.Tag(i) {
	case TagFieldref, TagMethodref, TagInterfaceMethodref, TagNameAndType, TagDynamic, TagInvokeDynamic:
		return binary.BigEndian.Uint16(e[1:]), binary.BigEndian.Uint16(e[3:]), nil
	case TagMethodHandle:
		return uint16(e[1]), binary.BigEndian.Uint16(e[2:]), nil
	}
	return 0, 0, &PoolError{i, "an entry with two references", p.Tag(i)}
}

// Member resolves a Fieldref, Methodref or InterfaceMethodref entry.
func (p *Pool) Member(i uint16) (class, name, descriptor []byte, err error) {
	if t := p.Tag(i); t < TagFieldref || t > TagInterfaceMethodref {
		return nil, nil, nil, &PoolError{i, "a field or method reference", t}
	}
	c, nt, _ := p.Pair(i)
	if class, err = p.ClassName(c); err != nil {
		return nil, nil, nil, err
	}
	name, descriptor, err = p.NameAndType(nt)
	return class, name, descriptor, err
}

// Descriptor returns the descriptor of a field or method reference, or of an
// InvokeDynamic or Dynamic entry.
func (p *Pool) Descriptor(i uint16) ([]byte, error) {
	e := p.entry(i)
	switch t := p.Tag(i); t {
	case TagFieldref, TagMethodref, TagInterfaceMethodref, TagInvokeDynamic, TagDynamic:
		nt, err := p.typed(binary.BigEndian.Uint16(e[3:]), TagNameAndType)
		if err != nil {
			return nil, err
		}
		return p.Utf8(binary.BigEndian.Uint16(nt[2:]))
	default:
		return nil, &PoolError{i, "an entry with a descriptor", t}
	}
}

// Int returns the value of an Integer entry.
func (p *Pool) Int(i uint16) (int32, error) {
	e, err := p.typed(i, TagInteger)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(e)), nil
}

// Raw returns an entry's bytes with its tag.
func (p *Pool) Raw(i uint16) ([]byte, error) {
	e := p.entry(i)
	if e == nil {
		return nil, &PoolError{i, "an entry", 0}
	}
	size := int(tagSize[e[0]])
	if Tag(e[0]) == TagUtf8 {
		size += int(binary.BigEndian.Uint16(e[1:]))
	}
	return e[:size], nil
}

func (p *Pool) nameIs(i uint16, name []byte) bool {
	text, err := p.ClassName(i)
	return err == nil && bytes.Equal(text, name)
}

// Tag is the kind of a constant pool entry.
type Tag uint8

// The tags of JVMS 4.4.
const (
	TagUtf8               Tag = 1
	TagInteger            Tag = 3
	TagFloat              Tag = 4
	TagLong               Tag = 5
	TagDouble             Tag = 6
	TagClass              Tag = 7
	TagString             Tag = 8
	TagFieldref           Tag = 9
	TagMethodref          Tag = 10
	TagInterfaceMethodref Tag = 11
	TagNameAndType        Tag = 12
	TagMethodHandle       Tag = 15
	TagMethodType         Tag = 16
	TagDynamic            Tag = 17
	TagInvokeDynamic      Tag = 18
	TagModule             Tag = 19
	TagPackage            Tag = 20
)

var tagNames = [...]string{
	TagUtf8: "Utf8", TagInteger: "Integer", TagFloat: "Float", TagLong: "Long", TagDouble: "Double",
	TagClass: "Class", TagString: "String", TagFieldref: "Fieldref", TagMethodref: "Methodref",
	TagInterfaceMethodref: "InterfaceMethodref", TagNameAndType: "NameAndType",
	TagMethodHandle: "MethodHandle", TagMethodType: "MethodType", TagDynamic: "Dynamic",
	TagInvokeDynamic: "InvokeDynamic", TagModule: "Module", TagPackage: "Package",
}

// tagSize is the length of an entry with its tag; Utf8's lacks its text.
var tagSize = [256]uint8{
	TagUtf8: 3, TagInteger: 5, TagFloat: 5, TagLong: 9, TagDouble: 9, TagClass: 3, TagString: 3,
	TagFieldref: 5, TagMethodref: 5, TagInterfaceMethodref: 5, TagNameAndType: 5,
	TagMethodHandle: 4, TagMethodType: 3, TagDynamic: 5, TagInvokeDynamic: 5, TagModule: 3, TagPackage: 3,
}

// String returns the tag's name in the specification.
func (t Tag) String() string {
	if int(t) < len(tagNames) && tagNames[t] != "" {
		return tagNames[t]
	}
	return "undefined"
}

// Wide reports whether an entry of this kind takes two indices.
func (t Tag) Wide() bool { return t == TagLong || t == TagDouble }

// tagSet is a set of kinds of entries that an index may refer to, one bit each.
type tagSet uint32

// noEntry is the bit of the index 0, which refers to no entry.
const noEntry tagSet = 1

const (
	utf8Entry         tagSet = 1 << TagUtf8
	integerEntry      tagSet = 1 << TagInteger
	floatEntry        tagSet = 1 << TagFloat
	longEntry         tagSet = 1 << TagLong
	doubleEntry       tagSet = 1 << TagDouble
	classEntry        tagSet = 1 << TagClass
	nameAndTypeEntry  tagSet = 1 << TagNameAndType
	methodHandleEntry tagSet = 1 << TagMethodHandle
	moduleEntry       tagSet = 1 << TagModule
	packageEntry      tagSet = 1 << TagPackage

	fieldEntry       tagSet = 1 << TagFieldref
	classMethod      tagSet = 1 << TagMethodref
	interfaceMethod  tagSet = 1 << TagInterfaceMethodref
	constantValues   tagSet = integerEntry | floatEntry | longEntry | doubleEntry | 1<<TagString
	dynamicConstants tagSet = 1 << TagDynamic
	loadable         tagSet = constantValues | classEntry | methodHandleEntry | 1<<TagMethodType | dynamicConstants
)

// String names the kinds, as in "Methodref or InterfaceMethodref".
func (s tagSet) String() string {
	if s&^noEntry == loadable {
		return "a constant that can be loaded"
	}
	var names []string
	for tag := TagUtf8; tag <= TagPackage; tag++ {
		if s&(1<<tag) != 0 {
			names = append(names, tag.String())
		}
	}
	return strings.Join(names, " or ")
}

// lookFor returns a PoolError unless index i refers to an entry of a kind wanted.
func (p *Pool) lookFor(i uint16, want tagSet) error {
	tag := p.Tag(i)
	if want&(1<<tag) == 0 || tag == 0 && i != 0 {
		return &PoolError{i, want.String(), tag}
	}
	return nil
}
