package classfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// decoder reads an attribute's contents. The first defect is kept; from then on all
// reads give zero, so that loops end by themselves.
type decoder struct {
	cursor
	structure string
	pool      *Pool // where indices must lead; nil leaves them unseen
	err       error
}

func (in *decoder) defect(at int, format string, args ...any) {
	if in.err == nil && !in.short {
		in.err = &FormatError{in.structure, at, fmt.Sprintf(format, args...)}
	}
	in.fail()
}

// finish demands that the contents end where the attribute does.
func (in *decoder) finish() error {
	switch {
	case in.err != nil:
		return in.err
	case in.short:
		return &FormatError{in.structure, in.at, "truncated"}
	case in.left() > 0:
		return &FormatError{in.structure, in.at, fmt.Sprintf("%d bytes too many", in.left())}
	}
	return nil
}

// count reads how many entries follow, each of size bytes at least. A count that
// lies is refused here, before anyone allocates by it.
func (in *decoder) count(size int, what string) int {
	at := in.at
	return in.counted(at, int(in.u2()), size, what)
}

// count1 is count for the tables whose count is a single byte.
func (in *decoder) count1(size int, what string) int {
	at := in.at
	return in.counted(at, int(in.u1()), size, what)
}

func (in *decoder) counted(at, n, size int, what string) int {
	if n*size > in.left() {
		in.defect(at, "%d %s do not fit in %d bytes", n, what, in.left())
		return 0
	}
	return n
}

// ref reads the index of an entry of one of the kinds wanted.
func (in *decoder) ref(want tagSet) uint16 {
	at := in.at
	i := in.u2()
	if in.pool != nil && !in.short {
		if err := in.pool.lookFor(i, want); err != nil {
			in.defect(at, "%v", err)
		}
	}
	return i
}

// refOrNone is ref where 0 stands for no entry.
func (in *decoder) refOrNone(want tagSet) uint16 { return in.ref(want | noEntry) }

func (in *decoder) refs(want tagSet, what string) []uint16 {
	list := make([]uint16, in.count(2, what))
	for i := range list {
		list[i] = in.ref(want)
	}
	return list
}

// attributes reads a table of attributes inside another attribute.
func (in *decoder) attributes() []Attribute {
	table := make([]Attribute, in.count(6, "attributes"))
	for i := range table {
		name := in.ref(utf8Entry)
		at := in.at
		size := in.u4()
		if int64(size) > int64(in.left()) {
			in.defect(at, "%d bytes of attribute %d of %d do not fit in %d", size, i+1, len(table), in.left())
			return nil
		}
		table[i] = Attribute{name, in.bytes(int(size))}
	}
	return table
}

// encoder writes an attribute's contents and keeps the first thing that no class
// file can hold.
type encoder struct {
	dst       []byte
	structure string
	err       error
}

func (out *encoder) u1(values ...uint8) { out.dst = append(out.dst, values...) }

func (out *encoder) u2(values ...uint16) { out.dst = append16(out.dst, values...) }

func (out *encoder) u4(v uint32) { out.dst = binary.BigEndian.AppendUint32(out.dst, v) }

func (out *encoder) count(n int, what string) {
	out.limit(n, math.MaxUint16, what)
	out.u2(uint16(n))
}

func (out *encoder) count1(n int, what string) {
	out.limit(n, math.MaxUint8, what)
	out.u1(uint8(n))
}

func (out *encoder) limit(n, most int, what string) {
	if n > most {
		out.defect("%d %s, the limit is %d", n, what, most)
	}
}

func (out *encoder) defect(format string, args ...any) {
	if out.err == nil {
		out.err = &FormatError{out.structure, len(out.dst), fmt.Sprintf(format, args...)}
	}
}

func (out *encoder) indices(list []uint16, what string) {
	out.count(len(list), what)
	out.u2(list...)
}

func (out *encoder) attributes(table []Attribute) {
	dst, err := AppendAttributes(out.dst, table)
	out.dst = dst
	if out.err == nil {
		out.err = err
	}
}

func (out *encoder) finish() ([]byte, error) { return out.dst, out.err }

func appendIndices(dst []byte, structure string, list []uint16) ([]byte, error) {
	out := &encoder{dst: dst, structure: structure}
	out.indices(list, "entries")
	return out.finish()
}
