package calltree

import (
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// A Hooked is a method in which somebody has a hook.
type Hooked struct {
	Calls  uint64 // that it has counted
	Holder string // who has put it in; "" where it was us

	LowerBound bool // it may have missed calls
}

// Mark notes on a tree what hooks have seen. With ours, a method that was not called is
// never called, unless the hook may have missed calls; with another's it is instrumented.
func (t *Tree) Mark(hooked map[callgraph.Method]Hooked) {
	t.Each(func(n *Node) {
		h, is := hooked[n.Method]
		if !is {
			return
		}
		n.Calls, n.LowerBound, n.Holder, n.Reason = h.Calls, h.LowerBound, h.Holder, ""
		switch {
		case h.Calls > 0:
			n.State = Called
		case h.Holder == "" && !h.LowerBound:
			n.State = NeverCalled
		default:
			n.State = Instrumented
		}
	})
}

// Refuse notes why methods have no hook though one was asked for: by method, or by
// class with an empty name and descriptor.
func (t *Tree) Refuse(reasons map[callgraph.Method]string) {
	t.Each(func(n *Node) {
		if n.State != NotWatched {
			return
		}
		reason := reasons[n.Method]
		if reason == "" {
			reason = reasons[callgraph.Method{Class: n.Class}]
		}
		if reason != "" {
			n.State, n.Reason = Cannot, reason
		}
	})
}

// Watchable are the methods of a tree that may have hooks, each once, the nearest to a
// root first, at most a number of them; more is how many there are beyond. Those of the
// JDK are among them only if it is followed: a hook there slows down everybody.
func (t *Tree) Watchable(most int, jdk bool) (methods []callgraph.Method, more int) {
	met := make(map[callgraph.Method]bool)
	t.Each(func(n *Node) {
		if n.State != NotWatched || n.JDK && !jdk && n.Level > 0 || met[n.Method] {
			return
		}
		met[n.Method] = true
		if len(methods) < most {
			methods = append(methods, n.Method)
		} else {
			more++
		}
	})
	return slices.Clip(methods), more
}
