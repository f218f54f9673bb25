package rootcause

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Climb is the result of a search: for each hot spot a tree of callers with what was
// measured, and an account of which hooks were in and on when.
type Climb struct {
	Target  cct.Target
	Began   time.Time
	Took    time.Duration
	Sampled Sampled
	Own     own.Packages // in which causes are searched
	Methods []cct.Method // that the indexes below refer to
	Owners  []Owner      // the largest share first
	Spots   []Spot       // the hottest first
	List    []Entry      // the caller list: every method the search knows
	Hooks   []Live       // in the order in which they went on
	Batches []Batch
	Cost    Cost
	Notes   []string // what a reader must know to trust the rest
}

// Sampled is how hot spots were found.
type Sampled struct {
	By      string        `json:"by,omitempty"`      // sampler.Source, such as "kernel"
	Biased  bool          `json:"biased,omitempty"`  // stacks were taken at safepoints: the leaf may be another method
	Samples int           `json:"samples"`           // of running threads, with a Java method on the stack
	Outside float64       `json:"outside,omitempty"` // the part of all samples without one: the JVM's own threads, and native ones
	Over    time.Duration `json:"overNanos"`         // in which they were taken
}

// A Share is a part of a whole, from 0 to 1, with its 95 % interval.
type Share = cct.Share

// An Owner is the own method nearest to where the program ran, with the time in it and in the
// libraries that it calls.
type Owner struct {
	Method int     // -1 for time on whose stacks there is no own method
	Share  Share   // of the running threads' samples
	In     int     // the method that ran most often, possibly the owner itself
	InPart float64 // of the owner's samples
}

// A Spot is a method in which the program spends its time, by itself or in libraries that it
// calls.
type Spot struct {
	Method    int
	Libraries bool          // the time of the libraries that it calls, directly or not, counts as its time
	Share     Share         // of the running threads' samples
	Kind      string        // how it ran most often: interpreted, compiled, inlined, native
	Line      int           // where most samples were, 0 if not known
	From      time.Duration // since when it was hot, from the beginning of the search
	Until     time.Duration // until when; 0 if it was hot to the end
	// Above says why the climb began one level up, without a hook in the hot method. It is
	// "" if the climb began in the hot method itself.
	Above   string
	Own     *Measured // by the hot method's own hook; nil if it had none
	Callers []*Caller // direct callers, the largest share first
}

// A State is how far a search has come with a method.
type State string

// The states of a method in the caller list.
const (
	Seen    State = "seen"     // on stacks, or as a caller; without a hook so far
	Woven   State = "woven"    // its hook is in, and off
	Watched State = "live"     // its hook is on
	Done    State = "measured" // its hook was on, and is off again
	Left    State = "left"     // it has no hook: see Reason
)

// A Caller is a method on a path to a hot spot, as the caller of the method below it.
type Caller struct {
	Method int
	// Share is the part of the hot spot's time that came through this method and all below
	// it. By says how it is known.
	Share  Share
	By     Basis
	Calls  uint64    // identified calls from here of the method below
	Own    *Measured // by its own hook; nil if it had none
	State  State
	Reason string    // why it has no hook, or why the climb ended here
	Top    bool      // the path ends here: a thread's entry, the boundary, or the last level asked for
	Above  []*Caller // its callers, the largest share first
}

// A Basis is how a share is known.
type Basis string

// How shares are known.
const (
	ByHooks   Basis = "hooks"    // from times that hooks measured, by caller
	BySamples Basis = "samples"  // from sampled stacks
	Estimated Basis = "reckoned" // from the share of the method below and how its calls divide
)

// Measured is what the hook of a method measured while it was on.
type Measured struct {
	Calls uint64        `json:"calls"`      // all calls meanwhile
	Timed uint64        `json:"timed"`      // of those, calls that were timed: the times below are theirs
	Over  time.Duration `json:"overNanos"`  // how long the hook was on
	Total time.Duration `json:"totalNanos"` // estimate for all calls, from the timed ones
	Mean  time.Duration `json:"meanNanos"`
	P50   time.Duration `json:"p50Nanos"`
	P90   time.Duration `json:"p90Nanos"`
	P99   time.Duration `json:"p99Nanos"`
	Max   time.Duration `json:"maxNanos"`
}

// An Entry is a line of the caller list.
type Entry struct {
	Method  int    `json:"method"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Hits    uint64 `json:"hits,omitempty"` // calls its hook has seen
	Callers []int  `json:"callers,omitempty"`
	Callees []int  `json:"callees,omitempty"`
}

// A Live is a hook that was on.
type Live struct {
	Method int           `json:"method"`
	Spot   int           `json:"spot"`  // the hot spot it was on for
	Level  int           `json:"level"` // 0 is the hot method
	From   time.Duration `json:"fromNanos"`
	Until  time.Duration `json:"untilNanos,omitempty"`
	Calls  uint64        `json:"calls"` // hooks executed
	Drawn  uint64        `json:"drawn"` // of those, calls whose caller was identified
}

// A Batch is one redefinition.
type Batch struct {
	At      time.Duration `json:"atNanos"`
	Why     string        `json:"why,omitempty"` // such as "12 methods on the call paths of 2 hot spots"
	In      bool          `json:"in"`            // hooks went in; otherwise out
	Classes int           `json:"classes"`
	Pause   time.Duration `json:"pauseNanos"`
	Compile time.Duration `json:"compileNanos"` // processor time of the JVM's compilers meanwhile
}

// Cost is what the search cost the program.
type Cost struct {
	Hooked    int           `json:"hooked"`    // methods that had a hook
	MostLive  int           `json:"mostLive"`  // at any moment
	LiveLimit int           `json:"liveLimit"` // how many were allowed
	Executed  uint64        `json:"executed"`  // hooks, in all
	Steady    float64       `json:"steady"`    // part of the program's processor time that live hooks took
	Budget    float64       `json:"budget"`
	Pause     time.Duration `json:"pauseNanos"`
	Compile   time.Duration `json:"compileNanos"`
	Redefined int           `json:"redefined"`        // largest number of redefinitions of a class in a search
	Woven     int           `json:"classesWoven"`     // how often a class was woven
	Cached    int           `json:"classesFromCache"` // how often it was in the cache
}
