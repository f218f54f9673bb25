package context

import (
	"encoding/binary"
	"errors"
	"fmt"
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
