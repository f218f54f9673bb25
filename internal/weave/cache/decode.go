package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
