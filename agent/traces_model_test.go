package agent_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The settings that the tests of traces use.
var traced = map[string]arena.Probe{
	"root":  {ID: 70001, Flags: arena.On | arena.Flat | arena.Traced | arena.Root},
	"in":    {ID: 70002, Flags: arena.On | arena.Flat | arena.Traced | arena.Inside},
	"any":   {ID: 70003, Flags: arena.On | arena.Flat | arena.Traced},
	"late":  {ID: 70004, Flags: arena.On | arena.Flat | arena.Late},
	"lroot": {ID: 70005, Flags: arena.On | arena.Flat | arena.Traced | arena.Root | arena.Late},
	"lin":   {ID: 70006, Flags: arena.On | arena.Flat | arena.Traced | arena.Inside | arena.Late},
	"tree":  {ID: 70007, Flags: arena.On | arena.Traced | arena.Inside},
	"bare":  {ID: 70008, Flags: arena.On | arena.Flat | arena.Traced | arena.Inside | arena.Bare},
	"some":  {ID: 70009, Flags: arena.On | arena.Flat | arena.Traced | arena.Root | arena.Sampled, Period: 10},
}

// A tracedThread is what the contract says of one thread's calls. It says what records
// its ring has to show. drop says that there was no room for a call.
type tracedThread struct {
	ring    string // its name in texts
	frames  []*tracedFrame
	in      transactionIn
	opened  int
	records []tracedRecord
	held    int // calls under way whose verdict is open
	counted map[string]uint64
}

// transactionIn is what a thread is in: put aside as a whole when it joins another.
type transactionIn struct {
	name  string // "" for none
	depth int
	lost  int  // calls that found no room
	alone bool // joined when there was nothing to be put aside
}

type tracedFrame struct {
	probe          string
	traced, opened bool
	late, values   bool
	depth, since   int
	opens          string        // the transaction it opened
	handed         bool          // another thread may have heard of that
	aside          transactionIn // of what is no call
	joined         bool
}

type tracedRecord struct {
	text, transaction string
	value             bool
	depth             int
}

// enter gives what becomes of the call, and its frame where it has one.
func (t *tracedThread) enter(name string) (string, *tracedFrame) {
	flags := traced[name].Flags
	if flags&(arena.Inside|arena.Traced) == arena.Inside|arena.Traced && t.in.name == "" {
		return "0", nil
	}
	f := &tracedFrame{probe: name, late: flags&arena.Late != 0, since: len(t.records)}
	if flags&arena.Traced != 0 && (t.in.name != "" || flags&arena.Root != 0) {
		f.traced, f.values = true, flags&arena.Bare == 0
		if t.in.name == "" {
			t.opened++
			f.opened, f.opens = true, fmt.Sprint(t.ring, t.opened)
			t.in = transactionIn{name: f.opens}
		}
		f.depth = t.in.depth
		t.in.depth++
	}
	if !f.late {
		t.counted[name]++
	}
	if !f.late && !f.traced {
		return "1", nil
	}
	if f.traced && f.late {
		t.held++
	}
	t.frames = append(t.frames, f)
	return "F", f
}

// drop has the call that was entered last find no room.
func (t *tracedThread) drop(f *tracedFrame) *tracedFrame {
	f.traced = false
	if t.in.depth--; f.opened {
		f.opened = false
		t.opened--
		t.in = transactionIn{}
	} else {
		t.in.lost++
	}
	if f.late {
		t.held--
		return f
	}
	t.frames = t.frames[:len(t.frames)-1]
	return nil
}

// cutTo takes off frames until the given number is left.
func (t *tracedThread) cutTo(count int) {
	for len(t.frames) > count {
		f := t.frames[len(t.frames)-1]
		t.frames = t.frames[:len(t.frames)-1]
		switch {
		case f.joined:
			if t.in.name == f.aside.name {
				f.aside.lost = t.in.lost
			}
			t.in = f.aside
		case f.traced && f.late:
			t.takeBack(f)
		case f.traced:
			t.write(f, " cut")
		}
	}
}

func (t *tracedThread) indexOf(f *tracedFrame) int {
	for i, one := range t.frames {
		if one == f {
			return i
		}
	}
	return -1
}

