// Package cct holds calling context trees. It subtracts the cost of measuring from the measured times,
// and keeps the remaining uncertainty. It does no I/O.
package cct

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Timing says which calls were timed.
type Timing string

// The timings.
const (
	Exact   Timing = "exact"   // every call
	Stacks  Timing = "stacks"  // none: there are no hooks, and all is known from sampled stacks
	Sampled Timing = "sampled" // one call in k, at random
	Auto    Timing = "auto"    // as many as the budget allows
)

// A Profile is the result of one run.
type Profile struct {
	Target      Target
	Roots       []string      // the patterns of the root methods
	Began       time.Time     // start of the window that the figures cover
	Took        time.Duration // length of the window
	Scheme      string        // "lazy" or "eager"
	Why         string        // why this scheme was chosen: a sentence
	Timing      Timing
	Period      uint32   // k of Sampled; 0 otherwise
	Methods     []Method // Node.Method is an index; with Auto it includes methods without calls whose hooks were on or are in Quiet
	Merged      *Node    // all threads; its method is -1, its children are the roots
	Threads     []Thread
	Calibration Calibration
	Cost        Cost
	LeftAlone   []LeftAlone       // classes and methods without a hook
	Quiet       []Quiet           // hooks that were not on for the whole window
	Notes       []string          // limitations of the figures
	Disturbed   string            // says that the program did not run as without Sonde; the first note says it, too
	Disturbance *cost.Disturbance // what measuring did to the speed of the program; nil if nothing is known
}

// A Target is the JVM that was profiled.
type Target struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"` // main class or jar
	JDK     string `json:"jdk,omitempty"`     // version
}

// A Method is a method that has a hook or that sampled stacks show. Its names are in the form of class files.
type Method struct {
	Class      string `json:"class,omitempty"`
	Name       string `json:"name"`
	Descriptor string `json:"descriptor,omitempty"`
	Native     bool   `json:"native,omitempty"`     // measured at its call sites
	LowerBound bool   `json:"lowerBound,omitempty"` // HotSpot may replace it by an intrinsic: then its hook misses calls
	Unhooked   bool   `json:"unhooked,omitempty"`   // it had no hook: only sampled stacks show it
	Category   string `json:"category,omitempty"`   // of the calls that begin with it, such as db
}

// A Thread holds the calls of one thread, or of all virtual threads: there may be millions.
type Thread struct {
	ID      uint64 `json:"id"` // 0 for virtual threads
	Name    string `json:"name,omitempty"`
	Virtual bool   `json:"virtual,omitempty"`
	Top     *Node  `json:"-"` // its method is -1
}

// A Time is a sum of nanoseconds over calls with its bounds, which include the error of the
// calibration and, if calls were sampled, the 95 % interval.
type Time struct {
	Nanos     float64
	Low, High float64
}

// Exactly returns a time without an error.
func Exactly(nanos float64) Time { return Time{nanos, nanos, nanos} }

// MostDepth bounds the levels of a tree that is read from a file. An agent makes half as many.
const MostDepth = 8192

// A Node is a method in a calling context.
type Node struct {
	Method   int                `json:"method"`                // -1 for the top of a tree
	Calls    uint64             `json:"calls"`                 // calls that began; exact, unless the method is a LowerBound
	Threw    uint64             `json:"threw,omitempty"`       // calls that ended with an exception
	Timed    uint64             `json:"timed,omitempty"`       // calls from which Self was computed
	Self     Time               `json:"self,omitzero"`         // of all calls, without hooked callees
	Spread   float64            `json:"spreadNanos,omitempty"` // standard deviation of Self between timed calls; 0 for fewer than two
	Total    Time               `json:"total,omitzero"`        // Self of this node and all below it that is not Handed
	Raw      int64              `json:"rawNanos,omitempty"`    // self time of the timed calls without the correction by calibration
	Max      time.Duration      `json:"maxNanos,omitempty"`
	Running  uint64             `json:"running,omitempty"`   // calls that had not ended; Self includes their time so far
	Missed   uint64             `json:"missed,omitempty"`    // calls that continued before all their callees had hooks
	Late     bool               `json:"late,omitempty"`      // its hook came after the root's: earlier calls are not in Calls
	Lost     time.Duration      `json:"lostNanos,omitempty"` // time that Sonde took from running calls; not in Self
	Sampled  bool               `json:"sampled,omitempty"`   // Self and Total are by sampled stacks; without a hook, Calls is 0
	Split    bool               `json:"split,omitempty"`     // Self is by sampled stacks: hooks measured it together with callees that are Sampled
	Handed   bool               `json:"handed,omitempty"`    // work that its parent handed to another thread, so not part of the parent's Total; at the top of a thread's tree: that was handed to it
	Waits    []Wait             `json:"waits,omitempty"`     // parts of Total in which threads waited, by sampled stacks; the longest first
	Kinds    map[string]float64 `json:"kinds,omitempty"`     // of the samples with the method on the stack, the part of each kind of frame
	Lines    []Line             `json:"lines,omitempty"`     // where samples of the own time were taken, the longest time first; none if no line is known
	Children []*Node            `json:"-"`                   // by Total, the longest first
}

