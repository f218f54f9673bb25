package hotspot

import (
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// methods knows the names of methods by their addresses. Like code, they are checked once in a round:
// when a class is unloaded, its memory is used again.
type methods struct {
	memory space
	layout *layout
	round  int
	known  map[uint64]*method
	names  map[jfr.Method]*jfr.Method // samples share their methods
}

// A method is a method of a loaded class.
type method struct {
	methodIdentity
	info     *jfr.Method // nil if the name cannot be read
	codeSize uint64
	hasLines bool
	lines    []line
	loaded   bool
	checked  int
	doubtful int
}

// methodIdentity tells methods at one address apart.
type methodIdentity struct {
	body, pool, holder, className  uint64
	name, signature, flags, access uint64
}

type line struct{ bci, line int }

const (
	mostMethods    = 200_000
	mostLines      = 65_536
	accessNative   = 0x0100
	hasLineNumbers = 1
)

func (m *methods) begin() {
	m.round++
	if m.known == nil || len(m.known) > mostMethods {
		m.known, m.names = map[uint64]*method{}, map[jfr.Method]*jfr.Method{}
	}
}

// find returns the method at an address; nil if there is none, or if it is not known to be the one
// that was there when the sample was taken.
func (m *methods) find(address uint64) *method {
	if address == 0 || address%8 != 0 {
		return nil
	}
	known := m.known[address]
	if known == nil {
		if known = m.read(address); known == nil {
			return nil
		}
		known.checked = m.round
		m.known[address] = known
	}
	if known.checked != m.round {
		now := m.read(address)
		if now == nil {
			now = &method{}
		}
		if now.methodIdentity != known.methodIdentity {
			now.doubtful = m.round
			*known = *now
		}
		known.checked = m.round
	}
	if known.info == nil || known.doubtful == m.round {
		return nil
	}
	return known
}

func (m *methods) read(address uint64) *method {
	l := m.layout
	access := uint64(0)
	if v, ok := m.memory.u32(address + l.methodFlags.offset); ok {
		access = uint64(v)
		if l.methodFlags.size == 2 {
			access &= 0xFFFF
		}
	}
	body, ok := m.memory.u64(address + l.methodConst.offset)
	if !ok || body == 0 || body%8 != 0 {
		return nil
	}
	r := record(m.memory.bytes(body, int(l.sizeOfConst)))
	if r == nil {
		return nil
	}
	found := &method{methodIdentity: methodIdentity{body: body, pool: r.u(l.constPool), name: r.u(l.constName), signature: r.u(l.constSignature),
		flags: r.u(l.constFlags), access: access & 0xFFFF}, codeSize: r.u(l.constCodeSize)}
	found.hasLines = found.flags&hasLineNumbers != 0
	pool := record(m.memory.bytes(found.pool, int(l.sizeOfPool)))
	if pool == nil {
		return nil
	}
	length := pool.u(l.poolLength)
	if length > 65_536 || found.name >= length || found.signature >= length {
		return nil
	}
	found.holder = pool.u(l.poolHolder)
	found.className, ok = m.memory.u64(found.holder + l.klassName.offset)
	if !ok {
		return nil
	}
	if known := m.known[address]; known != nil && known.methodIdentity == found.methodIdentity {
		return known
	}
	class, ok := m.symbol(found.className)
	if !ok {
		return nil
	}
	name, ok := m.constant(found.pool, found.name)
	if !ok {
		return nil
	}
	descriptor, ok := m.constant(found.pool, found.signature)
	if !ok || len(descriptor) == 0 || descriptor[0] != '(' {
		return nil
	}
	info := jfr.Method{Class: class, Name: name, Descriptor: descriptor, Modifiers: int(found.access)}
	shared := m.names[info]
	if shared == nil {
		shared = &info
		m.names[info] = shared
	}
	found.info = shared
	return found
}

// constant returns a name in a constant pool.
func (m *methods) constant(pool, index uint64) (string, bool) {
	at, ok := m.memory.u64(pool + m.layout.sizeOfPool + 8*index)
	if !ok {
		return "", false
	}
	return m.symbol(at)
}

func (m *methods) symbol(at uint64) (string, bool) {
	if at == 0 {
		return "", false
	}
	length, ok := m.memory.u16(at + m.layout.symbolLength.offset)
	if !ok || length == 0 {
		return "", false
	}
	text := m.memory.bytes(at+m.layout.symbolBody.offset, int(length))
	return string(text), text != nil
}

// line returns the line of a position in a method; 0 if it is not known.
func (m *methods) line(of *method, bci int) (number int) {
	if !of.loaded {
		of.loaded = true
		if of.hasLines {
			of.lines = m.readLines(of)
		}
	}
	nearest := -1
	for _, l := range of.lines {
		if l.bci <= bci && l.bci >= nearest {
			nearest, number = l.bci, l.line
		}
	}
	return number
}

// readLines reads the line numbers, which follow the code: small steps in one byte, others in two
// numbers after the byte 255.
func (m *methods) readLines(of *method) (all []line) {
	at := of.body + m.layout.sizeOfConst + of.codeSize
	var data []byte
	for n := 4096; n >= 64 && data == nil; n /= 2 { // it may end before the memory does
		data = m.memory.bytes(at, n)
	}
	in := stream{data: data, noZero: m.layout.release >= 20}
	var bci, number int
	for range mostLines {
		switch next := in.byte(); {
		case in.failed || next == 0:
			return all
		case next == 0xFF:
			bci += int(in.signed())
			number += int(in.signed())
		default:
			bci += int(next >> 3)
			number += int(next & 7)
		}
		if in.failed || bci < 0 || uint64(bci) > of.codeSize || number < 0 || number > 65_535 {
			return all
		}
		all = append(all, line{bci, number})
	}
	return all
}
