// Package document defines the JSON documents that commands write with --json or into
// files, and reads profiles back. Result types of other packages that have JSON tags are
// written directly.
package document

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// Count is written by `sonde count --json`. Fields that are known only at the end are
// missing before.
type Count struct {
	PID       int       `json:"pid"`
	JDK       string    `json:"jdk"`
	Main      string    `json:"main,omitempty"`
	Patterns  []string  `json:"patterns"`
	Timing    string    `json:"timing"`           // exact, sampled, none
	Period    uint32    `json:"period,omitempty"` // of sampled
	Began     time.Time `json:"began"`
	Seconds   float64   `json:"seconds"`
	Final     bool      `json:"final"`
	Ended     string    `json:"ended,omitempty"` // duration, calls, interrupted, undone, exited, lost
	Calls     uint64    `json:"calls"`
	Threads   int       `json:"threads"`
	Untimed   uint64    `json:"callsWithoutTime"`
	Dropped   uint64    `json:"callsNotCounted"`
	Methods   []Method  `json:"methods"`
	Hooks     *Hooks    `json:"hooks,omitempty"`
	LeftAlone []Left    `json:"leftAlone,omitempty"`
	Leaving   *Leaving  `json:"leaving,omitempty"`
	HookCost  *HookCost `json:"hookCost,omitempty"`
	Remarks   []string  `json:"remarks,omitempty"`
	// Disturbed says that the program did not run as without Sonde. Disturbance is what measuring has done to its speed.
	Disturbed   string            `json:"disturbed,omitempty"`
	Disturbance *cost.Disturbance `json:"disturbance,omitempty"`
}

// Method is a method with its measurements. Times are present only if calls were timed.
// They are those of the timed calls: nothing is estimated.
type Method struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Calls      uint64 `json:"calls"`
	Bound
	PerSecond    float64  `json:"callsPerSecond"`
	Exceptions   uint64   `json:"exceptions"`
	Running      *uint64  `json:"running,omitempty"`      // with exact timing only
	RunningNanos uint64   `json:"runningNanos,omitempty"` // so far, of outermost calls
	Timed        uint64   `json:"timed"`
	Untimed      uint64   `json:"callsWithoutTime,omitempty"` // because the arena had no room
	TotalNanos   *uint64  `json:"totalNanos,omitempty"`
	SelfNanos    *int64   `json:"selfNanos,omitempty"`
	MeanNanos    *float64 `json:"meanNanos,omitempty"`
	// MeanError is half of the 95 % interval of a sampled mean, as a part of the mean. The
	// cost of timing is not included.
	MeanError *float64 `json:"meanError,omitempty"`
	Context
}

// Context distinguishes the results of one method.
type Context struct {
	Label
	Undecided uint64 `json:"undecided,omitempty"` // calls whose condition could not be evaluated; not included in the calls
}

func newContext(row *results.Row) (c Context) {
	if !row.InContext {
		return c
	}
	return Context{NewLabel(row.Within, row.Label), row.Undecided}
}

// Label distinguishes the results of one method or probe.
type Label struct {
	Within  string             `json:"within,omitempty"`
	Tags    map[string]*string `json:"tags,omitempty"`      // without tags that are not set
	Callers []string           `json:"callers,omitempty"`   // the innermost first
	Other   bool               `json:"otherTags,omitempty"` // the agent had no room for more labels
}

// NewLabel describes a label.
func NewLabel(within string, label results.Label) Label {
	d := Label{Within: within, Other: label.Other || label.Unknown}
	for _, caller := range label.Callers {
		d.Callers = append(d.Callers, strings.ReplaceAll(caller, "/", "."))
	}
	for _, tag := range label.Tags {
		if d.Tags == nil {
			d.Tags = make(map[string]*string)
		}
		switch {
		case tag.Null:
			d.Tags[tag.Name] = nil
		case tag.Set:
			d.Tags[tag.Name] = &tag.Value
		}
	}
	return d
}

// Bound says that there may have been more calls than were counted, and why.
type Bound struct {
	LowerBound bool   `json:"lowerBound,omitempty"`
	Why        string `json:"lowerBoundReason,omitempty"`
}

// NewBound describes whether a number of calls is a lower bound.
func NewBound(isLowerBound bool) Bound {
	if !isLowerBound {
		return Bound{}
	}
	return Bound{true, session.WhyLowerBound}
}

