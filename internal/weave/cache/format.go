package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// The file of an entry (docs/formats/cache.md). Fixed-size numbers are little-endian.
//
//	 0   8  magic, with the version of the format
//	 8   8  checksum of everything that follows: CRC-32C, CRC-32
//	16  32  key
//	48   4  length of the description
//	52   4  length of the woven class
//	56      description, woven class
//
// Two CRCs with different polynomials act as one of 64 bits.
const (
	magic       = "sonde\x00\xc5\x02"
	checksumAt  = 8
	checkedFrom = 16
	lengthsAt   = checkedFrom + len(Key{})
	headerSize  = lengthsAt + 8

	// maxBytes is far larger than any class file.
	maxBytes = 64 << 20
	maxFile  = int64(headerSize + maxBytes)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Flags of a method.
const (
	flagWoven = 1 << iota
	flagReason
	flagID
	flagTemplates
	flagSameTemplates // the templates of the previous method
	flagSites         // calls were wrapped or could not be wrapped
	flagOffsets
)

// encode returns the file of an entry.
func encode(key Key, e *Entry) ([]byte, error) {
	file := e.AppendDescription(make([]byte, headerSize, headerSize+len(e.Woven)+256+64*len(e.Methods)))
	description := len(file) - headerSize
	if description+len(e.Woven) > maxBytes {
		return nil, ErrTooLarge
	}
	file = append(file, e.Woven...)
	copy(file, magic)
	copy(file[checkedFrom:], key[:])
	binary.LittleEndian.PutUint32(file[lengthsAt:], uint32(description))
	binary.LittleEndian.PutUint32(file[lengthsAt+4:], uint32(len(e.Woven)))
	binary.LittleEndian.PutUint64(file[checksumAt:], checksum(file[checkedFrom:]))
	return file, nil
}

func checksum(b []byte) uint64 {
	return uint64(crc32.Checksum(b, castagnoli)) | uint64(crc32.ChecksumIEEE(b))<<32
}

// decode reads the file of an entry. The entry keeps the file. Errors are *EntryError
// without a path.
func decode(key Key, file []byte) (*Entry, error) {
	description, woven, err := split(key, file)
	if err != nil {
		return nil, err
	}
	e, err := ReadDescription(string(description))
	if err != nil {
		return nil, err
	}
	if len(woven) > 0 {
		e.Woven = woven
	}
	return e, nil
}

// split checks a file as a whole and returns its two parts.
func split(key Key, file []byte) (description, woven []byte, err error) {
	const version = len(magic) - 1
	switch {
	case len(file) < headerSize:
		return nil, nil, damaged("it has %d bytes, fewer than a header", len(file))
	case string(file[:version]) != magic[:version]:
		return nil, nil, damaged("it does not start with the magic number")
	case binary.LittleEndian.Uint64(file[checksumAt:]) != checksum(file[checkedFrom:]):
		return nil, nil, damaged("its checksum is wrong")
	case file[version] != magic[version]:
		return nil, nil, &EntryError{Kind: ErrVersion, Detail: fmt.Sprintf("it has version %d, this Sonde reads %d", file[version], magic[version])}
	case Key(file[checkedFrom:lengthsAt]) != key:
		return nil, nil, damaged("it is the entry of another key, %s", Key(file[checkedFrom:lengthsAt]))
	}
	a := int64(binary.LittleEndian.Uint32(file[lengthsAt:]))
	b := int64(binary.LittleEndian.Uint32(file[lengthsAt+4:]))
	body := file[headerSize:]
	if a+b != int64(len(body)) {
		return nil, nil, damaged("its parts have %d bytes, it has %d", a+b, len(body))
	}
	return body[:a:a], body[a:len(body):len(body)], nil
}

func damaged(format string, args ...any) error {
	return &EntryError{Kind: ErrDamaged, Detail: fmt.Sprintf(format, args...)}
}

// AppendDescription appends the description of an entry: everything but its woven class.
// Packs store it too.
func (e *Entry) AppendDescription(dst []byte) []byte {
	w := writer{dst}
	w.entry(e)
	return w.b
}

// ReadDescription reads a description, which must be the whole text. Errors are
// *EntryError without a path.
func ReadDescription(text string) (*Entry, error) {
	r := reader{rest: text}
	e := r.entry()
	if len(r.rest) > 0 {
		r.fail("it is followed by other data")
	}
	if r.failed != "" {
		return nil, damaged("its description: %s", r.failed)
	}
	return e, nil
}

// writer writes a description.
type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) text(all ...string) {
	for _, s := range all {
		w.number(uint64(len(s)))
		w.b = append(w.b, s...)
	}
}

func (w *writer) reason(r weave.Reason) { w.text(string(r.Kind), r.Detail) }

func (w *writer) entry(e *Entry) {
	w.text(e.Class)
	w.number(uint64(e.Original.Size))
	w.b = append(w.b, e.Original.Digest[:]...)
	w.text(e.Engine)
	w.number(uint64(e.Made.UnixMilli()))
	w.number(uint64(len(e.Methods)))
	for i := range e.Methods {
		same := i > 0 && slices.Equal(e.Methods[i].Templates, e.Methods[i-1].Templates)
		w.method(&e.Methods[i], same)
	}
	w.number(uint64(len(e.Calls)))
	for _, s := range e.Calls {
		w.text(s.Class, s.Name, s.Descriptor)
		w.number(uint64(s.ID))
	}
}