// A Line is the part of a node's own time that was sampled at a line.
type Line struct {
	Line    int     `json:"line"` // 0 if the class file has none
	Samples uint64  `json:"samples"`
	Nanos   float64 `json:"nanos"`
}

// A Span is the result of several measurements of the same value.
type Span struct {
	Median    float64
	Low, High float64
}

// MarshalJSON writes a time as [nanos, low, high].
func (t Time) MarshalJSON() ([]byte, error) { return marshalBounds(t.Nanos, t.Low, t.High) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Time) UnmarshalJSON(data []byte) error {
	return unmarshalBounds(data, &t.Nanos, &t.Low, &t.High)
}

// MarshalJSON writes a span as [median, low, high].
func (s Span) MarshalJSON() ([]byte, error) { return marshalBounds(s.Median, s.Low, s.High) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Span) UnmarshalJSON(data []byte) error {
	return unmarshalBounds(data, &s.Median, &s.Low, &s.High)
}

// marshalBounds writes null for infinity, which JSON does not have.
func marshalBounds(values ...float64) ([]byte, error) {
	finite := make([]*float64, len(values))
	for i, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			finite[i] = &v
		}
	}
	return json.Marshal(finite)
}

func unmarshalBounds(data []byte, values ...*float64) error {
	finite := make([]*float64, len(values))
	err := json.Unmarshal(data, &finite)
	for i, v := range finite[:min(len(finite), len(values))] {
		*values[i] = math.Inf(1)
		if v != nil {
			*values[i] = *v
		}
	}
	return err
}

// A Calibration is the cost of measuring in nanoseconds, as measured in the target with its own
// hooks around a known body of dependent operations.
type Calibration struct {
	Inner   Span    `json:"inner,omitzero"` // of a timed call, inside its own measured time
	Outer   Span    `json:"outer,omitzero"` // of a timed call, inside its caller's measured time
	Drawn   Span    `json:"drawn,omitzero"` // Inner of a randomly sampled call, among many that are not timed
	Count   Span    `json:"count,omitzero"` // of a call that is only counted
	Overlap float64 `json:"overlap"`        // how much too long a call may appear because reading the clock ends overlap with its neighbours
	Times   int     `json:"times"`          // number of measurements from the beginning to the end of the run
}

// A Cost is what the run cost the target.
type Cost struct {
	Hooks   int           `json:"hooks"`            // methods with a hook
	Classes int           `json:"classes"`          // classes that were changed
	Woven   int           `json:"classesWoven"`     // how often a class was woven for that
	Cached  int           `json:"classesFromCache"` // how often it was found in the cache
	Closure int           `json:"closure"`          // methods of loaded classes that could be reached from the root
	Rounds  int           `json:"rounds"`           // batches of redefinitions
	Pause   time.Duration `json:"pauseNanos"`       // how long the program was stopped for them
	Compile time.Duration `json:"compileNanos"`     // processor time of the JVM's compilers during them
	Waited  time.Duration `json:"waitedNanos"`      // how long threads waited for hooks: in first calls, and for classes that loaded
	Steady  float64       `json:"steady"`           // part of the program's processor time that hooks took, from counts × calibrated cost
	Budget  float64       `json:"budget,omitempty"` // 0 without a budget
}

// A LeftAlone is a class or a method without a hook.
type LeftAlone = instrument.LeftAlone

// A Quiet is a hook that was off for all or part of the window.
type Quiet struct {
	Method int           `json:"method"`
	On     time.Duration `json:"onNanos,omitempty"` // how long it was on within the window
	Reason string        `json:"reason"`            // such as "at 1.2 M calls per second its hook would cost 1.4 %, so it was switched off; …"
}

// Partly returns the methods whose hooks were not on for the whole window, with the time that
// each was on. Their calls cover that time alone; the rest of their time is part of their
// callers' own time.
func (p *Profile) Partly() map[int]time.Duration {
	partly := make(map[int]time.Duration, len(p.Quiet))
	for _, q := range p.Quiet {
		if q.On == 0 || q.On < p.Took {
			partly[q.Method] = q.On
		}
	}
	return partly
}

// unnamed returns a method of which only the ID is known.
func unnamed(id uint32) Method { return Method{Name: fmt.Sprintf("method #%d", id)} }

// String returns the name for display: com.acme.Cart.total.
func (m Method) String() string {
	if m.Class == "" {
		return m.Name
	}
	return m.Ref().QualifiedName()
}

// All returns the node and all nodes below it, callers before callees.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.visit(yield) }
}

