package cache

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// Entry is a woven class and its description. Entries are shared: neither an entry nor its
// bytes may be changed.
type Entry struct {
	Class    string   // internal name
	Original Original // the class file it was woven from
	Engine   string   // version of the engine that wove it
	Made     time.Time
	Woven    []byte // nil where no method could be woven
	Methods  []Method
	Calls    []Slot // methods whose calls were wrapped, with the ids used at those calls
}

// Method is the result of weaving one method. Its strings are copies.
type Method struct {
	weave.MethodResult          // its offsets are packed in Offsets
	Templates          []string // templates around it, outermost first; empty where only calls in it were wrapped
	HasID              bool     // woven code refers to the method by ID
	ID                 uint32
	Offsets            Offsets // from offsets in the original code to those in the woven code
}

// Slot is the id by which woven code refers to a method of another class.
type Slot struct {
	classfile.MethodRef
	ID uint32
}

// Identify returns the id of a method in this process: weave.MethodID, unless
// another method has the same.
type Identify func(classfile.MethodRef) int32

// Fits reports whether the ids in an entry are valid in this process. An entry that does
// not fit cannot be used.
func (e *Entry) Fits(identify Identify) bool {
	for i := range e.Methods {
		m := &e.Methods[i]
		if m.HasID && uint32(identify(classfile.MethodRef{Class: e.Class, Name: m.Name, Descriptor: m.Descriptor})) != m.ID {
			return false
		}
	}
	for _, s := range e.Calls {
		if uint32(identify(s.MethodRef)) != s.ID {
			return false
		}
	}
	return true
}

// Method returns the method with a name and descriptor, or nil if it was not selected.
func (e *Entry) Method(name, descriptor string) *Method {
	for i := range e.Methods {
		if m := &e.Methods[i]; m.Name == name && m.Descriptor == descriptor {
			return m
		}
	}
	return nil
}

// Weaving holds everything an entry is made of.
type Weaving struct {
	Class    string
	Original Original
	Engine   string
	Made     time.Time
	Result   *weave.Result

	// Templates returns the names of the templates around a method. Where it is nil, the
	// code of every woven method is taken to contain the method's id.
	Templates func(name, descriptor string) []string
	// Identify is the function that the weaver used; nil for weave.MethodID.
	Identify Identify
	// Calls are the methods whose calls were wrapped.
	Calls []Slot
}

// NewEntry returns an entry. It copies the strings of the result and shares its woven bytes.
func NewEntry(w Weaving) *Entry {
	e := &Entry{
		Class: strings.Clone(w.Class), Original: w.Original, Engine: w.Engine, Made: w.Made.Truncate(time.Millisecond),
		Woven: w.Result.Bytes, Calls: w.Calls,
	}
	identify := w.Identify
	if identify == nil {
		identify = weave.MethodID
	}
	for _, r := range w.Result.Methods {
		m := Method{MethodResult: r, Offsets: PackOffsets(r.Offsets)}
		m.MethodResult.Offsets = nil
		m.Name, m.Descriptor, m.Left = strings.Clone(r.Name), strings.Clone(r.Descriptor), slices.Clone(r.Left)
		for i := range m.Left {
			c := &m.Left[i].Call
			c.Owner, c.Name, c.Descriptor = strings.Clone(c.Owner), strings.Clone(c.Name), strings.Clone(c.Descriptor)
		}
		if w.Templates != nil {
			m.Templates = w.Templates(m.Name, m.Descriptor)
		}
		if m.HasID = m.Woven && (w.Templates == nil || len(m.Templates) > 0); m.HasID {
			m.ID = uint32(identify(classfile.MethodRef{Class: e.Class, Name: m.Name, Descriptor: m.Descriptor}))
		}
		e.Methods = append(e.Methods, m)
	}
	return e
}

// Result returns the result as the weaver returned it, without the offset maps, which
// remain packed in the methods of the entry.
func (e *Entry) Result() weave.Result {
	result := weave.Result{Bytes: e.Woven, Methods: make([]weave.MethodResult, len(e.Methods))}
	for i := range e.Methods {
		result.Methods[i] = e.Methods[i].MethodResult
	}
	return result
}

// Offsets is an offset map in packed form: for each run of instructions that moved
// together, three varints.
//
//	bytes of the original code between the previous run and this one
//	bytes of the woven code between them
//	length of the run
type Offsets string

// PackOffsets packs a map.
func PackOffsets(m code.OffsetMap) Offsets {
	packed := make([]byte, 0, 4*len(m))
	var old, now uint16 // modulo 2^16, so that maps in any order survive
	for _, s := range m {
		packed = binary.AppendUvarint(packed, uint64(s.Old-old))
		packed = binary.AppendUvarint(packed, uint64(s.New-now))
		packed = binary.AppendUvarint(packed, uint64(s.Size))
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return Offsets(packed)
}

var errOffsets = errors.New("the offset map is truncated or has an offset beyond 65535")

// Map unpacks the map.
func (o Offsets) Map() (code.OffsetMap, error) {
	if len(o) == 0 {
		return nil, nil
	}
	m := make(code.OffsetMap, 0, len(o)/3)
	var old, now uint16
	for r := NewReader(string(o)); r.rest != ""; {
		var n [3]uint16
		for i := range n {
			n[i] = uint16(r.Within(0xffff))
		}
		if r.failed != "" {
			return nil, errOffsets
		}
		s := code.Shift{Old: old + n[0], New: now + n[1], Size: n[2]}
		m = append(m, s)
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return m, nil
}
