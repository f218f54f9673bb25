// Package goals compares the figures of methods with their goals. It decides when a goal is missed, so that the callees of the method
// get hooks, and when it has been met again for long enough, so that these are removed. It has no I/O: `sonde apply` gives it readings and
// carries out its decisions.
//
//	      missed: raise                recent calls meet it
//	Met ────────────────▶ Missed ────────────────────────────▶ Recovering
//	 ▲                      ▲      recent calls miss it            │
//	 │                      └──────────────────────────────────────┤
//	 └─────────────────────────────────────────────────────────────┘
//	                    met for long enough: lower
//
// Hooks that cost too much are removed in every state. They come back when the goal is missed again after it was met.
package goals

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// leastCalls is how many calls show that a goal is missed before the whole time of its figures has passed.
	leastCalls = 20
	// windowReadings is how many readings a window consists of.
	windowReadings = 60
	// inARow is how many times in a row hooks must cost too much: before that, the one budget of the JVM makes traces fewer.
	inARow = 4
	// findingsAfter is how long findings are awaited before a miss is reported.
	findingsAfter = 30 * time.Second
)

// A State says whether a goal is met.
type State string

// The states.
const (
	Met        State = "met"
	Missed     State = "missed"
	Recovering State = "recovering" // calls meet it again, but not for long enough
)

// A Do is what should be done.
type Do string

// What can be done.
const (
	Raise  Do = "raise"  // put hooks into what the method calls
	Lower  Do = "lower"  // remove them
	Report Do = "report" // report the miss with the findings
	Note   Do = "note"   // only the log
)

// A Step is something that should be done, with its reason.
type Step struct {
	Do   Do
	Seen string // figures
	Why  string
}

// A Tracker follows one goal.
type Tracker struct {
	Goal   *probeset.Goal
	State  State
	Raised bool   // what the method calls has hooks
	Misses int    // how often it was missed after it was met
	Seen   string // the latest figures

	window   []*monitor.Reading // the oldest first
	mark     *monitor.Reading   // calls since then meet the goal again
	missedAt int64
	over     int  // how many times in a row hooks cost too much
	awaits   bool // the miss is to be reported
}

// New returns a tracker of a goal that is met so far.
func New(goal *probeset.Goal) *Tracker { return &Tracker{Goal: goal, State: Met} }

// An Observation is what is known at a moment.
type Observation struct {
	At      int64            // nanoseconds of the target's clock
	Reading *monitor.Reading // nil while the program has not settled after its hooks were changed: figures do not count
	Rows    []uint32         // IDs of the rows of the goal's probe
	Cost    float64          // part of the program's CPU time that the hooks below methods take; negative if it was not measured again
	Budget  float64          // what they may take; 0 for no limit
	Found   bool             // the search below the method has ended
}

// Begin makes figures start from zero, because hooks were changed.
func (t *Tracker) Begin() { t.window, t.mark = nil, nil }

// Failed says that what the method calls could not get hooks.
func (t *Tracker) Failed() { t.Raised = false }

// Next returns what should be done, in this order.
func (t *Tracker) Next(o Observation) (steps []Step) {
	if o.Reading != nil {
		steps = t.judge(o)
	}
	if step, is := t.checkBudget(o); is {
		steps = append(steps, step)
	}
	isLowered := len(steps) > 0 && steps[len(steps)-1].Do == Lower
	if t.awaits && (isLowered || o.Found || !t.Raised || o.At-t.missedAt >= int64(findingsAfter)) {
		t.awaits = false
		steps = append([]Step{{Do: Report, Seen: t.Seen, Why: "it is reported"}}, steps...) // with the findings, before they go
	}
	return steps
}

func (t *Tracker) checkBudget(o Observation) (Step, bool) {
	switch {
	case !t.Raised || o.Budget <= 0 || o.Cost >= 0 && o.Cost <= o.Budget:
		t.over = 0
	case o.Cost > o.Budget:
		t.over++
	}
	if t.over < inARow {
		return Step{}, false
	}
	t.over, t.Raised = 0, false
	return Step{Do: Lower, Seen: t.Seen, Why: fmt.Sprintf("the hooks below it cost %s of the program's CPU time, and the budget is %s", format.Percent(o.Cost), format.Percent(o.Budget))}, true
}

