// Package cct holds calling context trees: what hooks measured, minus what measuring cost,
// with the error that remains. It does no I/O.
package cct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Timing says which calls were timed.
type Timing string

// The timings.
const (
	Exact   Timing = "exact"   // every call
	Sampled Timing = "sampled" // one call in k, at random
	Auto    Timing = "auto"    // as many as the budget allows
)

// A Profile is what one run found.
type Profile struct {
	Target      Target
	Roots       []string      // the patterns of the root methods
	Began       time.Time     // of the window that the figures cover
	Took        time.Duration // from then to the last reading
	Scheme      string        // "lazy" or "eager"
	Why         string        // why this scheme: a sentence
	Timing      Timing
	Period      uint32   // k of Sampled; 0 otherwise
	Methods     []Method // Node.Method is an index into it; with Auto, every method whose hook was on or in Quiet is here, called or not
	Merged      *Node    // all threads; stands for no method, its children are the roots
	Threads     []Thread
	Calibration Calibration
	Cost        Cost
	LeftAlone   []LeftAlone // what has no hook, and why
	Quiet       []Quiet     // hooks that were not on for the whole window, or that the budget thinned
	Notes       []string    // what a reader should know before believing the rest
}

// A Target is the JVM that was profiled.
type Target struct {
	PID     int
	Command string // main class or jar, for people
	JDK     string // its version
}

// A Method is one with a hook.
type Method struct {
	Class, Name, Descriptor string // as class files have them
	Native                  bool   // measured at its call sites
	LowerBound              bool   // HotSpot may replace it by an intrinsic: then its hook misses calls
}

// A Thread is what one thread did, or several virtual ones that took turns.
type Thread struct {
	ID      uint64
	Name    string
	Virtual bool
	Top     *Node // stands for no method
}

// A Time is a sum of nanoseconds over calls, with the bounds between which the
// truth lies. Low and High hold both what calibration leaves open and, where calls
// were sampled, the 95 % interval.
type Time struct {
	Nanos     float64
	Low, High float64
}

// A Node is a method in a calling context.
type Node struct {
	Method   int     // -1 for a node that stands for no method
	Calls    uint64  // begun; exact, unless the method's are a lower bound
	Threw    uint64  // ended with an exception
	Timed    uint64  // calls by which Self is known; 0 where none was timed
	Self     Time    // of all calls, without hooked callees
	Spread   float64 // standard deviation of Self between timed calls, in nanoseconds; 0 where fewer than two were timed
	Total    Time    // Self of this node and all below it
	Raw      int64   // what the clock said of the timed calls' self time, before calibration
	Max      time.Duration
	Running  uint64        // calls that had not ended; what they took so far is in Self
	Missed   uint64        // calls that went on before all their callees had hooks
	Late     bool          // its hook came after the root's: earlier calls are not in Calls
	Lost     time.Duration // time Sonde took of calls under way here, not in Self
	Children []*Node       // by Total, the longest first
}

// A Span is a figure that was measured several times.
type Span struct {
	Median    float64
	Low, High float64
}

// A Calibration is what measuring costs, in nanoseconds, as measured in the
// target with its own hooks around a known body of dependent work.
type Calibration struct {
	Inner   Span    // of a timed call, inside its own measured time
	Outer   Span    // of a timed call, inside its caller's measured time
	Drawn   Span    // Inner of a call that is timed by lot, among many that are not
	Count   Span    // of a call that is only counted
	Overlap float64 // by how much a call may read too long because the clock ends overlap with its neighbours
	Times   int     // how often it was measured, from the beginning to the end of the run
}

// A Cost is what the run cost the target.
type Cost struct {
	Hooks   int           // methods with a hook
	Classes int           // classes that were changed
	Woven   int           // how often a class was woven for that
	Cached  int           // how often it had been before, and was in the cache
	Closure int           // methods that could be reached from the root, by the classes loaded
	Rounds  int           // batches in which hooks went in
	Pause   time.Duration // the program stood still to put hooks in
	Compile time.Duration // processor time of its compilers meanwhile
	Waited  time.Duration // its threads waited for hooks: in first calls, and for classes that loaded
	Steady  float64       // part of the program's processor time that hooks took, by counts × calibrated cost
	Budget  float64       // what was allowed; 0 where no budget was kept
}

// A LeftAlone is a class or a method without a hook.
type LeftAlone struct {
	Class, Method string // Method is empty for a whole class
	Reason        string
}

// A Quiet is a hook that was off for all or part of the window, or that the budget
// thinned.
type Quiet struct {
	Method int
	On     time.Duration // how long it was on within the window; 0 is off throughout
	Reason string        // "1.2 M calls a second cost 1.4 %: switched off, its time is with its callers"
}

// Partly returns the methods whose hooks were not on for the whole window, with the
// time that each was on: 0 is off throughout. Their calls, if any, are of that time
// alone; the rest of their time is in their callers' own time.
func (p *Profile) Partly() map[int]time.Duration {
	partly := make(map[int]time.Duration, len(p.Quiet))
	for _, q := range p.Quiet {
		if q.On == 0 || q.On < p.Took {
			partly[q.Method] = q.On
		}
	}
	return partly
}

