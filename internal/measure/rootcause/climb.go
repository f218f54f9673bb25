// Package climb is what a walk from hot spots up to their causes has found: for
// each hot spot a tree of callers, with what was measured of each, and an account
// of what was hooked when. It holds data and rules that need nothing else; package
// walk makes it, package report shows it.
package rootcause

import "time"

// A Climb is the result of one walk.
type Climb struct {
	Target  Target
	Began   time.Time
	Took    time.Duration
	Sampled Sampled
	Methods []Method // what the indexes below mean
	Spots   []Spot   // the hottest first
	List    []Entry  // the caller list: every method the walk knows of
	Hooks   []Live   // in the order in which they went on
	Batches []Batch
	Cost    Cost
	Notes   []string // what a reader should know before believing the rest
}

// Target is the JVM that was walked.
type Target struct {
	PID     int
	Command string
	JDK     string
}

// Sampled is how hot spots were found.
type Sampled struct {
	By      string        // such as "flight recorder"
	Biased  bool          // the JVM was asked at safepoints: the leaf may be another than it says
	Samples int           // of running threads
	Over    time.Duration // in which they were taken
}

// A Method is one of the program. Its strings are as class files have them.
type Method struct {
	Class, Name, Descriptor string
	Native                  bool
	LowerBound              bool // HotSpot may replace it by an intrinsic: then hooks miss calls
}

// A Share is a part of a whole, from 0 to 1, with its 95 % interval.
type Share struct {
	Part, Low, High float64
}

// A Spot is a method in which the program spends its time.
type Spot struct {
	Method int
	Share  Share         // of the running threads' samples
	Kind   string        // how it ran most often: interpreted, compiled, inlined, native
	Line   int           // where most samples were, 0 where not known
	From   time.Duration // since when it was hot, from the beginning of the walk
	Until  time.Duration // until when; 0 where it was to the end
	// Above says why the climb began one level up: the hot method has no hook then.
	// It is "" where it began in the hot method itself.
	Above   string
	Own     *Measured // what the hot method's own hook saw; nil where it had none
	Callers []*Caller // direct callers, the largest share first
}

// A State is how far a walk came with a method.
type State string

// The states of a method in the caller list.
const (
	Seen    State = "seen"     // on stacks, or as a caller; not hooked yet
	Woven   State = "woven"    // its hook is in, and off
	Watched State = "live"     // its hook is on
	Done    State = "measured" // its hook was on, and is off again
	Left    State = "left"     // it has no hook: see Reason
)

// A Caller is a method on the way up from a hot spot, as caller of the one below it.
type Caller struct {
	Method int
	// Share is the part of the hot spot's time that came this way: through this
	// method and all below it. By says how it is known.
	Share  Share
	By     Basis
	Calls  uint64    // calls of the one below from here that were identified
	Own    *Measured // what its own hook measured; nil where it had none
	State  State
	Reason string    // why it has no hook, or why the climb ended here
	Top    bool      // the way ends here: a thread's entry, the boundary, or the level asked for
	Above  []*Caller // who calls it, the largest share first
}

// A Basis is how a share is known.
type Basis string

// How shares are known.
const (
	ByHooks   Basis = "hooks"    // from times that hooks measured, by caller
	BySamples Basis = "samples"  // from stacks of the recorder
	Reckoned  Basis = "reckoned" // from the shares of what is below and how its calls divide
)

// Measured is what the hook of a method saw while it was on.
type Measured struct {
	Calls uint64        // all that were made meanwhile
	Timed uint64        // of those, timed: the rest speaks of them
	Over  time.Duration // how long the hook was on
	Total time.Duration // estimate for all calls, from the timed ones
	Mean  time.Duration
	P50   time.Duration
	P90   time.Duration
	P99   time.Duration
	Max   time.Duration
}

// An Entry is a line of the caller list.
type Entry struct {
	Method  int
	State   State
	Reason  string
	Hits    uint64 // calls its hook has seen
	Callers []int
	Callees []int
}

// A Live is a hook that was on.
type Live struct {
	Method int
	Spot   int // for which hot spot
	Level  int // 0 is the hot method
	From   time.Duration
	Until  time.Duration
	Calls  uint64 // hooks executed
	Drawn  uint64 // of those, whose caller was identified
}

// A Batch is one redefinition.
type Batch struct {
	At      time.Duration
	Why     string // such as "12 methods on the way up from 2 hot spots"
	In      bool   // hooks went in; else out
	Classes int
	Pause   time.Duration
	Compile time.Duration // what the JVM's compilers did because of it
}

// Cost is what the walk took of the program.
type Cost struct {
	Hooked    int     // methods that had a hook
	MostLive  int     // at any moment
	LiveLimit int     // what was allowed
	Executed  uint64  // hooks, in all
	Steady    float64 // part of the program's processor time that live hooks took
	Budget    float64
	Pause     time.Duration
	Compile   time.Duration
	// Redefined is how many redefinitions the class had that had most.
	Redefined int
	Woven     int // how often a class was woven
	Cached    int // how often it had been before, and was in the cache
}
