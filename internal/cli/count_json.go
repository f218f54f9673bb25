package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// countJSON is what `sonde count --json` writes. What is known only at the end
// is left out before.
type countJSON struct {
	PID       int           `json:"pid"`
	JDK       string        `json:"jdk"`
	Main      string        `json:"main,omitempty"`
	Patterns  []string      `json:"patterns"`
	Timing    string        `json:"timing"`           // exact, sampled, none
	Period    uint32        `json:"period,omitempty"` // of sampled
	Began     time.Time     `json:"began"`
	Seconds   float64       `json:"seconds"`
	Final     bool          `json:"final"`
	Ended     string        `json:"ended,omitempty"` // duration, calls, interrupted, undone, exited, lost
	Calls     uint64        `json:"calls"`
	Threads   int           `json:"threads"`
	Untimed   uint64        `json:"callsWithoutTime"`
	Dropped   uint64        `json:"callsNotCounted"`
	Methods   []methodJSON  `json:"methods"`
	Hooks     *hooksJSON    `json:"hooks,omitempty"`
	LeftAlone []leftJSON    `json:"leftAlone,omitempty"`
	Leaving   *leavingJSON  `json:"leaving,omitempty"`
	HookCost  *hookCostJSON `json:"hookCost,omitempty"`
	Remarks   []string      `json:"remarks,omitempty"`
}

// methodJSON is a method with what was measured. Times are there only where
// calls were timed. Sampled times are of the calls that were timed alone:
// nothing in it is estimated.
type methodJSON struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Calls      uint64 `json:"calls"`
	lowerBoundJSON
	PerSecond    float64  `json:"callsPerSecond"`
	Exceptions   uint64   `json:"exceptions"`
	Running      *uint64  `json:"running,omitempty"`      // told by exact timing
	RunningNanos uint64   `json:"runningNanos,omitempty"` // so far, of outermost calls
	Timed        uint64   `json:"timed"`
	TotalNanos   *uint64  `json:"totalNanos,omitempty"`
	SelfNanos    *int64   `json:"selfNanos,omitempty"`
	MeanNanos    *float64 `json:"meanNanos,omitempty"`
	MeanError    *float64 `json:"meanError,omitempty"` // of sampled times, by chance alone, in 19 of 20 cases: 0.1 is 10 %; what timing adds is not in it
	contextJSON
}

// contextJSON is what tells results of one method apart.
type contextJSON struct {
	labelJSON
	Undecided uint64 `json:"undecided,omitempty"` // calls whose condition could not be told; they are not among the calls
}

// labelJSON is what tells results of one method or probe apart.
type labelJSON struct {
	Within  string             `json:"within,omitempty"`
	Tags    map[string]*string `json:"tags,omitempty"`      // one that is not set is left out
	Callers []string           `json:"callers,omitempty"`   // the innermost first
	Other   bool               `json:"otherTags,omitempty"` // there was no room to tell more apart
}

func describeContext(row *liveprobes.Row) (c contextJSON) {
	if row == nil {
		return c
	}
	return contextJSON{describeLabel(row.Sequence, row.Label), row.Undecided}
}