// NewMethod describes a row.
func NewMethod(r *results.Row) Method {
	m := Method{
		Class: r.Class, Method: r.Name, Descriptor: r.Descriptor, Calls: r.Calls, PerSecond: r.PerSecond,
		Exceptions: r.Threw, Timed: r.Timed, Untimed: r.Totals.Untimed, Context: newContext(r), Bound: NewBound(r.LowerBound),
	}
	if r.Timing == results.Exact {
		m.Running, m.RunningNanos = &r.Active, r.Running
	}
	if sure := r.Uncertainty.Error(); r.Timing == results.Sampled && sure >= 0 {
		m.MeanError = &sure
	}
	if r.Timed > 0 {
		mean := r.Mean()
		m.TotalNanos, m.MeanNanos = &r.Nanos, &mean
	}
	if r.HasTimes() && r.Timing == results.Exact {
		m.SelfNanos = &r.Self
	}
	return m
}

// Row returns the row of a method that has no context. Its timing is that of all methods.
func (m *Method) Row(timing results.Timing) results.Row {
	row := results.Row{Class: m.Class, Name: m.Method, Descriptor: m.Descriptor, Timing: timing, PerSecond: m.PerSecond}
	row.Calls, row.Threw, row.Timed, row.Totals.Untimed, row.Running, row.LowerBound = m.Calls, m.Exceptions, m.Timed, m.Untimed, m.RunningNanos, m.LowerBound
	if m.Running != nil {
		row.Active = *m.Running
	}
	if m.TotalNanos != nil {
		row.Nanos = *m.TotalNanos
	}
	if m.SelfNanos != nil {
		row.Self = *m.SelfNanos
	}
	return row
}

// Hooks says where hooks are and what putting them in cost.
type Hooks struct {
	Classes int `json:"classes"`
	Methods int `json:"methods"`
	session.Weavings
	Loaded        int      `json:"classesLoaded"`
	Matched       int      `json:"classesMatched"`
	Batches       int      `json:"batches"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmatched     []string `json:"unmatchedPatterns,omitempty"`
	// Settling says how the program came back to its former pace; null if the command did not wait for that.
	Settling *overhead.Recovery `json:"settling,omitempty"`
}

// NewHooks describes the hooks of a session and what putting them in cost. unmatched are
// further patterns that match no method.
func NewHooks(s *session.Look, i *session.Installation, cost cost.Cost, unmatched []string) *Hooks {
	hooks := &Hooks{
		Classes: s.Classes(), Methods: len(s.Methods()), Loaded: i.Loaded, Matched: i.Matched, Batches: len(i.Batches), Weavings: s.Weavings(),
	}
	hooks.PauseMillis, hooks.CompileMillis = costMillis(cost)
	for _, lost := range i.Unmatched {
		hooks.Unmatched = append(hooks.Unmatched, lost.Pattern)
	}
	hooks.Unmatched = append(hooks.Unmatched, unmatched...)
	return hooks
}

// NewLeft describes what was left alone.
func NewLeft(left []session.LeftAlone) []Left {
	var list []Left
	for _, l := range left {
		list = append(list, Left{strings.ReplaceAll(l.Class, "/", "."), l.Method, l.Reason})
	}
	return list
}

// Leaving is what taking the hooks out cost.
type Leaving struct {
	Classes       uint32   `json:"classesPutBack"`
	Millis        float64  `json:"millis"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmapped      bool     `json:"unmapped"`
}

// NewLeaving describes the end of a session; nil without one.
func NewLeaving(f *session.Farewell) *Leaving {
	if f == nil {
		return nil
	}
	leaving := &Leaving{Classes: f.Restored.Classes, Millis: f.Took.Seconds() * 1000, Unmapped: f.Restored.Unmapped}
	leaving.PauseMillis, leaving.CompileMillis = costMillis(f.Pause)
	return leaving
}

// costMillis returns the known parts of a cost.
func costMillis(cost cost.Cost) (pause, compile *float64) {
	if cost.Known.Pauses {
		millis := cost.Pause.Seconds() * 1000
		pause = &millis
	}
	if cost.Known.Compilers {
		millis := cost.CompileCPU.Seconds() * 1000
		compile = &millis
	}
	return pause, compile
}

// HookCost is what hooks cost.
type HookCost struct {
	*session.HookCost
	Share float64 `json:"shareOfOneProcessor"`
}

// NewHookCost describes a measured cost; nil without one. share is the part of one
// processor that the hooks use.
func NewHookCost(cost *session.HookCost, share float64) *HookCost {
	if cost == nil {
		return nil
	}
	return &HookCost{cost, share}
}