func (w *writer) method(m *Method, sameTemplates bool) {
	flags := m.flags()
	if sameTemplates && flags&flagTemplates != 0 {
		flags ^= flagTemplates | flagSameTemplates
	}
	w.b = append(w.b, flags)
	w.text(m.Name, m.Descriptor)
	if flags&flagReason != 0 {
		w.reason(m.Reason)
	}
	if flags&flagID != 0 {
		w.b = binary.LittleEndian.AppendUint32(w.b, m.ID)
	}
	if flags&flagTemplates != 0 {
		w.number(uint64(len(m.Templates)))
		w.text(m.Templates...)
	}
	if flags&flagSites != 0 {
		w.number(uint64(m.Sites))
		w.number(uint64(len(m.Left)))
		for i := range m.Left {
			w.left(&m.Left[i])
		}
	}
	if flags&flagOffsets != 0 {
		w.text(string(m.Offsets))
	}
}

func (w *writer) left(l *LeftCall) {
	w.number(uint64(l.Offset))
	isInterface := byte(0)
	if l.IsInterface {
		isInterface = 1
	}
	w.b = append(w.b, byte(l.Opcode), isInterface)
	w.text(l.Owner, l.Name, l.Descriptor)
	w.reason(l.Reason)
}

// flags returns which parts of a method are written.
func (m *Method) flags() (flags byte) {
	for flag, isSet := range map[byte]bool{
		flagWoven:     m.Woven,
		flagReason:    m.Reason != (weave.Reason{}),
		flagID:        m.HasID,
		flagTemplates: len(m.Templates) > 0,
		flagSites:     m.Sites > 0 || len(m.Left) > 0,
		flagOffsets:   len(m.Offsets) > 0,
	} {
		if isSet {
			flags |= flag
		}
	}
	return flags
}

// reader reads a description. After the first error everything it returns is zero and
// nothing is left to read.
type reader struct {
	rest   string
	failed string
}

func (r *reader) fail(reason string) {
	if r.failed == "" {
		r.failed = reason
	}
	r.rest = ""
}

func (r *reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.fail("it is truncated")
		return ""
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != "" {
		return b[0]
	}
	return 0
}

func (r *reader) fixed32() (n uint32) {
	for i, b := range []byte(r.take(4)) {
		n |= uint32(b) << (8 * i)
	}
	return n
}

func (r *reader) number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.fail("a number does not end")
	return 0
}

// within returns a number that must not exceed max.
func (r *reader) within(max uint64) uint64 {
	n := r.number()
	if n > max {
		r.fail("a number is too large")
		return 0
	}
	return n
}

// count returns the length of a list whose elements have at least size bytes. Class files
// count everything in 16 bits.
func (r *reader) count(size int) int {
	return int(r.within(uint64(min(len(r.rest)/size, 0xffff))))
}

func (r *reader) text() string { return r.take(r.number()) }

func (r *reader) reason() weave.Reason {
	return weave.Reason{Kind: weave.ReasonKind(r.text()), Detail: r.text()}
}

const max32 = 1<<32 - 1

func (r *reader) entry() *Entry {
	e := &Entry{Class: r.text()}
	e.Original.Size = int(r.within(max32))
	copy(e.Original.Digest[:], r.take(sha256.Size))
	e.Engine = r.text()
	e.Made = time.UnixMilli(int64(r.within(1 << 62)))
	var templates []string
	for range r.count(3) {
		m := r.method(templates)
		templates = m.Templates
		e.Methods = append(e.Methods, m)
	}
	for range r.count(4) {
		e.Calls = append(e.Calls, Slot{classfile.MethodRef{Class: r.text(), Name: r.text(), Descriptor: r.text()}, uint32(r.within(max32))})
	}
	return e
}

// method reads a method; previous are the templates of the one before it.
func (r *reader) method(previous []string) (m Method) {
	flags := r.byte()
	m.Name, m.Descriptor = r.text(), r.text()
	m.Woven = flags&flagWoven != 0
	if flags&flagReason != 0 {
		m.Reason = r.reason()
	}
	if m.HasID = flags&flagID != 0; m.HasID {
		m.ID = r.fixed32()
	}
	if flags&flagSameTemplates != 0 {
		m.Templates = previous
	}
	if flags&flagTemplates != 0 {
		m.Templates = nil
		for range r.count(1) {
			m.Templates = append(m.Templates, r.text())
		}
	}
	if flags&flagSites != 0 {
		m.Sites = int(r.within(0xffff))
		for range r.count(8) {
			m.Left = append(m.Left, r.left())
		}
	}
	if flags&flagOffsets != 0 {
		m.Offsets = Offsets(r.text())
	}
	return m
}

func (r *reader) left() (l LeftCall) {
	l.Offset = int(r.within(0xffff))
	l.Opcode = opcode.Op(r.byte())
	l.IsInterface = r.byte() != 0
	l.Owner, l.Name, l.Descriptor = r.text(), r.text(), r.text()
	l.Reason = r.reason()
	return l
}
