package hotspot

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// methods knows the names of methods by their addresses. When a class is unloaded, its memory is used
// again, so what is known of a method is compared with what is there now.
type methods struct {
	*rounds
	layout *layout
	known  map[uint64]*method
	names  map[jfr.Method]*jfr.Method // samples share their methods
	size   int                        // bytes of all that is known
	parts  []Part                     // used again
	now    []byte
}

// A method is a method of a loaded class.
type method struct {
	info     *jfr.Method
	body     uint64 // address of the ConstMethod
	codeSize uint64
	maxStack uint64 // in words
	hasLines bool
	lines    []line
	loaded   bool
	proof    proof
	since    int  // it was there at the begin of this round
	checked  int  // the last pass
	usable   bool // in that pass
}

// A proof is all that makes a method what it is, and where it was found.
type proof struct {
	places []place
	bytes  []byte
	spans  []place // places that lie together: the kernel reads few parts faster
}

// nearby bounds the distance of places that are read together.
const nearby = 128

// span puts places together.
func (p *proof) span() {
	for _, one := range p.places {
		if n := len(p.spans); n > 0 {
			last := &p.spans[n-1]
			if from, to := min(last.address, one.address), max(last.address+uint64(last.size), one.address+uint64(one.size)); to-from <= nearby {
				*last = place{from, int(to - from)}
				continue
			}
		}
		p.spans = append(p.spans, one)
	}
}

type place struct {
	address uint64
	size    int
}

type line struct{ bci, line int }

const (
	mostMethods    = 200_000
	mostBytes      = 256 << 20
	accessNative   = 0x0100
	hasLineNumbers = 1
)

func (m *methods) begin() {
	if m.known == nil || len(m.known) > mostMethods || m.size > mostBytes {
		m.known, m.names, m.size = map[uint64]*method{}, map[jfr.Method]*jfr.Method{}, 0
	}
}

// find returns the method at an address; nil if there is none, or if it is not known to be the one
// that was there when the sample was taken.
func (m *methods) find(address uint64) *method {
	if address == 0 || address%8 != 0 {
		return nil
	}
	known := m.known[address]
	if known == nil || known.checked != m.pass && !m.holds(&known.proof) {
		// What is read in several steps may change meanwhile.
		if known = m.read(address); known == nil || !m.holds(&known.proof) {
			delete(m.known, address)
			return nil
		}
		known.since = m.next()
		m.known[address] = known
	}
	if known.checked != m.pass {
		known.checked = m.pass
		known.usable = m.isOld(known.since) || m.isQuiet()
	}
	if !known.usable {
		return nil
	}
	return known
}

// isSame reports whether two methods are versions of one: classes that are redefined get new ones.
func (m *methods) isSame(one, other uint64) bool {
	if one == other {
		return true
	}
	a, b := m.find(one), m.find(other)
	return a != nil && b != nil && *a.info == *b.info
}

// holds reports whether everything is still as it was.
func (m *methods) holds(p *proof) bool {
	if p.spans == nil {
		p.span()
	}
	size := 0
	for _, span := range p.spans {
		size += span.size
	}
	m.parts, m.now = m.parts[:0], slices.Grow(m.now[:0], size)[:size]
	rest := m.now
	for _, span := range p.spans {
		m.parts = append(m.parts, Part{span.address, rest[:span.size]})
		rest = rest[span.size:]
	}
	if !m.memory.ReadAll(m.parts) {
		return false
	}
	parts, want := m.parts, p.bytes
	for _, one := range p.places {
		for len(parts) > 0 && !parts[0].has(one) {
			parts = parts[1:] // the places are in the order of their spans
		}
		if len(parts) == 0 || !bytes.Equal(parts[0].Into[one.address-parts[0].Address:][:one.size], want[:one.size]) {
			return false
		}
		want = want[one.size:]
	}
	return true
}

func (p Part) has(one place) bool {
	offset := one.address - p.Address
	return offset <= uint64(len(p.Into)) && uint64(one.size) <= uint64(len(p.Into))-offset
}

// A reading reads what belongs to a method, and makes it a part of the proof.
type reading struct {
	memory space
	layout *layout
	proof  proof
	failed bool
}

func (r *reading) bytes(address uint64, size int) []byte {
	if r.failed {
		return nil
	}
	data := r.memory.bytes(address, size)
	r.failed = data == nil
	r.proof.places = append(r.proof.places, place{address, len(data)})
	r.proof.bytes = append(r.proof.bytes, data...)
	return data
}