// Monitor is written by `sonde monitor --json`, `sonde calls --json` and `sonde pack live --json`: for each interval,
// and at the end for the whole time. Fields that are known only at the end are missing
// before.
type Monitor struct {
	PID     int          `json:"pid"`
	At      time.Time    `json:"at"`      // the end of the interval
	Seconds float64      `json:"seconds"` // its length
	Elapsed float64      `json:"elapsed"` // since the hooks went on
	Final   bool         `json:"final"`
	Ended   string       `json:"ended,omitempty"` // duration, calls, interrupted, undone, exited, lost, unread
	Sample  uint32       `json:"sample"`          // k where one call in k is timed
	Threads int          `json:"threads"`         // that have called anything
	Lost    uint64       `json:"callsNotCounted"`
	Total   MonitorRow   `json:"total"`
	Rows    []MonitorRow `json:"rows"`
	Stalls  []Stall      `json:"stalls,omitempty"` // the oldest; rows count all
	// GC are the collections of garbage in the interval, in objects of sonde calls.
	GC        *monitor.Collections `json:"gc,omitempty"`
	Allocated *float64             `json:"allocatedPerSecond,omitempty"` // bytes, in the same objects
	// Locks are where threads wait for locks that others have, in objects of sonde calls. Shares are of these waits.
	Locks []HotPlace `json:"locks,omitempty"`

	JDK       string    `json:"jdk,omitempty"`
	Main      string    `json:"main,omitempty"`
	Patterns  []string  `json:"patterns,omitempty"`
	Hooks     *Hooks    `json:"hooks,omitempty"`
	LeftAlone []Left    `json:"leftAlone,omitempty"`
	Leaving   *Leaving  `json:"leaving,omitempty"`
	HookCost  *HookCost `json:"hookCost,omitempty"`
	Clock     *float64  `json:"clockNanos,omitempty"` // was taken off all times
	Remarks   []string  `json:"remarks,omitempty"`
	// Disturbed says that the program did not run as without Sonde. Disturbance is what measuring has done to its speed.
	Disturbed   string            `json:"disturbed,omitempty"`
	Disturbance *cost.Disturbance `json:"disturbance,omitempty"`

	Pack    string   `json:"pack,omitempty"`  // of sonde pack live
	Arena   string   `json:"arena,omitempty"` // that the pack's agent writes
	Classes *Account `json:"classes,omitempty"`
	// Records are what templates of the user have recorded since sonde pack live began; known at the end.
	Records []results.Recorded `json:"records,omitempty"`
}

// MonitorRow is a row. Times are present only if calls were timed.
type MonitorRow struct {
	Category   string   `json:"category,omitempty"`  // of sonde calls: db, web
	Direction  string   `json:"direction,omitempty"` // in or out
	Share      *float64 `json:"share,omitempty"`     // of the time of incoming calls, from 0 to 1
	Pattern    string   `json:"pattern,omitempty"`
	Class      string   `json:"class,omitempty"`
	Method     string   `json:"method,omitempty"`
	Descriptor string   `json:"descriptor,omitempty"`
	Calls      uint64   `json:"calls"`
	Bound
	PerSecond float64  `json:"callsPerSecond"`
	Errors    uint64   `json:"errors"`
	Timed     uint64   `json:"timed"`
	Untimed   uint64   `json:"callsWithoutTime"`
	Mean      *float64 `json:"meanNanos,omitempty"`
	P50       *float64 `json:"p50Nanos,omitempty"`
	P90       *float64 `json:"p90Nanos,omitempty"`
	P99       *float64 `json:"p99Nanos,omitempty"`
	Max       *float64 `json:"maxNanos,omitempty"`
	Queued    uint64   `json:"queued,omitempty"` // tasks whose time in a queue is known
	Queue     *float64 `json:"meanQueueNanos,omitempty"`
	Running   int      `json:"running"`
	Stalled   int      `json:"stalled"`
	Oldest    float64  `json:"oldestSeconds"`

	Within  string            `json:"within,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"` // "(none)" if a tag is not set, "(null)" if it has no value
	Callers string            `json:"callers,omitempty"`
}

// NewMonitorRow describes a row.
func NewMonitorRow(r *monitor.Row) MonitorRow {
	row := MonitorRow{
		Category: r.Key.Category, Direction: r.Key.Direction, Pattern: r.Key.Pattern, Class: r.Key.Method.Class, Method: r.Key.Method.Name, Descriptor: r.Key.Method.Descriptor,
		Calls: r.Calls, PerSecond: r.Rate, Errors: r.Errors, Timed: r.Timed, Untimed: r.Untimed,
		Running: r.Running, Stalled: r.Stalled, Oldest: r.Oldest.Seconds(), Within: r.Key.Within, Callers: r.Key.Callers,
		Bound: NewBound(r.LowerBound),
	}
	for _, tag := range r.Key.TagValues() {
		if row.Tags == nil {
			row.Tags = make(map[string]string)
		}
		row.Tags[tag[0]] = tag[1]
	}
	if r.Queued > 0 {
		row.Queued, row.Queue = r.Queued, &r.Queue
	}
	if r.Timed > 0 {
		row.Mean, row.Max = &r.Mean, &r.Max
	}
	if r.Placed > 0 {
		row.P50, row.P90, row.P99 = &r.P50, &r.P90, &r.P99
	}
	return row
}

