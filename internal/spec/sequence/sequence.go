package sequence

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Link says where the next call is, seen from an element.
type Link uint8

// The links.
const (
	Below    Link = iota // >>: somewhere below it
	Directly             // >: it makes the call itself
)

func (l Link) String() string {
	if l == Directly {
		return ">"
	}
	return ">>"
}

// Element is one method of a sequence.
type Element struct {
	Pattern *pattern.Pattern
	// Link leads from the element before this one; the first has none, so Below.
	Link Link
}

// Sequence is methods that lie on a thread's stack in this order, outer to inner.
type Sequence struct {
	Elements []Element
	Last     Link // leads from the last element to the probed method
}

// String is the sequence as Parse reads it, with one blank around links. The last
// link is written where it is not what goes without saying.
func (s *Sequence) String() string {
	var text strings.Builder
	for i, e := range s.Elements {
		if i > 0 {
			text.WriteString(" " + e.Link.String() + " ")
		}
		text.WriteString(e.Pattern.String())
	}
	if s.Last == Directly {
		text.WriteString(" >")
	}
	return text.String()
}
