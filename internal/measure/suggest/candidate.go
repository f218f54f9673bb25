package suggest

import (
	"time"
)

// A Candidate is a method that may get a probe, with all that is known of it.
type Candidate struct {
	Method
	Members []Method // that are meant: itself, or all of the name where stacks do not tell
	Pattern string   // by which a set names it

	Share     float64 // of all samples, in which it stands above the leaf
	Leaf      float64 // of all samples, those in which it is only the leaf
	PerSecond float64 // calls
	Ended     uint64  // calls that ended while they were counted
	Mean      time.Duration
	Cost      float64 // part of the program's processor time that a probe would take
	Thin      float64 // the same, if one call in Thinned is timed and all are counted
	Measured  bool    // calls were counted

	Nature
	Waits
	Inlined bool // most of the time it is part of its callers
}

// fewEnded is how many calls must have ended for a probe to tell of them: a server's
// loop is entered once.
const fewEnded = 5

// covers reports whether a probe in it would tell of what it calls.
func (c *Candidate) covers() bool { return c.Measured && c.Ended >= fewEnded }

// A Why is what led to a choice.
type Why string

// Why a method is proposed.
const (
	ToCover   Why = "covers"  // time that nothing else covers
	ToSplit   Why = "splits"  // time that others cover, into parts
	ForWait   Why = "waits"   // threads wait in it
	ForNature Why = "nature"  // by what it calls
	ForEntry  Why = "request" // it takes requests
)

// A Choice is a method that is proposed.
type Choice struct {
	*Candidate
	Why   Why
	Adds  float64 // to the coverage of those chosen before
	Gains float64 // bits that it tells of a sample beyond what those chosen before do
	Thins bool    // one call in Thinned is timed: to time all would cost too much
}

// Sample is one in how many calls its probe times; 0: all of them.
func (c *Choice) Sample() uint32 {
	if c.Thins {
		return Thinned
	}
	return 0
}

// Takes is the part of the program's processor time that its probe takes.
func (c *Choice) Takes() float64 {
	if c.Thins {
		return c.Thin
	}
	return c.Cost
}
