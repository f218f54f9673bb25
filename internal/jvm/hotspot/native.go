package hotspot

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// Libraries are the native libraries of a process.
type Libraries interface {
	// Exported returns the address of a variable of libjvm.so in the process.
	Exported(name string) (address uint64, ok bool)
	// Find returns the library that has code at an address; nil if none is known.
	Find(pc uint64) *Mapped
	// Search is Find that also looks for a library that was loaded just now.
	Search(pc uint64) *Mapped
}

// A Mapped is a library in the memory of a process.
type Mapped struct {
	Name    string // of its file
	Library *unwind.Library
	Bias    uint64 // what its addresses are in the process, minus what they are in its tables
}

// libjvm is the file of HotSpot.
const libjvm = "libjvm.so"

// natives names the native functions.
type natives struct {
	libraries Libraries
	names     map[jfr.Method]*jfr.Method // samples share their methods
	size      int                        // bytes of the names
}

func (n *natives) method(m *Mapped, pc uint64) *jfr.Method {
	named := jfr.Method{Class: m.Name, Name: m.Library.Symbol(pc - m.Bias)}
	known := n.names[named]
	if known == nil {
		if n.names == nil || len(n.names) > mostMethods || n.size > mostBytes {
			n.names, n.size = map[jfr.Method]*jfr.Method{}, 0
		}
		known = &named
		n.size += len(named.Name)
		n.names[named] = known
	}
	return known
}

// native leaves a function of a native library.
func (w *walk) native(pc uint64) (bool, End) {
	at := pc
	if !w.exact {
		at-- // a call may be the last instruction of a function
	}
	m := w.natives.libraries.Search(at)
	if m == nil {
		return false, UnknownCode
	}
	kind := jfr.Library
	if m.Name == libjvm {
		kind = jfr.VM
	}
	w.frames = append(w.frames, jfr.Frame{Method: w.natives.method(m, at), BCI: -1, Kind: kind})
	top := w.exact
	var deepest uint64
	signal, err := m.Library.Step(at-m.Bias, &w.regs, func(address uint64) (uint64, bool) {
		deepest = max(deepest, address)
		return w.word(address)
	})
	w.exact = signal
	switch {
	case err == nil:
		w.top = false
		return true, UnknownCode
	case errors.Is(err, unwind.ErrOutermost):
		return false, Complete
	case errors.Is(err, unwind.ErrUnknown) && top && w.machine.link < 0:
		// Functions written in assembly make no frame.
		to, _ := w.word(w.sp())
		if w.isAfterCall(to, nil) {
			return w.move(to, w.sp()+8, w.fp()), UnknownCode
		}
	}
	return false, w.outside(deepest)
}
