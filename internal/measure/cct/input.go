package cct

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