// Stall is a thread that has been in a call for too long.
type Stall struct {
	Thread  uint64        `json:"thread"`
	Virtual bool          `json:"virtual,omitempty"`
	New     bool          `json:"new,omitempty"`          // since the interval began
	Calls   []StalledCall `json:"calls"`                  // the outermost first
	Omitted int           `json:"callsOmitted,omitempty"` // in the middle
}

// StalledCall is a call on the stack of a stalled thread.
type StalledCall struct {
	Class      string  `json:"class"`
	Method     string  `json:"method"`
	Descriptor string  `json:"descriptor"`
	Seconds    float64 `json:"seconds"`
}

// Applied is written by `sonde apply --json` while it holds a JVM, and at the end.
type Applied struct {
	PID          int                `json:"pid"`
	JDK          string             `json:"jdk"`
	Main         string             `json:"main,omitempty"`
	File         string             `json:"file"`
	Began        time.Time          `json:"began"`
	Seconds      float64            `json:"seconds"`
	Final        bool               `json:"final"`
	Ended        string             `json:"ended,omitempty"` // duration, asked, probes, interrupted, undone, exited, lost
	Probes       []handover.Running `json:"probes"`
	Records      []results.Recorded `json:"records,omitempty"`
	Goals        []Goal             `json:"goals,omitempty"`
	HookShares   *HookCourse        `json:"hookShares,omitempty"` // of a set with goals
	Threads      int                `json:"threads"`
	Kept         int                `json:"tracesKept"`
	NotChosen    uint64             `json:"tracesNotChosen"`
	OnlyCounted  uint64             `json:"callsNotTraced"`
	Dropped      uint64             `json:"callsNotCounted"`
	ContextsLost uint64             `json:"contextsLost"`
	Ambiguous    uint64             `json:"ambiguousTasks"`
	LeftAlone    []Left             `json:"leftAlone,omitempty"`
	session.Weavings
	Remarks []string `json:"remarks,omitempty"`
	// Disturbed says that the program did not run as without Sonde. Disturbance is what measuring has done to its speed.
	Disturbed   string            `json:"disturbed,omitempty"`
	Disturbance *cost.Disturbance `json:"disturbance,omitempty"`
}

// A HookCourse is what the hooks of a probe set cost over time, as parts of the program's CPU time.
type HookCourse struct {
	Budget  float64     `json:"budget"`
	Largest float64     `json:"largestShare"` // in any ten seconds
	Course  []HookShare `json:"course"`
}

// A HookShare is what hooks have cost in the ten seconds before a moment.
type HookShare struct {
	At     time.Time `json:"at"`
	Share  float64   `json:"share"`
	Raised bool      `json:"raised"` // what the method of a missed goal calls has hooks
}

// A Goal is the state of a goal of a probe set.
type Goal struct {
	Method   string        `json:"method"` // pattern
	Goal     []string      `json:"goal"`   // conditions that should hold
	State    string        `json:"state"`  // met, missed, recovering
	Seen     string        `json:"seen,omitempty"`
	Misses   int           `json:"misses"` // how often it was missed after it was met
	Raised   bool          `json:"raised"` // what the method calls has hooks
	Path     []drill.Level `json:"path,omitempty"`
	Findings []string      `json:"findings,omitempty"`
	Steps    []GoalStep    `json:"steps"` // the latest
}

// A GoalStep is what was done for a goal, and why.
type GoalStep struct {
	At   time.Time `json:"at"`
	Seen string    `json:"seen,omitempty"` // figures
	Done string    `json:"done"`
}

// GoalMissed is given to the command of a missed goal, or posted.
type GoalMissed struct {
	PID  int       `json:"pid"`
	JDK  string    `json:"jdk"`
	Main string    `json:"main,omitempty"`
	At   time.Time `json:"at"`
	Goal Goal      `json:"missed"`
}

// ApplyEnded is written by `sonde apply --end --json`.
type ApplyEnded struct {
	PID   int  `json:"pid"`
	Ended bool `json:"ended"`
}

// Handover is written by `sonde apply --json` for a set that was handed over or compared.
type Handover struct {
	PID     int               `json:"pid"`
	Applied bool              `json:"applied"`
	Changes []probeset.Change `json:"changes"`
	Woven   string            `json:"woven,omitempty"` // with --dry-run: what templates insert into methods, as a difference of bytecode
	Outcome *handover.Outcome `json:"outcome,omitempty"`
}
