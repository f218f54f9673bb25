package context

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The kinds of events, as testdata/support/Log.java writes them.
const (
	eventExit = iota
	eventEnter
	eventMade
	eventBegin
	eventEnd
	eventCallback
	eventBorn
)

// errLog is what a log has that no program can have done.
var errLog = errors.New("the log makes no sense")

// call is one that the reference judges: a frame with what it was given.
type call struct {
	*frame
	facts
}

// interpreter replays logs.
type interpreter struct {
	methods []*method    // by number
	tags    [][]tagPoint // by method's number
	judge   func(call)
	tasks   map[int32]*frame // what was running where a task was made
}

// tagPoint is where a tag gets its value.
type tagPoint struct {
	tag   int
	value accessor
}

// thread is the log of one, as far as it was replayed.
type thread struct {
	words []int32
	top   *frame
	aside []*frame // what was running where tasks began, outermost first
}

// readLog splits a file into the logs of its threads.
func readLog(data []byte) ([]*thread, error) {
	next := func() (int32, bool) {
		if len(data) < 4 {
			return 0, false
		}
		word := int32(binary.BigEndian.Uint32(data))
		data = data[4:]
		return word, true
	}
	count, ok := next()
	threads := make([]*thread, 0, max(0, count))
	for range count {
		var length int32
		if length, ok = next(); !ok || int(length) > len(data)/4 {
			return nil, fmt.Errorf("%w: it is cut off", errLog)
		}
		t := &thread{words: make([]int32, length)}
		for i := range t.words {
			t.words[i], _ = next()
		}
		threads = append(threads, t)
	}
	if !ok || len(data) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errLog, len(data))
	}
	return threads, nil
}

// replay judges every call of all threads. A thread that begins a task which is not
// made yet has to wait for the others.
func (in *interpreter) replay(threads []*thread) error {
	in.tasks = make(map[int32]*frame)
	for left := len(threads); left > 0; {
		progress := false
		left = 0
		for _, t := range threads {
			before := len(t.words)
			if err := in.advance(t); err != nil {
				return err
			}
			progress = progress || len(t.words) < before
			if len(t.words) > 0 {
				left++
			} else if t.top != nil || len(t.aside) > 0 {
				return fmt.Errorf("%w: it ends inside %s", errLog, trail(t.top))
			}
		}
		if left > 0 && !progress {
			return fmt.Errorf("%w: tasks are begun that nobody made", errLog)
		}
	}
	return nil
}

// advance replays a thread as far as it goes.
func (in *interpreter) advance(t *thread) error {
	for len(t.words) > 0 {
		word := t.words[0]
		rest := t.words[1:]
		argument := word >> 3
		switch word & 7 {
		case eventEnter:
			if len(rest) < 2 || int(argument&1023) >= len(in.methods) {
				return fmt.Errorf("%w: a call of method %d", errLog, argument&1023)
			}
			in.enter(t, word, rest[0], rest[1])
			rest = rest[2:]
		case eventExit:
			for range argument {
				if t.top == nil || t.top.gap {
					return fmt.Errorf("%w: more frames are left than were entered", errLog)
				}
				t.top = t.top.outer
			}
		case eventMade:
			in.tasks[argument] = t.top
		case eventBegin:
			made, known := in.tasks[argument]
			if !known {
				return nil
			}
			t.aside = append(t.aside, t.top)
			t.top = &frame{outer: made, gap: true, form: int(argument & 31)}
		case eventEnd:
			if t.top == nil || !t.top.gap || len(t.aside) == 0 {
				return fmt.Errorf("%w: a task ends inside %s", errLog, trail(t.top))
			}
			t.top, t.aside = t.aside[len(t.aside)-1], t.aside[:len(t.aside)-1]
		case eventCallback:
			t.top = &frame{outer: t.top}
		case eventBorn:
			in.born(t)
		}
		t.words = rest
	}
	return nil
}

func (in *interpreter) enter(t *thread, word, number, weight int32) {
	c := call{
		frame: &frame{outer: t.top, method: in.methods[word>>3&1023]},
		facts: facts{
			number: int(number), amount: int(word >> 22 & 127), weight: int(weight),
			order: orderAt(int(word >> 13 & 31)), text: textAt(int(word >> 18 & 15)),
		},
	}
	c.unborn = c.method.isConstructor()
	for _, p := range in.tags[c.method.number] {
		v := p.value.read(c.facts)
		set := tagged{tag: p.tag}
		if !v.missing {
			written := v.text
			if !v.isText {
				written = v.literal()
			}
			set.value = &written
		}
		c.tags = append(c.tags, set)
	}
	t.top = c.frame
	in.judge(c)
}

// born has a constructor count. What was made before keeps the frame as it was.
func (in *interpreter) born(t *thread) {
	now := *t.top
	now.unborn = false
	t.top = &now
}

// trail is a stack for people, outermost frame first.
func trail(f *frame) string {
	var names []string
	for ; f != nil; f = f.outer {
		switch {
		case f.gap:
			names = append(names, "("+forms[f.form].name+")")
		case f.method == nil:
			names = append(names, "…")
		default:
			names = append(names, f.method.String())
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

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
