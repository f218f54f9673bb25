package context

// link says how near the next method of a sequence must be.
type link uint8

const (
	below  link = iota // ">>": somewhere below
	direct             // ">": called by this very frame
)

func (l link) String() string {
	if l == direct {
		return ">"
	}
	return ">>"
}

// element is one method pattern of a sequence.
type element struct {
	pattern pattern
	next    link   // to the next element, or to the method that is probed
	known   []bool // what the pattern matches, by method's number; nil where that was not found out ahead
}

func (e *element) matches(m *method) bool {
	if e.known != nil {
		return e.known[m.number]
	}
	return e.pattern.matches(m)
}

// frame is a call on a stack that is searched outwards. What is made never changes,
// so the stack of a moment is kept by keeping its innermost frame.
type frame struct {
	outer *frame
	// method is what runs in it; nil for frames that are nobody's: those of the JDK,
	// and the gap that a hand-off leaves between two threads.
	method *method
	form   int      // of a gap, how the task was handed over
	gap    bool     // left by a hand-off: outside of it is what was running where the task was made
	unborn bool     // a constructor that is not behind its super(...) yet, and is no element of anything
	tags   []tagged // set at this frame
}

// tagged is a tag's value at a frame; none of a null.
type tagged struct {
	tag   int
	value *string
}

// holds searches for a sequence outside a call. It tries whatever could be meant, in
// the words of the definition, with no thought of speed.
func holds(sequence []element, call *frame) bool {
	if len(sequence) == 0 {
		return true
	}
	last := sequence[len(sequence)-1]
	if last.next == direct {
		return endsAt(sequence, call.outer)
	}
	return endsOutside(sequence, call)
}

// endsOutside reports whether the sequence's last element can be any frame outside of
// this one.
func endsOutside(sequence []element, inner *frame) bool {
	for f := inner.outer; f != nil; f = f.outer {
		if endsAt(sequence, f) {
			return true
		}
	}
	return false
}

// endsAt reports whether the sequence's last element can be this frame.
func endsAt(sequence []element, f *frame) bool {
	last := len(sequence) - 1
	switch {
	case f == nil || f.method == nil || f.unborn || !sequence[last].matches(f.method):
		return false
	case last == 0:
		return true
	case sequence[last-1].next == direct:
		return endsAt(sequence[:last], f.outer)
	}
	return endsOutside(sequence[:last], f)
}

// seen is the value a call sees of a tag: that of the innermost frame, its own
// included, that set it. It is none where no frame did.
func seen(tag int, call *frame) (value *string, set bool) {
	for f := call; f != nil; f = f.outer {
		for _, t := range f.tags {
			if t.tag == tag {
				return t.value, true
			}
		}
	}
	return nil, false
}
