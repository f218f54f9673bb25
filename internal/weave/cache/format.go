package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// The file of an entry (docs/formats/cache.md). Numbers of fixed size have their
// lowest byte first.
//
//	 0   8  magic, with the version of the format
//	 8   8  checksum of all that follows: CRC-32C, CRC-32
//	16  32  key
//	48   4  length of the description
//	52   4  length of the woven class
//	56      description, woven class
//
// Two CRCs of different polynomials are one of 64 bits: the processor has an
// instruction for each, and a cryptographic hash would take longer than all the rest.
const (
	magic      = "sonde\x00\xc5\x01"
	sumAt      = 8
	summedFrom = 16
	lengthsAt  = summedFrom + len(Key{})
	headerSize = lengthsAt + 8

	// mostBytes is far beyond any class file there is.
	mostBytes = 64 << 20
	mostFile  = int64(headerSize + mostBytes)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Flags of a method.
const (
	flagWoven = 1 << iota
	flagReason
	flagID
	flagTemplates // stand around it
	flagAlike     // the same as around the method before
	flagSites     // there are calls that were wrapped or left alone
	flagOffsets
)

// encode writes an entry as a file has it.
func encode(key Key, e *Entry) ([]byte, error) {
	w := writer{make([]byte, headerSize, headerSize+len(e.Woven)+256+64*len(e.Methods))}
	w.entry(e)
	described := len(w.b) - headerSize
	if described+len(e.Woven) > mostBytes {
		return nil, ErrTooLarge
	}
	w.b = append(w.b, e.Woven...)
	copy(w.b, magic)
	copy(w.b[summedFrom:], key[:])
	binary.LittleEndian.PutUint32(w.b[lengthsAt:], uint32(described))
	binary.LittleEndian.PutUint32(w.b[lengthsAt+4:], uint32(len(e.Woven)))
	binary.LittleEndian.PutUint64(w.b[sumAt:], checksum(w.b[summedFrom:]))
	return w.b, nil
}

func checksum(b []byte) uint64 {
	return uint64(crc32.Checksum(b, castagnoli)) | uint64(crc32.ChecksumIEEE(b))<<32
}

// writer writes the description.
type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) reason(r weave.Reason) {
	w.text(string(r.Kind))
	w.text(r.Detail)
}

func (w *writer) entry(e *Entry) {
	w.text(e.Class)
	w.number(uint64(e.Original.Size))
	w.b = append(w.b, e.Original.Digest[:]...)
	w.text(e.Engine)
	w.number(uint64(e.Made.UnixMilli()))
	w.number(uint64(len(e.Methods)))
	for i := range e.Methods {
		isAlike := i > 0 && slices.Equal(e.Methods[i].Templates, e.Methods[i-1].Templates)
		w.method(&e.Methods[i], isAlike)
	}
	w.number(uint64(len(e.Calls)))
	for _, s := range e.Calls {
		w.text(s.Class)
		w.text(s.Name)
		w.text(s.Descriptor)
		w.number(uint64(s.ID))
	}
}

