package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// firstMethods is for how many methods the first spill table has room.
const firstMethods = 1024

// A Wanted is what to put hooks in, and what they are to do.
type Wanted struct {
	Methods *pattern.Set
	Flags   arena.Flags
	Period  uint32 // of arena.Sampled
}

// A Method is one that has a hook. Its strings are as class files have them.
type Method struct {
	ID                      uint32
	Class, Name, Descriptor string
	LowerBound              bool // it may have had more calls than its hook has counted: see WhyLowerBound
}

// String is the method's name for people.
func (m Method) String() string {
	return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name + m.Descriptor
}

// A LeftAlone is a class or a method that was asked for and has no hook.
type LeftAlone struct {
	Class  string // internal name
	Method string // name and descriptor; empty where it is the whole class
	Reason string
}

// book is what was asked for and what became of it. Weaving, which happens when
// the JVM asks, writes it; everyone reads.
type book struct {
	lock       sync.Mutex
	installing int // how many calls of Instrument are under way
	wanted     []Wanted
	follower   *Follower
	loading    *loading
	watch      watchBook
	ids        map[string]uint32 // by class.name(descriptor)
	names      map[uint32]string
	methods    map[uint32]Method // woven
	past       map[uint32]Method // that were, and were taken out
	probes     map[uint32]arena.Probe
	switches   switches
	fresh      []arena.Method // woven, not described in the arena yet
	left       map[LeftAlone]bool
	files      map[uint32][]byte  // class files by handle, for the batch at hand
	classes    map[string]int     // woven classes, by name: how often, and not withdrawn
	handles    map[uint32]string  // names of the classes of the batch at hand
	captured   map[uint32][]byte  // classes that are redefined only to see them
	capturing  Installation       // what that took
	bad        map[uint32]bool    // handles not to be woven any more
	answers    map[string]answers // to questions about classes, by their names
}

func (b *book) init() {
	b.watch.init()
	b.ids = make(map[string]uint32)
	b.names = make(map[uint32]string)
	b.methods = make(map[uint32]Method)
	b.past = make(map[uint32]Method)
	b.probes = make(map[uint32]arena.Probe)
	b.switches.sent = make(map[uint32]arena.Probe)
	b.left = make(map[LeftAlone]bool)
	b.files = make(map[uint32][]byte)
	b.classes = make(map[string]int)
	b.handles = make(map[uint32]string)
	b.bad = make(map[uint32]bool)
	b.answers = make(map[string]answers)
}

// identify gives a method its id: the same in every session but where two
// methods of this one share it.
func (b *book) identify(class, name, descriptor string) int32 {
	full := class + "." + name + descriptor
	b.lock.Lock()
	defer b.lock.Unlock()
	id, known := b.ids[full]
	if !known {
		id = uint32(weave.MethodID(class, name, descriptor))
		for b.names[id] != "" || arena.ReservedID(id) {
			id++
		}
		b.ids[full], b.names[id] = id, full
	}
	return int32(id)
}

// wantClass reports whether a class may hold a method that is wanted.
func (b *book) wantClass(class string) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return wishes(b.wanted).matchClass(class)
}

// take notes what was chosen: the files to weave from, and what is left alone.
// It gives the handles of what is to be retransformed.
func (b *book) take(chosen *selection) []uint32 {
	b.lock.Lock()
	defer b.lock.Unlock()
	handles := make([]uint32, 0, len(chosen.picked))
	for _, c := range chosen.picked {
		handles = append(handles, c.handle)
		b.files[c.handle], b.handles[c.handle] = c.file, c.name
	}
	for _, c := range chosen.left {
		b.left[LeftAlone{Class: c.name, Reason: c.reason}] = true
	}
	return handles
}

// note keeps what became of a class that was woven, of which the picked methods
// were to get hooks of their own. It gives the ids of those hooks, and of hooks at
// calls, that do not yet do what they are to: also where another thread, which
// loads a class of the same name, is about to have them do it.
func (b *book) note(class string, results []weave.MethodResult, picked *picking, chosen *choices) (off []uint32) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if slices.ContainsFunc(results, func(r weave.MethodResult) bool { return r.Woven }) {
		b.classes[class]++
	}
	delete(b.left, LeftAlone{Class: class, Reason: notLoaded})
	for _, r := range results {
		member := r.Name + r.Descriptor
		full := class + "." + member
		isPicked := picked.hooks[member]
		for _, site := range r.Left {
			b.left[LeftAlone{class, member, "its call of " + site.Call.Owner + "." + site.Call.Name + ": " + site.Reason.Error()}] = true
		}
		if !r.Woven {
			if isPicked || len(r.Left) == 0 && !picked.met[member] {
				b.left[LeftAlone{class, member, r.Reason.Error()}] = true
			}
			continue
		}
		if r.Sites > 0 {
			off = append(off, b.switches.missing(b.probes, chosen.natives(full))...)
		}
		setting, is := b.setting(class, r, chosen)
		if !is || !isPicked {
			continue // it has hooks at its calls, or tells what it is about to call
		}
		id := b.ids[full]
		if _, known := b.methods[id]; !known {
			m := Method{id, class, strings.Clone(r.Name), strings.Clone(r.Descriptor), picked.intrinsic[member]}
			b.methods[id] = m
			b.fresh = append(b.fresh, arena.Method{ID: id, Name: m.String(), LowerBound: m.LowerBound})
			setting.ID = id
			b.probes[id] = setting
		}
		off = append(off, b.switches.missing(b.probes, []uint32{id})...)
	}
	return off
}

