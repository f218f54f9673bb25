package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Method is a method that has a hook.
type Method struct {
	ID uint32
	classfile.MethodRef
	LowerBound bool // it may have had more calls than its hook has counted: see WhyLowerBound
}

// state is what the session knows: what was woven, what the agent was sent, and the
// classes. Goroutines that answer the JVM write it.
type state struct {
	lock        sync.Mutex
	installing  int               // installations under way, whose hooks are switched on together
	methods     map[uint32]Method // that have hooks
	past        map[uint32]Method // that had hooks
	probes      map[uint32]arena.Probe
	switches    switchTable
	spots       spotState
	undescribed []arena.Method // woven, but not yet described in the arena
	left        map[LeftAlone]bool
	classes     classTable
	captures    Installation // cost of redefining classes only to see their bytes
	reflecting  bool         // the agent reports calls by reflection
}

func (s *state) init() {
	s.methods, s.past = make(map[uint32]Method), make(map[uint32]Method)
	s.probes = make(map[uint32]arena.Probe)
	s.switches.sent = make(map[uint32]arena.Probe)
	s.left = make(map[LeftAlone]bool)
	s.spots.init()
	s.classes.init()
}

// inactive are ids of hooks that do not yet do what they should.
type inactive struct{ hooks, spots []uint32 }

// note records the outcome of weaving a class. It returns the hooks, also those at calls,
// whose switches the agent does not have yet: also where another thread, which loads a
// class of the same name, is about to send them.
func (s *Session) note(class string, out *instrument.Outcome) inactive {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	off := s.state.noteSpots(out)
	if len(out.Methods) == 0 {
		return off
	}
	if slices.ContainsFunc(out.Methods, func(m instrument.Method) bool { return m.Result.Woven }) {
		s.state.classes.named(class).woven++
	}
	delete(s.state.left, LeftAlone{Class: class, Reason: notLoaded})
	for i := range out.Methods {
		off.hooks = append(off.hooks, s.noteMethod(&out.Methods[i])...)
	}
	return off
}

func (s *Session) noteMethod(m *instrument.Method) (off []uint32) {
	st := &s.state
	leave := func(reason string) { st.left[LeftAlone{Class: m.Class, Method: m.Member(), Reason: reason}] = true }
	for _, site := range m.Result.Left {
		leave("its call of " + site.Call.Owner + "." + site.Call.Name + " gets no hook: " + site.Reason.Error())
	}
	if !m.Result.Woven {
		if m.Hooked || len(m.Result.Left) == 0 && !m.Spotted {
			leave(m.Result.Reason.Error())
		}
		return nil
	}
	if m.Result.Sites > 0 {
		off = st.switches.missing(st.probes, m.Natives())
	}
	setting, is := s.weaver.Setting(m.MethodRef)
	if !is || !m.Hooked {
		return off // it has hooks at its calls, or reports calls by reflection
	}
	id := s.weaver.ID(m.MethodRef)
	if st.add(Method{id, m.MethodRef, m.LowerBound}) {
		setting.ID = id
		st.probes[id] = setting
	}
	return append(off, st.switches.missing(st.probes, []uint32{id})...)
}

// add adds a method that has a hook, or, if it is native, has hooks at its calls. It
// reports whether the method is new. The lock is held.
func (s *state) add(m Method) bool {
	if _, known := s.methods[m.ID]; known {
		return false
	}
	s.methods[m.ID] = m
	s.undescribed = append(s.undescribed, arena.Method{ID: m.ID, Name: m.String(), LowerBound: m.LowerBound})
	return true
}

// withdraw takes a note back: the class has no hooks after all. Its methods still count
// as woven while another class of its name is.
func (s *state) withdraw(class, reason string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.left[LeftAlone{Class: class, Reason: reason}] = true
	named := s.classes.named(class)
	if named.woven > 1 {
		named.woven--
		return
	}
	named.woven = 0
	s.classes.tidy(class)
	s.spots.withdraw(class, reason)
	for id, m := range s.methods {
		if m.Class == class {
			delete(s.methods, id)
			delete(s.probes, id)
		}
	}
	s.undescribed = slices.DeleteFunc(s.undescribed, func(m arena.Method) bool {
		_, woven := s.methods[m.ID]
		return !woven && !s.spots.woven[m.ID]
	})
}

func (s *state) leave(class, reason string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.left[LeftAlone{Class: class, Reason: reason}] = true
}

// whyLeft returns why a class has no hooks; "" where it has some.
func (s *state) whyLeft(class string) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	for left := range s.left {
		if left.Class == class && left.Method == "" && s.classes.woven(class) == 0 {
			return left.Reason
		}
	}
	return ""
}

// methods returns the methods that have hooks, by name.
func (s *Session) methods() []Method {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	methods := slices.Collect(maps.Values(s.state.methods))
	for id, p := range s.state.spots.spots {
		if p.IsSwitched() && s.state.spots.woven[id] {
			methods = append(methods, Method{id, p.MethodRef, s.state.spots.bounds[id]})
		}
	}
	return sorted(methods)
}

// methodsSoFar returns the methods that have or had hooks, by name.
func (s *Session) methodsSoFar() []Method {
	all := s.methods()
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for id, m := range s.state.past {
		if _, is := s.state.methods[id]; !is {
			all = append(all, m)
		}
	}
	return sorted(all)
}

func sorted(methods []Method) []Method {
	slices.SortFunc(methods, func(a, b Method) int {
		return a.Compare(b.MethodRef)
	})
	return methods
}

// Method returns the method with a hook of this id.
func (s *Session) Method(id uint32) (Method, bool) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	m, known := s.state.methods[id]
	return m, known
}

// IsHooked reports whether a method has a hook.
func (s *Session) IsHooked(id uint32) bool {
	_, is := s.Method(id)
	return is
}

// leftAlone returns what was requested and has no hook, by name.
func (s *Session) leftAlone() []LeftAlone {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	left := slices.Collect(maps.Keys(s.state.left))
	left = slices.AppendSeq(left, maps.Values(s.state.spots.left))
	slices.SortFunc(left, instrument.CompareLeft)
	return slices.Compact(left) // spots of a method may share a reason
}

func (s *state) endInstalling() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.installing--
}

// lateReplies counts the agent's questions about classes of one name whose answers came
// too late. The agent reports once, for each question, that no answer came. The class may
// have been noted as woven by then, or is about to be: that note must be withdrawn, while
// other classes of the same name keep theirs.
type lateReplies struct {
	open     int // questions being answered
	given    int // open questions for which the agent no longer waits, as it has reported
	expected int // answered too late, but not yet reported by the agent
}

// begin records a question about a class.
func (s *state) begin(class string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.classes.named(class).replies.open++
}

// end records that a question is answered. It reports whether that is too late.
func (s *state) end(class string, isOver bool) (isLate bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	defer s.classes.tidy(class)
	r := &s.classes.named(class).replies
	r.open--
	switch {
	case r.given > 0:
		r.given--
		return true
	case isOver:
		r.expected++
		return true
	}
	return false
}

// missed records the agent's report that no answer came. It returns whether the answer
// had been sent, and so must be withdrawn now.
func (s *state) missed(class string) (wasSent bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	defer s.classes.tidy(class)
	r := &s.classes.named(class).replies
	switch {
	case r.expected > 0:
		r.expected--
	case r.open > r.given:
		r.given++
	default:
		return true
	}
	return false
}
