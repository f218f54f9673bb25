package hotspot

import (
	"encoding/binary"
	"errors"
	"strings"
)

// tables are the descriptions of its own data that HotSpot exports for debuggers: the fields of its
// structures, the sizes of its types, and constants.
type tables struct {
	fields map[string]field // by Type::_name
	sizes  map[string]uint64
}

// A field is a field of a structure, or a static one.
type field struct {
	offset  uint64 // in the structure
	address uint64 // if it is static
	size    int    // in bytes: 1, 2, 4 or 8
}

const (
	mostEntries = 20_000 // in a table; JDK 26 has 1,000
	mostStride  = 256
)

var errNoTables = errors.New("its libjvm.so has no usable tables of HotSpot's data (gHotSpotVMStructs)")

// readTables reads the tables. symbol returns the address of an exported variable.
func readTables(memory space, symbol func(name string) (uint64, bool)) (*tables, error) {
	t := &tables{fields: map[string]field{}, sizes: map[string]uint64{}}
	types := table{memory: memory, symbol: symbol, list: "gHotSpotVMTypes", entry: "gHotSpotVMTypeEntry",
		columns: []string{"TypeNameOffset", "SizeOffset"}}
	err := types.each(func(e entry) bool {
		name, ok := memory.text(e.u64(0))
		t.sizes[name] = e.u64(1)
		return ok
	})
	if err != nil {
		return nil, err
	}
	fields := table{memory: memory, symbol: symbol, list: "gHotSpotVMStructs", entry: "gHotSpotVMStructEntry",
		columns: []string{"TypeNameOffset", "FieldNameOffset", "TypeStringOffset", "IsStaticOffset", "OffsetOffset", "AddressOffset"}}
	err = fields.each(func(e entry) bool {
		owner, ok := memory.text(e.u64(0))
		name, named := memory.text(e.u64(1))
		kind, _ := memory.text(e.u64(2)) // 0 for some
		f := field{size: t.sizeOf(kind)}
		if e.u32(3) != 0 {
			f.address = e.u64(5)
		} else {
			f.offset = e.u64(4)
		}
		if f.offset > 1<<16 {
			return true // no structure is as large
		}
		t.fields[owner+"::"+name] = f
		return ok && named
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// sizeOf returns the size of a field's type.
func (t *tables) sizeOf(kind string) int {
	kind = strings.TrimPrefix(strings.TrimPrefix(kind, "volatile "), "const ")
	switch size := t.sizes[kind]; {
	case strings.HasSuffix(kind, "*"), strings.HasSuffix(kind, "*const"), kind == "address":
		return 8
	case size == 1, size == 2, size == 4, size == 8:
		return int(size)
	}
	switch kind {
	case "signed char", "unsigned char", "bool", "u1", "jbyte":
		return 1
	case "u2", "short", "unsigned short", "int16_t", "uint16_t":
		return 2
	case "int", "uint", "jint", "u4", "int32_t", "uint32_t", "unsigned int", "pid_t", "OSThread::thread_id_t":
		return 4
	}
	return 8
}

// A table is an array of entries in the process, whose shape is exported as well.
type table struct {
	memory  space
	symbol  func(string) (uint64, bool)
	list    string
	entry   string
	columns []string
}

// An entry is one row of a table.
type entry struct {
	data    []byte
	offsets []uint64
}

func (e entry) u64(column int) uint64 { return binary.LittleEndian.Uint64(e.data[e.offsets[column]:]) }
func (e entry) u32(column int) uint32 { return binary.LittleEndian.Uint32(e.data[e.offsets[column]:]) }

// value returns the value of an exported variable.
func (t *table) value(name string) (uint64, bool) {
	address, ok := t.symbol(name)
	if !ok {
		return 0, false
	}
	return t.memory.u64(address)
}

// each calls f with each entry up to the first without a name, or until f fails.
func (t *table) each(f func(entry) bool) error {
	at, ok := t.value(t.list)
	stride, has := t.value(t.entry + "ArrayStride")
	if !ok || !has || stride < 8 || stride > mostStride {
		return errNoTables
	}
	e := entry{data: make([]byte, stride)}
	for _, column := range t.columns {
		offset, ok := t.value(t.entry + column)
		if !ok || offset > stride-8 {
			return errNoTables
		}
		e.offsets = append(e.offsets, offset)
	}
	for range mostEntries {
		if !t.memory.Read(at, e.data) {
			return errNoTables
		}
		if e.u64(0) == 0 {
			return nil
		}
		if !f(e) {
			return errNoTables
		}
		at += stride
	}
	return errNoTables
}