func (w *writer) method(m *Method, isAlike bool) {
	flags := m.flags()
	if isAlike && flags&flagTemplates != 0 {
		flags ^= flagTemplates | flagAlike
	}
	w.b = append(w.b, flags)
	w.text(m.Name)
	w.text(m.Descriptor)
	if flags&flagReason != 0 {
		w.reason(m.Reason)
	}
	if flags&flagID != 0 {
		w.b = binary.LittleEndian.AppendUint32(w.b, m.ID)
	}
	if flags&flagTemplates != 0 {
		w.number(uint64(len(m.Templates)))
		for _, t := range m.Templates {
			w.text(t)
		}
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
	w.text(l.Owner)
	w.text(l.Name)
	w.text(l.Descriptor)
	w.reason(l.Reason)
}

// flags say what is written of a method; what most do not have takes no room.
func (m *Method) flags() (flags byte) {
	if m.Woven {
		flags |= flagWoven
	}
	if m.Reason != (weave.Reason{}) {
		flags |= flagReason
	}
	if m.HasID {
		flags |= flagID
	}
	if len(m.Templates) > 0 {
		flags |= flagTemplates
	}
	if m.Sites > 0 || len(m.Left) > 0 {
		flags |= flagSites
	}
	if len(m.Offsets) > 0 {
		flags |= flagOffsets
	}
	return flags
}

// decode reads the file of an entry, which the entry keeps. The error is an
// *EntryError without a path.
func decode(key Key, file []byte) (*Entry, error) {
	described, woven, err := open(key, file)
	if err != nil {
		return nil, err
	}
	// All texts are parts of the file, which nobody changes any more.
	r := reader{rest: unsafe.String(unsafe.SliceData(described), len(described))}
	made := new(entryRoom)
	r.room = made
	e := &made.Entry
	if len(woven) > 0 {
		e.Woven = woven
	}
	r.entry(e)
	if err := r.end(); err != nil {
		return nil, err
	}
	return e, nil
}

// open checks a file as a whole, and gives its two parts.
func open(key Key, file []byte) (described, woven []byte, err error) {
	damaged := func(format string, args ...any) error {
		return &EntryError{Kind: ErrDamaged, Detail: fmt.Sprintf(format, args...)}
	}
	const version = len(magic) - 1
	switch {
	case len(file) < headerSize:
		return nil, nil, damaged("it has %d bytes, fewer than any", len(file))
	case string(file[:version]) != magic[:version]:
		return nil, nil, damaged("it does not begin as entries do")
	case binary.LittleEndian.Uint64(file[sumAt:]) != checksum(file[summedFrom:]):
		return nil, nil, damaged("its checksum is wrong")
	case file[version] != magic[version]:
		return nil, nil, &EntryError{Kind: ErrOther, Detail: fmt.Sprintf("it is %d, this one reads %d", file[version], magic[version])}
	case Key(file[summedFrom:lengthsAt]) != key:
		return nil, nil, damaged("it is the entry of another key, %s", Key(file[summedFrom:lengthsAt]))
	}
	a := int64(binary.LittleEndian.Uint32(file[lengthsAt:]))
	b := int64(binary.LittleEndian.Uint32(file[lengthsAt+4:]))
	body := file[headerSize:]
	if a+b != int64(len(body)) {
		return nil, nil, damaged("its parts have %d bytes, it has %d", a+b, len(body))
	}
	return body[:a:a], body[a:len(body):len(body)], nil
}

// keyIn is the key that a file says it is the entry of; false where it is too short.
func keyIn(file []byte) (Key, bool) {
	if len(file) < headerSize {
		return Key{}, false
	}
	return Key(file[summedFrom:]), true
}

// reader reads the description. After the first thing that is wrong everything is
// zero, and nothing is left.
type reader struct {
	rest   string
	failed string
	room   *entryRoom // may be nil
}

// entryRoom is an entry with what the smallest have, so that it is one piece of memory.
type entryRoom struct {
	Entry
	methods      [1]Method
	templates    [1]string
	hasTemplates bool
}

func (r *reader) fail(what string) {
	if r.failed == "" {
		r.failed = what
	}
	r.rest = ""
}

// take gives the next bytes.
func (r *reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.fail("it ends in the middle")
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

func (r *reader) number() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // nearly all are small
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.fail("a number without an end")
	return 0
}

// within is a number that is at most some other.
func (r *reader) within(most uint64) uint64 {
	n := r.number()
	if n > most {
		r.fail("a number that is too large")
		return 0
	}
	return n
}

// many is how many things follow, of so many bytes at least. Of nothing has a class
// file more than it can count.
func (r *reader) many(size int) int {
	return int(r.within(uint64(min(len(r.rest)/size, 0xffff))))
}

func (r *reader) text() string { return r.take(r.number()) }

func (r *reader) reason() weave.Reason {
	return weave.Reason{Kind: weave.ReasonKind(r.text()), Detail: r.text()}
}

const most32 = 1<<32 - 1

func (r *reader) entry(e *Entry) {
	e.Class = r.text()
	e.Original.Size = int(r.within(most32))
	copy(e.Original.Digest[:], r.take(sha256.Size))
	e.Engine = r.text()
	e.Made = time.UnixMilli(int64(r.within(1 << 62)))
	if n := r.many(3); n > 0 {
		if r.room != nil && n <= len(r.room.methods) {
			e.Methods = r.room.methods[:n:n]
		} else {
			e.Methods = make([]Method, n)
		}
		for i := range e.Methods {
			var before []string
			if i > 0 {
				before = e.Methods[i-1].Templates
			}
			r.method(&e.Methods[i], before)
		}
	}
	if n := r.many(4); n > 0 {
		e.Calls = make([]Slot, n)
		for i := range e.Calls {
			e.Calls[i] = Slot{r.text(), r.text(), r.text(), uint32(r.within(most32))}
		}
	}
}

// method reads one; before is what stands around the one before it.
func (r *reader) method(m *Method, before []string) {
	flags := r.byte()
	m.Name, m.Descriptor = r.text(), r.text()
	m.Woven = flags&flagWoven != 0
	if flags&flagReason != 0 {
		m.Reason = r.reason()
	}
	if m.HasID = flags&flagID != 0; m.HasID {
		m.ID = r.fixed32()
	}
	if flags&flagAlike != 0 {
		m.Templates = before
	}
	if flags&flagTemplates != 0 {
		n := r.many(1)
		if r.room != nil && !r.room.hasTemplates && n <= len(r.room.templates) {
			m.Templates, r.room.hasTemplates = r.room.templates[:0:n], true
		}
		for range n {
			m.Templates = append(m.Templates, r.text())
		}
	}
	if flags&flagSites != 0 {
		m.Sites = int(r.within(0xffff))
		if n := r.many(8); n > 0 {
			m.Left = make([]LeftCall, n)
		}
		for i := range m.Left {
			r.left(&m.Left[i])
		}
	}
	if flags&flagOffsets != 0 {
		m.Offsets = Offsets(r.text())
	}
}

func (r *reader) left(l *LeftCall) {
	l.Offset = int(r.within(0xffff))
	l.Opcode = opcode.Op(r.byte())
	l.IsInterface = r.byte() != 0
	l.Owner, l.Name, l.Descriptor = r.text(), r.text(), r.text()
	l.Reason = r.reason()
}

// AppendDescription appends all that is known of an entry but its woven class, as files
// of entries have it, for those that keep entries in files of another kind.
func (e *Entry) AppendDescription(dst []byte) []byte {
	w := writer{dst}
	w.entry(e)
	return w.b
}

// ReadDescription reads what AppendDescription wrote, all of it. The error is an
// *EntryError without a path.
func ReadDescription(text string) (*Entry, error) {
	r := reader{rest: text}
	e := new(Entry)
	r.entry(e)
	if err := r.end(); err != nil {
		return nil, err
	}
	return e, nil
}

// end is the error of a description that was read.
func (r *reader) end() error {
	if len(r.rest) > 0 {
		r.fail("there is something behind its end")
	}
	if r.failed != "" {
		return &EntryError{Kind: ErrDamaged, Detail: "its description: " + r.failed}
	}
	return nil
}
