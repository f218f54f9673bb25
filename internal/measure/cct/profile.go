package cct

import "time"

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
