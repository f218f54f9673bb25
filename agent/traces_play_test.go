package agent_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
)

// A play has actors, threads, take random steps that real calls could take.
type play struct {
	random *rand.Rand
	actors []*actor
	named  map[string]string // transactions, by the numbers steps give them
	probes []string
	// ask, where it is not nil, takes each step and says what became of it: then there
	// may be no room.
	ask func(actor, step string) string
}

type actor struct {
	name   string
	thread *tracedThread
	calls  []*tracedFrame // with nil for those without a frame
	joins  []int          // how many calls there were at each
}

// newPlay has the first actor open the first ring, and so on.
func newPlay(random *rand.Rand, names []string) *play {
	p := &play{random: random, named: make(map[string]string)}
	for _, name := range slices.Sorted(maps.Keys(traced)) {
		if name != "some" { // which is left to chance
			p.probes = append(p.probes, name)
		}
	}
	for i, name := range names {
		thread := &tracedThread{ring: string(rune('A' + i)), counted: make(map[string]uint64)}
		p.actors = append(p.actors, &actor{name: name, thread: thread})
	}
	return p
}

// next gives steps of one actor, and what is to become of them.
func (p *play) next() (name string, steps, want []string) {
	a := p.actors[p.random.Intn(len(p.actors))]
	for _, first := range p.actors {
		if first.thread.opened == 0 {
			a = first // rings are made in the order of actors
			p.enter(a, "root", &steps, &want)
			break
		}
	}
	for range 25 {
		p.step(a, &steps, &want)
	}
	return a.name, steps, want
}

func (p *play) enter(a *actor, name string, steps, want *[]string) {
	became, frame := a.thread.enter(name)
	*steps, *want = append(*steps, "e"+name), append(*want, became)
	if p.ask != nil {
		p.ask(a.name, "e"+name)
		if frame != nil && frame.traced && p.ask(a.name, "q") == "false" {
			frame = a.thread.drop(frame)
		}
	}
	a.calls = append(a.calls, frame)
}

// floor is how many calls must stay: those outside the newest join.
func (a *actor) floor() int {
	if len(a.joins) == 0 {
		return 0
	}
	return a.joins[len(a.joins)-1]
}

func (p *play) step(a *actor, steps, want *[]string) {
	do := func(step, became string) {
		*steps, *want = append(*steps, step), append(*want, became)
		if p.ask != nil {
			p.ask(a.name, step)
		}
	}
	switch choice := p.random.Intn(100); {
	case choice < 40 && len(a.calls) < 12:
		p.enter(a, p.probes[p.random.Intn(len(p.probes))], steps, want)
	case choice < 75 && len(a.calls) > a.floor():
		do(p.end(a), "-")
	case choice < 79 && len(a.calls) > a.floor():
		a.calls = a.calls[:len(a.calls)-1]
		do("g", "-")
	case choice < 88 && len(a.calls) > a.floor() && p.ask == nil: // of values nobody hears whether there was room
		index, text := []int{0, 3, 129, 258}[p.random.Intn(4)], []string{"-", "x", "four", "a-longer-text"}[p.random.Intn(4)]
		a.thread.capture(a.calls[len(a.calls)-1], index, text)
		do(fmt.Sprintf("c%d:%s", index, text), "-")
	case choice < 92:
		number := fmt.Sprint(1 + p.random.Intn(3))
		if transaction := a.thread.transaction(); transaction != "" {
			p.named[number] = transaction
			do("t"+number, "T")
		} else {
			do("t"+number, "0")
		}
	case choice < 96 && len(a.joins) < 4:
		number := fmt.Sprint(p.random.Intn(4))
		transaction, known := p.named[number]
		// A virtual thread without calls keeps its place only as long as it has a task,
		// which these have not.
		mayJoin := (a.name[0] != 'v' || len(a.thread.frames) > 0) && !a.thread.hasAside(transaction)
		if mayJoin && (known || number == "0") {
			a.thread.join(transaction)
			a.joins = append(a.joins, len(a.calls))
			do("j"+number, "-")
		}
	case len(a.joins) > 0:
		for len(a.calls) > a.floor() {
			a.calls = a.calls[:len(a.calls)-1]
			do("g", "-")
		}
		a.joins = a.joins[:len(a.joins)-1]
		a.thread.part()
		do("p", "-")
	}
}

// end ends the innermost call.
func (p *play) end(a *actor) string {
	call := a.calls[len(a.calls)-1]
	a.calls = a.calls[:len(a.calls)-1]
	way := p.random.Intn(6)
	a.thread.exit(call, way != 3 && way != 4, way == 1 || way == 4 || way == 5)
	return []string{"x", "f", "s1", "s0", "S-1", "S1"}[way]
}