func (n *Node) visit(yield func(*Node) bool) bool {
	return yield(n) && !slices.ContainsFunc(n.Children, func(c *Node) bool { return !c.visit(yield) })
}

// Roots sums up the calls of the roots below the top of a tree.
func (n *Node) Roots() *Node {
	sum := &Node{Method: -1}
	for _, root := range n.Children {
		if root.Handed {
			continue
		}
		sum.Calls += root.Calls
		sum.Timed += root.Timed
		sum.Running += root.Running
		sum.Total = sum.Total.Plus(root.Total)
	}
	return sum
}

// Extent returns the total time of a node with that of all work below it that was handed to other threads.
func (n *Node) Extent() float64 {
	extent := n.Total.Nanos
	for _, c := range n.Children {
		extent += c.Extent()
		if !c.Handed || n.Method < 0 { // it is in the total
			extent -= c.Total.Nanos
		}
	}
	return extent
}

// MissesRootCalls reports whether HotSpot may have replaced calls of a root, which are then not counted.
func (p *Profile) MissesRootCalls() bool {
	return p.Merged != nil && slices.ContainsFunc(p.Merged.Children, func(root *Node) bool {
		return root.Method >= 0 && root.Method < len(p.Methods) && p.Methods[root.Method].LowerBound
	})
}

// Uncertainty returns the larger distance to a bound.
func (t Time) Uncertainty() float64 { return max(t.High-t.Nanos, t.Nanos-t.Low) }

// Known reports whether the node's own time is known. If not, Self is zero, and Self.High shows
// why: if it is zero, calls were only counted and their time is part of the nearest timed caller;
// otherwise no call was sampled, and the own time is at most High.
func (n *Node) Known() bool { return n.Timed > 0 || n.Self.Nanos > 0 }

// Estimated reports whether the node's own time was computed from only some of its calls.
func (n *Node) Estimated() bool { return n.Timed > 0 && n.Timed < n.Calls }

// Mean returns the mean time of a call, including its callees.
func (n *Node) Mean() Time { return n.Total.Over(float64(n.Calls)) }

// Over divides a time, for example by the number of calls.
func (t Time) Over(parts float64) Time {
	if parts == 0 {
		return Time{}
	}
	return Time{t.Nanos / parts, t.Low / parts, t.High / parts}
}

// Plus adds times; the bounds assume that all errors have the same direction.
func (t Time) Plus(other Time) Time {
	return Time{t.Nanos + other.Nanos, t.Low + other.Low, t.High + other.High}
}

// An Input is what hooks have written, as read at one moment.
type Input struct {
	Threads     []arena.Thread
	Names       map[uint64]string // of threads, by ID
	Now         int64             // the target's clock at the reading
	Methods     map[uint32]Method // by ID; nodes with other IDs are shown by number
	Calibration Calibration
	Pauses      []Pause

	// Counted are the methods whose calls were deliberately not timed: their time is part of the
	// nearest timed caller. It distinguishes them from methods of which no call was sampled.
	Counted map[uint32]bool

	// RootsOnAt is the target's clock when the roots' hooks were switched on, HookedAt when the
	// hooks of methods were that came later than the first calls.
	RootsOnAt int64
	HookedAt  map[uint32]int64
}

// A Pause is time in which Sonde stopped the program while a timed call of a node was running
// its own code.
type Pause struct {
	Thread uint64 // ID
	Node   uint32 // ref
	Nanos  int64
}

// A Row is a method in all its contexts.
type Row struct {
	Method   int
	Calls    uint64
	Timed    uint64
	Threw    uint64
	Running  uint64
	Self     Time
	Total    Time // of the outermost calls, so that recursion is not counted twice
	Mean     Time // Self of one call
	Contexts int  // number of nodes
	Known    bool // its own time is known
	Sampled  bool // its own time is by sampled stacks in some of them
}

// Flat returns the methods below a node by descending own time.
func Flat(top *Node, methods []Method) []Row {
	rows := make([]Row, len(methods))
	var walk func(n *Node, open map[int]int)
	walk = func(n *Node, open map[int]int) { // open: by method, the nodes on the path to the current one
		if n.Handed {
			open = map[int]int{} // its time is not in that of its callers
		}
		if n.Method >= 0 {
			row := &rows[n.Method]
			row.Calls += n.Calls
			row.Timed += n.Timed
			row.Threw += n.Threw
			row.Running += n.Running
			row.Self = row.Self.Plus(n.Self)
			row.Contexts++
			row.Known = row.Known || n.Known()
			row.Sampled = row.Sampled || n.Sampled || n.Split
			if open[n.Method] == 0 {
				row.Total = row.Total.Plus(n.Total)
			}
			open[n.Method]++
			defer func() { open[n.Method]-- }()
		}
		for _, child := range n.Children {
			walk(child, open)
		}
	}
	walk(top, map[int]int{})
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
