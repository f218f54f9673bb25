package trace

import (
	"iter"
	"maps"
	"time"
)

// A Transaction is what happened from the entry of a traced method to its exit, on
// all threads that worked for it.
type Transaction struct {
	ID   uint64
	Root *Call
	// Parts are the outermost calls of what was handed to other threads, in the
	// order of their beginnings. They may outlast the root.
	Parts    []*Call
	Begin    time.Time
	Duration time.Duration // the root's
	Tags     map[string]string
	// Lost is how many of its calls found no room in a ring.
	Lost uint64
	// Late is how many of Parts came when the transaction had been handed out.
	Late int
}

// A Call is one call of a method.
type Call struct {
	Spot       uint32
	Class      string // with dots
	Method     string
	Descriptor string
	Probe      string
	Thread     Thread
	Depth      int

	Start    time.Duration // since the transaction's beginning
	Measured time.Duration // as the clock had it, with what hooks took in it
	Duration time.Duration // without that
	Self     time.Duration // without its children's on the same thread, too

	Threw, Cut  bool
	Handed      bool // outermost of what was handed to this thread
	Conditional bool // its hook acts in a context, or under a condition
	Values      []Value
	Tags        map[string]string // where they differ from those of the call around it
	Children    []*Call           // in the order of their beginnings
	// Omitted are further calls below it that were too many to keep each.
	Omitted Omitted

	label uint32
	start uint64
	ring  uint32
	gone  Omitted // while it waits: calls of its depth, or below it, that are not kept each
	known bool    // its names are
}

// Omitted is a number of calls and the time they took.
type Omitted struct {
	Calls uint64
	Time  time.Duration
}

// A Thread is who made a call.
type Thread struct {
	ID   uint64
	Name string // empty where it is not known, as of threads that have ended
}

// NameThreads gives threads their names.
func (t *Transaction) NameThreads(names map[uint64]string) {
	for c := range t.All() {
		if name, known := names[c.Thread.ID]; known {
			c.Thread.Name = name
		}
	}
}

// A Value is what an expression gave at the entry or exit of a call.
type Value struct {
	Index      int
	AtExit     bool
	Expression string
	Text       string
	Null       bool
	Failed     bool // it met an exception
	Cut        bool // it was longer
	Redacted   bool // it was not read, or some of Text was taken out

	// raw is what the hook wrote. It becomes Text when it is known what it is of.
	raw string
}

// Name is the call's class and method.
func (c *Call) Name() string {
	if c.Class == "" {
		return c.Method
	}
	return c.Class + "." + c.Method
}

// All are the call and all below it, outer before inner.
func (c *Call) All() iter.Seq[*Call] {
	return func(yield func(*Call) bool) { c.visit(yield) }
}

func (c *Call) visit(yield func(*Call) bool) bool {
	if !yield(c) {
		return false
	}
	for _, child := range c.Children {
		if !child.visit(yield) {
			return false
		}
	}
	return true
}

// All are the transaction's calls: those of the root, then those of each part.
func (t *Transaction) All() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		if !t.Root.visit(yield) {
			return
		}
		for _, part := range t.Parts {
			if !part.visit(yield) {
				return
			}
		}
	}
}

// Extent is the time from the beginning to the end of what ended last.
func (t *Transaction) Extent() time.Duration {
	extent := t.Root.Measured
	for _, part := range t.Parts {
		extent = max(extent, part.Start+part.Measured)
	}
	return extent
}

// Calls is how many calls it has, those that were not kept each included, and how
// many of those kept ended with an exception.
func (t *Transaction) Calls() (calls, errors uint64) {
	for c := range t.All() {
		calls += 1 + c.Omitted.Calls
		if c.Threw {
			errors++
		}
	}
	return calls, errors
}

// gatherTags takes as the transaction's tags those of the root, and of calls below
// what the root has not: the first that has it.
func (t *Transaction) gatherTags() {
	gathered := maps.Clone(t.Root.Tags)
	for c := range t.All() {
		for name, value := range c.Tags {
			if _, has := gathered[name]; !has {
				if gathered == nil {
					gathered = map[string]string{}
				}
				gathered[name] = value
			}
		}
	}
	t.Tags = gathered
}