// unnamed is a method of which nothing but its id is known.
func unnamed(id uint32) Method { return Method{Name: fmt.Sprintf("method #%d", id)} }

// String is the method's name for people: com.acme.Cart.total.
func (m Method) String() string {
	if m.Class == "" {
		return m.Name
	}
	return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name
}

// Known tells whether anything is known of the node's own time. If not, its Self
// is zero, and Self.High tells why: where it is zero too, calls were only counted
// and their time is with the nearest timed caller; else no call was drawn, and it
// could be as much as High.
func (n *Node) Known() bool { return n.Timed > 0 || n.Self.Nanos > 0 }

// Estimated tells whether the node's own time stands on some of its calls only.
func (n *Node) Estimated() bool { return n.Timed > 0 && n.Timed < n.Calls }

// Mean is the time of one call with all below it.
func (n *Node) Mean() Time { return n.Total.Over(float64(n.Calls)) }

// Over is a part of a time: that of one call, for the number of calls.
func (t Time) Over(parts float64) Time {
	if parts == 0 {
		return Time{}
	}
	return Time{t.Nanos / parts, t.Low / parts, t.High / parts}
}

// Plus adds times, and their bounds as if all errors went the same way.
func (t Time) Plus(other Time) Time {
	return Time{t.Nanos + other.Nanos, t.Low + other.Low, t.High + other.High}
}

// An Input is what hooks have written, as it was read at one moment.
type Input struct {
	Threads     []RawThread
	Now         int64             // the target's clock when it was read
	Methods     map[uint32]Method // by id; a node of another id is called by its number
	Calibration Calibration
	Pauses      []Pause

	// Counted are the methods whose calls were never timed, by choice: their time
	// is with the nearest timed caller. In sampled runs it tells them from methods
	// of which no call happened to be drawn.
	Counted map[uint32]bool

	// RootsOnAt is the target's clock when the roots' hooks went on, and HookedAt
	// when those of other methods did; a method not in it had its hook in time.
	RootsOnAt int64
	HookedAt  map[uint32]int64

	CalibrationID uint32 // nodes of it, and what is below, are no part of the program
	AdjustmentID  uint32 // time of it was taken by Sonde from its parent's call
}

// A RawThread is one thread's tree as the arena has it.
type RawThread struct {
	ID      uint64
	Name    string
	Virtual bool
	Root    uint32 // ref of the node that stands for no method
	Nodes   []Raw
	Stack   []Frame // outermost first
}

// A Raw is a node of the arena. Calls are those begun, all else is of timed calls
// that have ended.
type Raw struct {
	Ref, Parent uint32 // Parent is the thread's Root at the top
	ID          uint32
	Calls       uint64
	Timed       uint64
	Nanos       uint64 // callees included
	Threw       uint64
	Max         uint64  // the longest call
	Missed      uint64  // calls that went on before all their callees had hooks
	Self        int64   // without timed callees
	Squares     float64 // Σ of each timed call's self time, squared
	Born        int64   // the target's clock when the node was made; 0 is not known
}

// A Frame is a call under way.
type Frame struct {
	Node  uint32 // ref
	Start int64  // the target's clock; 0 where the call is not timed
	Child int64  // nanoseconds in timed callees that have ended
	Drawn bool   // timed for its own sake: its direct callees are timed too
}

// A Pause is time in which the program stood still for Sonde's sake while a timed
// call of a node was at work itself.
type Pause struct {
	Thread uint64 // ID
	Node   uint32 // ref
	Nanos  int64
}

// A Row is a method with all its contexts.
type Row struct {
	Method   int
	Calls    uint64
	Timed    uint64
	Threw    uint64
	Running  uint64
	Self     Time
	Total    Time // of outermost calls: a recursion is not counted twice
	Mean     Time // Self of one call
	Contexts int  // nodes it has
	Known    bool // whether anything is known of its own time
}

// Flat lists the methods below a node, by their own time, the longest first.
func Flat(top *Node, methods []Method) []Row {
	rows := make([]Row, len(methods))
	open := make([]int, len(methods)) // calls of a method around the node at hand
	var walk func(n *Node)
	walk = func(n *Node) {
		if n.Method >= 0 {
			row := &rows[n.Method]
			row.Calls += n.Calls
			row.Timed += n.Timed
			row.Threw += n.Threw
			row.Running += n.Running
			row.Self = row.Self.Plus(n.Self)
			row.Contexts++
			row.Known = row.Known || n.Known()
			if open[n.Method] == 0 {
				row.Total = row.Total.Plus(n.Total)
			}
			open[n.Method]++
			defer func() { open[n.Method]-- }()
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(top)
	for i := range rows {
		rows[i].Method = i
		rows[i].Mean = rows[i].Self.Over(float64(rows[i].Calls))
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Contexts == 0 })
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Self.Nanos, a.Self.Nanos), cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(methods[a.Method].String(), methods[b.Method].String()), cmp.Compare(a.Method, b.Method))
	})
	return rows
}