// exit ends a call with a verdict, which is heard of those that are late only.
func (t *tracedThread) exit(f *tracedFrame, keep, threw bool) {
	at := t.indexOf(f)
	if f == nil || at < 0 {
		return
	}
	if f.late && !keep {
		t.cutTo(at)
		return
	}
	t.cutTo(at + 1)
	t.frames = t.frames[:at]
	if f.late {
		t.counted[f.probe]++
	}
	if f.traced {
		ended := ""
		if threw {
			ended = " threw"
		}
		t.write(f, ended)
		if f.late {
			t.held--
		}
	}
}

func (t *tracedThread) write(f *tracedFrame, ended string) {
	switch {
	case f.opened:
		ended += " root"
	case f.depth == 0:
		ended += " handed"
	}
	if (f.opened || f.depth == 0) && t.in.lost > 0 {
		ended += fmt.Sprint(" lost ", t.in.lost)
		t.in.lost = 0
	}
	text := fmt.Sprintf("%s %s %d%s", t.in.name, f.probe, f.depth, ended)
	t.records = append(t.records, tracedRecord{text: text, transaction: t.in.name})
	t.leave(f)
}

func (t *tracedThread) leave(f *tracedFrame) {
	t.in.depth = f.depth
	if f.opened {
		t.in = transactionIn{}
	}
}

func (t *tracedThread) takeBack(f *tracedFrame) {
	kept := t.records[:f.since:f.since]
	for _, record := range t.records[f.since:] {
		isMine := record.transaction == t.in.name && (f.opened || record.value && record.depth == f.depth)
		if !isMine {
			kept = append(kept, record)
		}
	}
	t.records = kept
	if f.handed {
		t.records = append(t.records, tracedRecord{text: t.in.name + " discarded"})
	}
	t.leave(f)
	t.held--
}

func (t *tracedThread) capture(f *tracedFrame, index int, text string) {
	if f == nil || !f.traced || !f.values || t.indexOf(f) < 0 {
		return
	}
	at := ""
	if index&128 != 0 {
		at = " at exit"
	}
	switch {
	case index&256 != 0:
		text = "failed"
	case text == "-":
		text = "null"
	default:
		text = "'" + text + "'"
	}
	t.records = append(t.records, tracedRecord{
		fmt.Sprintf("%s %s %d value %d %s%s", t.in.name, f.probe, f.depth, index&127, text, at), t.in.name, true, f.depth,
	})
}

// transaction is the one to be handed over.
func (t *tracedThread) transaction() string {
	for _, f := range t.frames {
		f.handed = f.handed || f.opened && f.opens == t.in.name
	}
	return t.in.name
}

// hasAside is true of a transaction that was put aside for another: one that is taken
// up again then has calls of one depth inside each other, and values whose call is
// unknown.
func (t *tracedThread) hasAside(name string) bool {
	return name != "" && name != t.in.name && slices.ContainsFunc(t.frames, func(f *tracedFrame) bool { return f.aside.name == name })
}

func (t *tracedThread) join(name string) {
	if len(t.frames) > 0 || t.in.name != "" {
		t.frames = append(t.frames, &tracedFrame{joined: true, aside: t.in})
		if name != t.in.name {
			t.in = transactionIn{name: name}
		}
		return
	}
	t.in = transactionIn{name: name, alone: name != ""}
}

func (t *tracedThread) part() {
	for i := len(t.frames) - 1; i >= 0; i-- {
		if t.frames[i].joined {
			t.cutTo(i)
			return
		}
	}
	if t.in.alone {
		t.cutTo(0)
		t.in = transactionIn{}
	}
}

// published is what may be read of the records.
func (t *tracedThread) published() (texts []string) {
	upTo := len(t.records)
	for _, f := range t.frames {
		if f.traced && f.late {
			upTo = min(upTo, f.since)
		}
	}
	for _, record := range t.records[:upTo] {
		texts = append(texts, record.text)
	}
	return texts
}

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
	case choice < 88 && len(a.calls) > a.floor() && p.ask == nil: // whether there was room for a value is unknown
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
