package context

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// prefixes is the state that Sonde's hooks keep of a thread's stack: which prefixes of
// sequences are matched somewhere on it, and which by the innermost anchor.
type prefixes struct{ somewhere, innermost uint32 }

// layout has the elements of all sequences one after the other, a bit each.
type layout struct {
	elements []element
	first    uint32 // bits of elements that begin a sequence
	ends     []int  // of each sequence, the position of its last element
}

func lay(sequences [][]element) layout {
	var l layout
	for _, s := range sequences {
		l.first |= 1 << len(l.elements)
		l.elements = append(l.elements, s...)
		l.ends = append(l.ends, len(l.elements)-1)
	}
	return l
}

// matched are the positions whose pattern matches a method.
func (l layout) matched(m *method) uint32 {
	var mask uint32
	for p, e := range l.elements {
		if m != nil && e.pattern.matches(m) {
			mask |= 1 << p
		}
	}
	return mask
}

// reached are the positions that follow an element by a link.
func (l layout) reached(by link) uint32 {
	var mask uint32
	for p := 1; p < len(l.elements); p++ {
		if l.first&(1<<p) == 0 && l.elements[p-1].next == by {
			mask |= 1 << p
		}
	}
	return mask
}

// enter is what an anchor's hook does to the state, which is that of before.
func (l layout) enter(was prefixes, m, caller *method) prefixes {
	own := l.matched(m)
	if own == 0 {
		return was // no anchor, no hook
	}
	hit := own & l.first
	hit |= was.somewhere << 1 & own & l.reached(below)
	if candidates := was.innermost << 1 & own & l.reached(direct); candidates != 0 {
		hit |= candidates & (l.matched(caller) << 1)
	}
	return prefixes{was.somewhere | hit, hit}
}

// holds is what a spot of a sequence asks of the state before its own method.
func (l layout) holds(sequence int, now prefixes, caller *method) bool {
	bit := uint32(1) << l.ends[sequence]
	if l.elements[l.ends[sequence]].next == below {
		return now.somewhere&bit != 0
	}
	return now.innermost&bit != 0 && l.matched(caller)&bit != 0
}

// TestTheFormulaIsTheDefinition: on random stacks, with hand-offs among them, the
// bits decide as the search does.
func TestTheFormulaIsTheDefinition(t *testing.T) {
	const rounds, steps = 200, 300
	judged, held := 0, 0
	for seed := range uint64(rounds) {
		w := newWalk(seed)
		for range steps {
			w.step()
			for s, sequence := range w.sequences {
				call := &frame{outer: w.top, method: w.random()}
				want := holds(sequence, call)
				judged++
				if want {
					held++
				}
				if got := w.layout.holds(s, w.state, w.caller()); got != want {
					t.Fatalf("seed %d: the formula says %t of %v, the definition %t\nstack %s", seed, got, sequence, want, trail(w.top))
				}
			}
		}
	}
	if held*20 < judged || held*20 > judged*19 {
		t.Errorf("of %d questions %d have the answer yes: this says too little", judged, held)
	}
}

// walk is a thread that enters and leaves methods at random, and its hand-offs.
type walk struct {
	*rand.Rand
	methods   []*method
	sequences [][]element
	layout    layout
	top       *frame
	state     prefixes
	leave     []func() // how to get out of each frame
	made      []task
}

type task struct {
	by        *frame
	somewhere uint32
}

func newWalk(seed uint64) *walk {
	w := &walk{Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 4 + w.IntN(4) {
		w.methods = append(w.methods, &method{number: i, class: "C", name: fmt.Sprintf("m%c", 'a'+i)})
	}
	for room := 28; room >= 4; {
		var sequence []element
		for range 1 + w.IntN(4) {
			p := pattern{"C", w.random().name}
			if w.IntN(6) == 0 {
				p.method = "*"
			}
			sequence = append(sequence, element{pattern: p, next: link(w.IntN(2))})
		}
		room -= len(sequence)
		w.sequences = append(w.sequences, sequence)
	}
	w.layout = lay(w.sequences)
	return w
}

func (w *walk) random() *method { return w.methods[w.IntN(len(w.methods))] }

// caller is the method of the innermost frame.
func (w *walk) caller() *method {
	if w.top == nil {
		return nil
	}
	return w.top.method
}

func (w *walk) step() {
	switch n := w.IntN(20); {
	case len(w.leave) > 12 || n < 7 && len(w.leave) > 0:
		w.leave[len(w.leave)-1]()
		w.leave = w.leave[:len(w.leave)-1]
	case n < 16:
		m := w.random()
		w.within(w.layout.enter(w.state, m, w.caller()), &frame{outer: w.top, method: m})
	case n < 17: // a frame of the JDK
		w.within(w.state, &frame{outer: w.top})
	case n < 18:
		w.made = append(w.made, task{w.top, w.state.somewhere})
	case len(w.made) > 0: // what runs already is put aside
		k := w.made[w.IntN(len(w.made))]
		w.within(prefixes{somewhere: k.somewhere}, &frame{outer: k.by})
	}
}

// within enters a frame, and remembers how to get out of it.
func (w *walk) within(state prefixes, f *frame) {
	was, top := w.state, w.top
	w.state, w.top = state, f
	w.leave = append(w.leave, func() { w.state, w.top = was, top })
}
