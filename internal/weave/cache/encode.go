package cache

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

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