// judge compares figures with the goal.
func (t *Tracker) judge(o Observation) []Step {
	now := trimmed(o.Reading, o.Rows)
	defer t.keep(now)
	if len(t.window) == 0 {
		t.mark = now
		return nil // the first reading
	}
	if t.State == Met {
		row := between(t.window[0], now, o)
		isFull := now.At-t.window[0].At >= int64(t.Goal.Window())
		verdict, seen := t.compare(row, isFull)
		if verdict != unknown {
			t.Seen = seen
		}
		if verdict != fails {
			return nil
		}
		t.State, t.Raised, t.awaits, t.mark, t.missedAt = Missed, true, t.Goal.OnMiss.String() != "", now, now.At
		t.Misses++
		return []Step{{Do: Raise, Seen: seen, Why: "the goal is missed"}}
	}
	row := between(t.mark, now, o)
	verdict, seen := t.compare(row, true)
	if verdict != unknown {
		t.Seen = seen
	}
	needed := t.Goal.Recovered.OrDefault()
	switch {
	case verdict == fails:
		t.State, t.mark = Missed, now
	case needed.Calls > 0 && row.Timed < needed.Calls || now.At-t.mark.At < int64(needed.Time):
		if verdict == holds {
			t.State = Recovering
		}
	default:
		t.State, t.window = Met, nil
		if !t.Raised {
			return []Step{{Do: Note, Seen: t.Seen, Why: "the goal is met again"}}
		}
		t.Raised = false
		return []Step{{Do: Lower, Seen: t.Seen, Why: fmt.Sprintf("the goal has been met for %v", needed)}}
	}
	return nil
}

type verdict uint8

const (
	unknown verdict = iota // there were no calls, or too few
	holds
	fails
)

// compare compares a row with the goal, and returns the figures that decide: those that miss it, if some do. If the row is not of
// the whole time, few calls do not show that the goal is missed.
func (t *Tracker) compare(row *monitor.Row, isWhole bool) (verdict, string) {
	var met, missed []string
	for _, b := range t.Goal.Bounds {
		figure, isMet, isKnown := monitor.Figure(b, row)
		switch text := b.Name() + " is " + figure; {
		case !isKnown:
		case isMet:
			met = append(met, text)
		case isWhole || row.Calls >= neededCalls(b):
			missed = append(missed, text)
		}
	}
	switch {
	case len(missed) > 0:
		return fails, strings.Join(missed, ", ")
	case len(met) == len(t.Goal.Bounds):
		return holds, strings.Join(met, ", ")
	}
	return unknown, ""
}

// neededCalls returns how many calls show that a bound does not hold.
func neededCalls(b *probeset.Bound) uint64 {
	switch {
	case b.Quantity == "p" && b.Quantile < 1:
		return max(leastCalls, uint64(math.Ceil(1/(1-b.Quantile))))
	case b.Quantity == "mean", b.IsShare:
		return leastCalls
	}
	return 0
}

// keep adds a reading to the window, and removes old readings.
func (t *Tracker) keep(now *monitor.Reading) {
	over := int64(t.Goal.Window())
	if n := len(t.window); n > 0 && now.At-t.window[n-1].At < over/windowReadings {
		return
	}
	t.window = append(t.window, now)
	for len(t.window) > 1 && now.At-t.window[1].At >= over {
		t.window = t.window[1:]
	}
}

// trimmed returns a reading with some rows only, and without stacks.
func trimmed(r *monitor.Reading, rows []uint32) *monitor.Reading {
	less := &monitor.Reading{At: r.At, Methods: make(map[uint32]*arena.Totals, len(rows))}
	for _, id := range rows {
		if totals := r.Methods[id]; totals != nil {
			less.Methods[id] = totals
		}
	}
	return less
}

// between sums up the calls of all rows from one reading to another, and the calls that run now.
func between(from, to *monitor.Reading, o Observation) *monitor.Row {
	key := monitor.Key{}
	groups := &monitor.Groups{Keys: []monitor.Key{key}, Of: make(map[uint32][]monitor.Key, len(o.Rows))}
	for _, id := range o.Rows {
		groups.Of[id] = []monitor.Key{key}
	}
	after := *to
	after.Threads = o.Reading.Threads
	return &monitor.Between(from, &after, groups, monitor.Options{Stall: time.Hour}).Rows[0]
}
