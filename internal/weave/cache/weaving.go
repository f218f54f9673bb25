package cache

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave"
)

// A Weaving is all that an entry is made of.
type Weaving struct {
	Class    string
	Original Original
	Engine   string
	Made     time.Time
	Result   *weave.Result

	// Templates names what was put around a method. Where it is nil each woven method
	// counts as having its id in its code.
	Templates func(name, descriptor string) []string
	// Identify is what the weaver had; nil for weave.MethodID.
	Identify Identify
	// Calls are the methods around whose calls hooks were put.
	Calls []Slot
}

// NewEntry makes an entry. It keeps no text of the result, and its woven bytes as they
// are.
func NewEntry(w Weaving) *Entry {
	e := &Entry{
		Class: strings.Clone(w.Class), Original: w.Original, Engine: w.Engine, Made: w.Made.Truncate(time.Millisecond),
		Woven: w.Result.Bytes, Calls: w.Calls,
	}
	identify := w.Identify
	if identify == nil {
		identify = weave.MethodID
	}
	if len(w.Result.Methods) > 0 {
		e.Methods = make([]Method, len(w.Result.Methods))
	}
	for i := range w.Result.Methods {
		r := &w.Result.Methods[i]
		m := &e.Methods[i]
		*m = Method{
			Name: strings.Clone(r.Name), Descriptor: strings.Clone(r.Descriptor), Woven: r.Woven, Reason: reasonOf(r.Reason),
			Sites: r.Sites, Offsets: PackOffsets(r.Offsets),
		}
		if w.Templates != nil {
			m.Templates = w.Templates(m.Name, m.Descriptor)
		}
		if m.HasID = m.Woven && (w.Templates == nil || len(m.Templates) > 0); m.HasID {
			m.ID = uint32(identify(e.Class, m.Name, m.Descriptor))
		}
		for _, l := range r.Left {
			m.Left = append(m.Left, leftCall(l))
		}
	}
	return e
}

func leftCall(l weave.LeftSite) LeftCall {
	return LeftCall{
		Offset: l.Offset, Opcode: l.Call.Opcode, Owner: strings.Clone(l.Call.Owner), Name: strings.Clone(l.Call.Name),
		Descriptor: strings.Clone(l.Call.Descriptor), IsInterface: l.Call.IsInterface, Reason: reasonOf(l.Reason),
	}
}

// reasonOf is an error of the weaver, which has no others than these.
func reasonOf(err error) weave.Reason {
	var reason *weave.Reason
	switch {
	case err == nil:
		return weave.Reason{}
	case errors.As(err, &reason):
		return *reason
	}
	return weave.Reason{Kind: weave.Malformed, Detail: err.Error()}
}

// Result is what the weaver gave, but for the offset maps: those are in the methods of
// the entry, packed. The list of methods is in the memory of the one given, if that has
// room.
func (e *Entry) Result(methods []weave.MethodResult) weave.Result {
	result := weave.Result{Bytes: e.Woven, Methods: slices.Grow(methods[:0], len(e.Methods))}
	for i := range e.Methods {
		m := &e.Methods[i]
		r := weave.MethodResult{Name: m.Name, Descriptor: m.Descriptor, Woven: m.Woven, Sites: m.Sites}
		if m.Reason != (weave.Reason{}) {
			r.Reason = &m.Reason
		}
		for j := range m.Left {
			l := &m.Left[j]
			r.Left = append(r.Left, weave.LeftSite{
				Offset: l.Offset, Reason: &l.Reason,
				Call: weave.Call{Opcode: l.Opcode, Owner: l.Owner, Name: l.Name, Descriptor: l.Descriptor, IsInterface: l.IsInterface},
			})
		}
		result.Methods = append(result.Methods, r)
	}
	return result
}
