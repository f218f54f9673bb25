package session

import (
	"cmp"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A SpotKind is what a spot is for.
type SpotKind uint8

// The kinds.
const (
	Watches SpotKind = iota // its calls are what somebody wants to know of
	Tags                    // a tag of the transaction gets its value here
	Anchors                 // its calls are elements of sequences
)

// A Form is which template watches a method.
type Form uint8

// The forms, of spots of kind Watches. Each has what those before it have.
const (
	Plain     Form = iota // a condition (0) at entry
	Late                  // and one (1) at exit
	Capturing             // and values (2 to 5) at entry, (6 to 9) at a return
)

// A Spot is one thing that is wanted of one method. Each has its own id, its own
// switch and its own hook, so a method may have several.
type Spot struct {
	Class, Name, Descriptor string // as class files have them
	// Key tells the spots of a method apart. The same spot has the same key in every
	// run, as its id comes of it.
	Key  string
	Kind SpotKind
	Form Form
	// Code are the conditions and values, by the numbers the template has for them;
	// where one is nil, or there are fewer, a condition always holds and a value is
	// null. Of Tags the only one, 0, is the value.
	Code   []weave.Lowered
	Flags  arena.Flags
	Period uint32
	// Of Anchors: the positions this method matches, by how they are reached. Of
	// Watches: those that Below, or Direct, must hold one of; none: nothing is asked.
	Below, Direct, First uint32
	Tag                  int    // the number, of Tags
	Groups               uint16 // of Watches: the tags by which results are told apart
	Context              uint8  // of Watches: the length of the chain of callers by which they are
}

func (p *Spot) member() string { return p.Name + p.Descriptor }

// full names a spot, and nothing else, in a session.
func (p *Spot) full() string { return p.Class + "." + p.member() + "#" + p.Key }

// A WatchRequest is what is to be watched besides what is already.
type WatchRequest struct {
	Spots []Spot
	// Without are spots that are taken out, in the same batches.
	Without []Spot
	// Bridges are compiler-made methods, class.name(descriptor), that do not count as
	// callers.
	Bridges []string
	// Fresh says that positions mean other elements than before: then the path of
	// every thread begins anew when the spots go on.
	Fresh bool
	// HandOff has context and tags go along with tasks from thread to thread.
	HandOff bool
}

// SpotID is the id of a spot's hook.
func (w *workshop) SpotID(p Spot) uint32 {
	return uint32(w.book.identify(p.Class, p.Name, p.Descriptor+"#"+p.Key))
}

// HooksClass is the internal name of the class by which conditions ask for tags.
func (w *workshop) HooksClass() string { return agent.HookClass() + "Tags" }

// rank is the order in which spots stand around their method, outermost first: what
// is watched sees the tags that are set at its own method, and the path as it was
// before that method was entered.
func (k SpotKind) rank() int {
	switch k {
	case Tags:
		return 0
	case Watches:
		return 1
	}
	return 2
}

// compareSpots orders the spots of one method.
func compareSpots(a, b *spot) int {
	return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.Key, b.Key))
}
