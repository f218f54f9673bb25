package cct

import (
	"fmt"
	"strings"
)

// unnamed is a method of which nothing but its id is known.
func unnamed(id uint32) Method { return Method{Name: fmt.Sprintf("method #%d", id)} }

// String is the method's name for people: com.acme.Cart.total.
func (m Method) String() string {
	if m.Class == "" {
		return m.Name
	}
	return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name
}

// Known tells whether anything is known of the node's own time. If not, its Self
// is zero, and Self.High tells why: where it is zero too, calls were only counted
// and their time is with the nearest timed caller; else no call was drawn, and it
// could be as much as High.
func (n *Node) Known() bool { return n.Timed > 0 || n.Self.Nanos > 0 }

// Estimated tells whether the node's own time stands on some of its calls only.
func (n *Node) Estimated() bool { return n.Timed > 0 && n.Timed < n.Calls }

// Mean is the time of one call with all below it.
func (n *Node) Mean() Time { return n.Total.Over(float64(n.Calls)) }

// Over is a part of a time: that of one call, for the number of calls.
func (t Time) Over(parts float64) Time {
	if parts == 0 {
		return Time{}
	}
	return Time{t.Nanos / parts, t.Low / parts, t.High / parts}
}

// Plus adds times, and their bounds as if all errors went the same way.
func (t Time) Plus(other Time) Time {
	return Time{t.Nanos + other.Nanos, t.Low + other.Low, t.High + other.High}
}
