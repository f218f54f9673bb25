package cache

import (
	"time"

	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// An Entry is a class as it was woven, and what is known of that. Who has one must
// not change it, nor the bytes in it: several may have the same.
type Entry struct {
	Class    string   // internal name
	Original Original // the class file it was woven from
	Engine   string   // version of what wove it
	Made     time.Time
	Woven    []byte // nil where nothing of it could be woven
	Methods  []Method
	Calls    []Slot // methods whose calls were wrapped: the ids at those calls
}

// A Method is what became of one that was chosen.
type Method struct {
	Name, Descriptor string
	Templates        []string     // what stands around it, the outermost first; none where only calls in it were wrapped
	Woven            bool         // else Reason says why not
	Reason           weave.Reason // its Kind is empty where there is none
	HasID            bool         // woven code names it by
	ID               uint32       //   this
	Sites            int          // how many calls in it were wrapped
	Left             []LeftCall   // calls in it that were chosen and left alone
	Offsets          Offsets      // from the original's to the woven
}

// A LeftCall is a call that was chosen and left alone.
type LeftCall struct {
	Offset                  int // of the call instruction in the original
	Opcode                  opcode.Op
	Owner, Name, Descriptor string
	IsInterface             bool
	Reason                  weave.Reason
}

// A Slot is the id by which woven code names a method of another class.
type Slot struct {
	Class, Name, Descriptor string
	ID                      uint32
}

// An Identify gives the id by which a process names a method: weave.MethodID, unless
// two of its methods share one.
type Identify func(class, name, descriptor string) int32

// Fits reports whether the ids in an entry are those that a process uses. Where they
// are not the entry is of no use to it, and counts as missing.
func (e *Entry) Fits(identify Identify) bool {
	for i := range e.Methods {
		m := &e.Methods[i]
		if m.HasID && uint32(identify(e.Class, m.Name, m.Descriptor)) != m.ID {
			return false
		}
	}
	for _, s := range e.Calls {
		if uint32(identify(s.Class, s.Name, s.Descriptor)) != s.ID {
			return false
		}
	}
	return true
}

// Method finds what became of a method; nil where it was not chosen.
func (e *Entry) Method(name, descriptor string) *Method {
	for i := range e.Methods {
		if m := &e.Methods[i]; m.Name == name && m.Descriptor == descriptor {
			return m
		}
	}
	return nil
}