func describeLabel(within string, label ledger.Label) labelJSON {
	d := labelJSON{Within: within, Other: label.Other || label.Unknown}
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

type hooksJSON struct {
	Classes int `json:"classes"`
	Methods int `json:"methods"`
	wovenJSON
	Loaded        int      `json:"classesLoaded"`
	Matched       int      `json:"classesMatched"`
	Batches       int      `json:"batches"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmatched     []string `json:"unmatchedPatterns,omitempty"`
}

type leftJSON struct {
	Class  string `json:"class"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

type leavingJSON struct {
	Classes       uint32   `json:"classesPutBack"`
	Millis        float64  `json:"millis"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmapped      bool     `json:"unmapped"`
}

type hookCostJSON struct {
	Median float64 `json:"nanosPerCall"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Runs   int     `json:"runs"`
	Share  float64 `json:"shareOfOneProcessor"`
}

func describeRow(r *methodRow, timing string) methodJSON {
	m := methodJSON{
		Class: r.class, Method: r.name, Descriptor: r.descriptor, Calls: r.Calls, PerSecond: r.rate,
		Exceptions: r.Threw, Timed: r.Timed, contextJSON: describeContext(r.watched), lowerBoundJSON: describeLowerBound(r.LowerBound),
	}
	if timing == timingExact {
		m.Running, m.RunningNanos = &r.Active, r.Running
	}
	if sure := r.spread.error(); timing == timingSampled && sure >= 0 {
		m.MeanError = &sure
	}
	if r.Timed > 0 {
		mean := r.mean()
		m.TotalNanos, m.MeanNanos = &r.Nanos, &mean
	}
	if r.Timed > 0 && timing == timingExact {
		m.SelfNanos = &r.Self
	}
	return m
}

func describeLeft(left []session.LeftAlone) []leftJSON {
	var list []leftJSON
	for _, l := range left {
		list = append(list, leftJSON{strings.ReplaceAll(l.Class, "/", "."), l.Method, l.Reason})
	}
	return list
}

// costMillis are the parts of a cost that are known.
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

// describeHooks tells where hooks are and what putting them in took.
func (v *visit) describeHooks() *hooksJSON {
	i := v.installation
	hooks := &hooksJSON{
		Classes: v.session.Classes(), Methods: len(v.session.Methods()), Loaded: i.Loaded, Matched: i.Matched, Batches: len(i.Batches),
		wovenJSON: describeWoven(v.session),
	}
	hooks.PauseMillis, hooks.CompileMillis = costMillis(batchCosts(i.Batches))
	for _, lost := range i.Unmatched {
		hooks.Unmatched = append(hooks.Unmatched, lost.Pattern)
	}
	if v.watching.isUsed() {
		hooks.Unmatched = append(hooks.Unmatched, v.watching.unmatched()...)
	}
	return hooks
}

func describeLeaving(f *session.Farewell) *leavingJSON {
	if f == nil {
		return nil
	}
	leaving := &leavingJSON{Classes: f.Restored.Classes, Millis: f.Took.Seconds() * 1000, Unmapped: f.Restored.Unmapped}
	leaving.PauseMillis, leaving.CompileMillis = costMillis(f.Pause)
	return leaving
}

func (r *countRun) writeJSON(look *countLook) error {
	jvm := r.session.JVM()
	d := countJSON{
		PID: r.pid, JDK: r.session.JDK().String(), Main: jvm.Main, Patterns: r.patterns, Timing: r.timing,
		Began: r.began.Round(time.Millisecond), Seconds: look.elapsed.Seconds(), Final: look.final, Ended: look.ended,
		Calls: look.calls, Threads: look.threads, Untimed: look.untimed, Dropped: look.dropped, Methods: []methodJSON{},
	}
	if r.timing == timingSampled {
		d.Period = r.period
	}
	for i := range look.rows {
		if r.top == 0 || i < r.top {
			d.Methods = append(d.Methods, describeRow(&look.rows[i], r.timing))
		}
	}
	if cost := r.cost.get(); cost != nil {
		d.HookCost = &hookCostJSON{cost.Median, cost.Low, cost.High, cost.Runs, look.share(cost)}
	}
	if look.final {
		r.describeEnd(&d, look)
	}
	return writeJSON(r.out, d)
}

func (r *countRun) describeEnd(d *countJSON, look *countLook) {
	d.Hooks = r.describeHooks()
	d.Hooks.Methods = len(look.rows)
	d.LeftAlone = describeLeft(r.leftAlone())
	d.Leaving = describeLeaving(look.farewell)
	r.lock.Lock()
	defer r.lock.Unlock()
	d.Remarks = slices.Concat(r.remarks, look.losses)
}