func (r *reading) field(of uint64, f *field) uint64 {
	return record(r.bytes(of+f.offset, f.size)).u(&field{size: f.size})
}

// symbol reads a name.
func (r *reading) symbol(at uint64) string {
	length := r.field(at, &field{offset: r.layout.symbolLength.offset, size: 2})
	text := string(r.bytes(at+r.layout.symbolBody.offset, int(length)))
	r.failed = r.failed || at == 0 || !isName(text)
	return text
}

// isName rejects what cannot be the name or descriptor of a class or method: control characters, dots, and
// what is not in the form of UTF-8 that class files have, with one to three bytes for a character.
func isName(text string) bool {
	for i := 0; i < len(text); i++ {
		more := 0
		switch c := text[i]; {
		case c < ' ', c == '.', c == 0x7F, c >= 0x80 && c < 0xC0, c >= 0xF0:
			return false
		case c >= 0xE0:
			more = 2
		case c >= 0xC0:
			more = 1
		}
		for range more {
			if i++; i == len(text) || text[i]&0xC0 != 0x80 {
				return false
			}
		}
	}
	return text != ""
}

// constant reads a name from a constant pool.
func (r *reading) constant(pool, index uint64) string {
	return r.symbol(r.field(pool, &field{offset: r.layout.sizeOfPool + 8*index, size: 8}))
}

func (m *methods) read(address uint64) *method {
	if m.size > mostBytes {
		return nil
	}
	l := m.layout
	r := reading{memory: m.memory, layout: l}
	access := r.field(address, &field{offset: l.methodFlags.offset, size: 2})
	body := r.field(address, l.methodConst)
	pool := r.field(body, l.constPool)
	name, signature := r.field(body, l.constName), r.field(body, l.constSignature)
	found := &method{body: body, codeSize: r.field(body, l.constCodeSize), maxStack: r.field(body, l.constMaxStack)}
	holder, length := r.field(pool, l.poolHolder), r.field(pool, l.poolLength)
	if r.failed || body%8 != 0 || found.codeSize > 65_535 || length > 65_536 || name >= length || signature >= length {
		return nil
	}
	class := r.symbol(r.field(holder, l.klassName))
	info := jfr.Method{Class: class, Name: r.constant(pool, name), Descriptor: r.constant(pool, signature), Modifiers: int(access)}
	if r.failed || info.Descriptor[0] != '(' || strings.ContainsAny(info.Name, ";[/") {
		return nil
	}
	flags := m.memory.u8(body + l.constFlags.offset)
	found.hasLines = flags&hasLineNumbers != 0
	shared := m.names[info]
	if shared == nil {
		shared = &info
		m.names[info] = shared
	}
	found.info, found.proof = shared, r.proof
	m.size += 3 * len(r.proof.bytes)
	return found
}

// line returns the line of a position in a method; 0 if it is not known. Like HotSpot it takes the
// first entry for the position, or the last one of those for the nearest position before.
func (m *methods) line(of *method, bci int) int {
	if !of.loaded {
		of.loaded = true
		if of.hasLines {
			of.lines = m.readLines(of)
			m.size += 16 * len(of.lines)
		}
	}
	i, exact := slices.BinarySearchFunc(of.lines, bci, func(l line, bci int) int { return l.bci - bci })
	switch {
	case exact:
		return of.lines[i].line
	case i > 0:
		return of.lines[i-1].line
	}
	return 0
}

// readLines reads the line numbers, which follow the code, and sorts them by position: small steps are
// in one byte, others in two numbers after the byte 255. It returns none if they do not end.
func (m *methods) readLines(of *method) (all []line) {
	at := of.body + m.layout.sizeOfConst + of.codeSize
	in := stream{data: m.memory.prefix(at, 1024+4*int(of.codeSize)), noZero: m.layout.release >= 20}
	var bci, number int
	for {
		switch next := in.byte(); {
		case in.failed:
			return nil
		case next == 0:
			slices.SortStableFunc(all, func(a, b line) int { return a.bci - b.bci })
			return all
		case next == 0xFF:
			bci += int(in.signed())
			number += int(in.signed())
		default:
			bci += int(next >> 3)
			number += int(next & 7)
		}
		if bci < 0 || uint64(bci) > of.codeSize || number < 0 || number > 65_535 {
			return nil
		}
		all = append(all, line{bci, number})
	}
}