// setting is what the hook of a method is to do, but for its id; false where none
// was asked for.
func (b *book) setting(class string, r weave.MethodResult, chosen *choices) (arena.Probe, bool) {
	if w, is := wishes(b.wanted).find(class, r.Name, r.Descriptor); is {
		return arena.Probe{Flags: w.Flags | arena.On, Period: w.Period}, true
	}
	h, is := chosen.find(class, r.Name+r.Descriptor)
	return arena.Probe{Flags: h.Flags, Period: h.Period}, is
}

// withdraw takes a note back: the class has no hooks after all. Its methods count
// as woven while another class of its name is.
func (b *book) withdraw(class, reason string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.left[LeftAlone{Class: class, Reason: reason}] = true
	if b.classes[class] > 1 {
		b.classes[class]--
		return
	}
	delete(b.classes, class)
	b.watch.withdraw(class, reason)
	for id, m := range b.methods {
		if m.Class == class {
			delete(b.methods, id)
			delete(b.probes, id)
		}
	}
	b.fresh = slices.DeleteFunc(b.fresh, func(m arena.Method) bool {
		_, woven := b.methods[m.ID]
		return !woven && !b.watch.woven[m.ID]
	})
}

func (b *book) leave(class, reason string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.left[LeftAlone{Class: class, Reason: reason}] = true
}

// Methods are those that have hooks, by name.
func (s *Session) Methods() []Method {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	return sorted(slices.Collect(maps.Values(s.book.methods)))
}

// MethodsSoFar are those that have hooks or had some, by name.
func (s *Session) MethodsSoFar() []Method {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	all := maps.Clone(s.book.past)
	maps.Copy(all, s.book.methods)
	return sorted(slices.Collect(maps.Values(all)))
}

func sorted(methods []Method) []Method {
	slices.SortFunc(methods, func(a, b Method) int {
		return cmp.Or(strings.Compare(a.Class, b.Class), strings.Compare(a.Name, b.Name), strings.Compare(a.Descriptor, b.Descriptor))
	})
	return methods
}

// LeftAlone is what was asked for and has no hook, by name.
func (s *Session) LeftAlone() []LeftAlone {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	left := make([]LeftAlone, 0, len(s.book.left))
	for l := range s.book.left {
		left = append(left, l)
	}
	for _, l := range s.book.watch.left {
		left = append(left, l)
	}
	slices.SortFunc(left, compareLeft)
	return slices.Compact(left) // spots of a method may share a reason
}

// Classes is how many classes have hooks.
func (s *Session) Classes() int {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	return len(s.book.classes)
}

// isInstalling reports whether batches are on their way in.
func (b *book) isInstalling() bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.installing > 0
}

// answers tells questions of the agent apart that came too late to be answered.
// The agent says once, for each, that no answer came; what it leaves alone by that
// may be woven by then, or about to be, and must count as woven no longer, but other
// classes of the same name must.
type answers struct {
	open     int // questions that are being answered
	given    int // of those, for how many the agent no longer waits, as it said
	expected int // answered too late, of which the agent has not said so yet
}

// begin notes a question about a class.
func (b *book) begin(class string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	a.open++
	b.answers[class] = a
}

// end notes that a question is answered. It reports whether that is too late.
func (b *book) end(class string, isOver bool) (isLate bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	a.open--
	switch {
	case a.given > 0:
		a.given--
		isLate = true
	case isOver:
		a.expected++
		isLate = true
	}
	b.keep(class, a)
	return isLate
}

// missed notes what the agent says: that no answer came. It reports whether the
// answer was given, and came too late only on its way.
func (b *book) missed(class string) (wasGiven bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	switch {
	case a.expected > 0:
		a.expected--
	case a.open > a.given:
		a.given++
	default:
		wasGiven = true
	}
	b.keep(class, a)
	return wasGiven
}

func (b *book) keep(class string, a answers) {
	if a == (answers{}) {
		delete(b.answers, class)
		return
	}
	b.answers[class] = a
}
