package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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
	w := Writer{dst}
	w.entry(e)
	return w.Bytes
}

// ReadDescription reads a description, which must be the whole text. Errors are
// *EntryError without a path.
func ReadDescription(text string) (*Entry, error) {
	r := NewReader(text)
	e := r.entry()
	if reason := r.End(); reason != "" {
		return nil, damaged("its description: %s", reason)
	}
	return e, nil
}

// Writer writes a description.
type Writer struct{ Bytes []byte }

// Number writes a number.
func (w *Writer) Number(n uint64) { w.Bytes = binary.AppendUvarint(w.Bytes, n) }

// Text writes texts, each with its length.
func (w *Writer) Text(all ...string) {
	for _, s := range all {
		w.Number(uint64(len(s)))
		w.Bytes = append(w.Bytes, s...)
	}
}

func (w *Writer) reason(err error) {
	var r *weave.Reason
	if !errors.As(err, &r) {
		r = &weave.Reason{Kind: weave.Malformed, Detail: err.Error()}
	}
	w.Text(string(r.Kind), r.Detail)
}

func (w *Writer) entry(e *Entry) {
	w.Text(e.Class)
	w.Number(uint64(e.Original.Size))
	w.Bytes = append(w.Bytes, e.Original.Digest[:]...)
	w.Text(e.Engine)
	w.Number(uint64(e.Made.UnixMilli()))
	w.Number(uint64(len(e.Methods)))
	for i := range e.Methods {
		same := i > 0 && slices.Equal(e.Methods[i].Templates, e.Methods[i-1].Templates)
		w.method(&e.Methods[i], same)
	}
	w.Number(uint64(len(e.Calls)))
	for _, s := range e.Calls {
		w.Text(s.Class, s.Name, s.Descriptor)
		w.Number(uint64(s.ID))
	}
}

func (w *Writer) method(m *Method, sameTemplates bool) {
	flags := m.flags()
	if sameTemplates && flags&flagTemplates != 0 {
		flags ^= flagTemplates | flagSameTemplates
	}
	w.Bytes = append(w.Bytes, flags)
	w.Text(m.Name, m.Descriptor)
	if flags&flagReason != 0 {
		w.reason(m.Reason)
	}
	if flags&flagID != 0 {
		w.Bytes = binary.LittleEndian.AppendUint32(w.Bytes, m.ID)
	}
	if flags&flagTemplates != 0 {
		w.Number(uint64(len(m.Templates)))
		w.Text(m.Templates...)
	}
	if flags&flagSites != 0 {
		w.Number(uint64(m.Sites))
		w.Number(uint64(len(m.Left)))
		for i := range m.Left {
			w.left(&m.Left[i])
		}
	}
	if flags&flagOffsets != 0 {
		w.Text(string(m.Offsets))
	}
}

func (w *Writer) left(l *weave.LeftSite) {
	w.Number(uint64(l.Offset))
	isInterface := byte(0)
	if l.Call.IsInterface {
		isInterface = 1
	}
	w.Bytes = append(w.Bytes, byte(l.Call.Opcode), isInterface)
	w.Text(l.Call.Owner, l.Call.Name, l.Call.Descriptor)
	w.reason(l.Reason)
}

// flags returns which parts of a method are written.
func (m *Method) flags() (flags byte) {
	for flag, isSet := range map[byte]bool{
		flagWoven:     m.Woven,
		flagReason:    m.Reason != nil,
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

// Reader reads a description. After the first error everything it returns is zero and
// nothing is left to read.
type Reader struct {
	rest   string
	failed string
}

// NewReader returns a reader of a text.
func NewReader(text string) *Reader { return &Reader{rest: text} }

// End returns the first error, which may be that the text does not end here; "" for none.
func (r *Reader) End() string {
	if r.rest != "" {
		r.Fail("it is followed by other data")
	}
	return r.failed
}

// AtEnd reports whether everything was read, or nothing more can be read after an error.
func (r *Reader) AtEnd() bool { return r.rest == "" }

// Fail records an error.
func (r *Reader) Fail(reason string) {
	if r.failed == "" {
		r.failed = reason
	}
	r.rest = ""
}

func (r *Reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.Fail("it is truncated")
		return ""
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *Reader) byte() byte {
	if b := r.take(1); b != "" {
		return b[0]
	}
	return 0
}

func (r *Reader) fixed32() (n uint32) {
	for i, b := range []byte(r.take(4)) {
		n |= uint32(b) << (8 * i)
	}
	return n
}

// Number reads a number.
func (r *Reader) Number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.Fail("a number does not end")
	return 0
}

// Within returns a number that must not exceed max.
func (r *Reader) Within(max uint64) uint64 {
	n := r.Number()
	if n > max {
		r.Fail("a number is too large")
		return 0
	}
	return n
}

// Count returns the length of a list whose elements have at least size bytes.
func (r *Reader) Count(size int) int { return int(r.Within(uint64(len(r.rest) / size))) }

// Text reads a text.
func (r *Reader) Text() string { return r.take(r.Number()) }

func (r *Reader) reason() *weave.Reason {
	return &weave.Reason{Kind: weave.ReasonKind(r.Text()), Detail: r.Text()}
}

const max32 = 1<<32 - 1

func (r *Reader) entry() *Entry {
	e := &Entry{Class: r.Text()}
	e.Original.Size = int(r.Within(max32))
	copy(e.Original.Digest[:], r.take(sha256.Size))
	e.Engine = r.Text()
	e.Made = time.UnixMilli(int64(r.Within(1 << 62)))
	var templates []string
	for range r.Count(3) {
		m := r.method(templates)
		templates = m.Templates
		e.Methods = append(e.Methods, m)
	}
	for range r.Count(4) {
		e.Calls = append(e.Calls, Slot{classfile.MethodRef{Class: r.Text(), Name: r.Text(), Descriptor: r.Text()}, uint32(r.Within(max32))})
	}
	return e
}

// method reads a method; previous are the templates of the one before it.
func (r *Reader) method(previous []string) (m Method) {
	flags := r.byte()
	m.Name, m.Descriptor = r.Text(), r.Text()
	m.Woven = flags&flagWoven != 0
	if flags&flagReason != 0 {
		m.Reason = r.reason()
	} else if !m.Woven {
		r.Fail("a method that is not woven has no reason")
	}
	if m.HasID = flags&flagID != 0; m.HasID {
		m.ID = r.fixed32()
	}
	if flags&flagSameTemplates != 0 {
		m.Templates = previous
	}
	if flags&flagTemplates != 0 {
		m.Templates = nil
		for range r.Count(1) {
			m.Templates = append(m.Templates, r.Text())
		}
	}
	if flags&flagSites != 0 {
		m.Sites = int(r.Within(0xffff))
		for range r.Count(8) {
			m.Left = append(m.Left, r.left())
		}
	}
	if flags&flagOffsets != 0 {
		m.Offsets = Offsets(r.Text())
	}
	return m
}

func (r *Reader) left() (l weave.LeftSite) {
	l.Offset = int(r.Within(0xffff))
	l.Call = weave.Call{
		Opcode: opcode.Op(r.byte()), IsInterface: r.byte() != 0, Owner: r.Text(), Name: r.Text(), Descriptor: r.Text(),
	}
	l.Reason = r.reason()
	return l
}
