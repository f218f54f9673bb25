package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
)

// monitorJSON is what `sonde monitor --json`, and `sonde attach --json`, writes at each interval, and at the end
// of the whole time. What is known only at the end is left out before.
type monitorJSON struct {
	PID     int              `json:"pid"`
	At      time.Time        `json:"at"`      // the end of the interval
	Seconds float64          `json:"seconds"` // its length
	Elapsed float64          `json:"elapsed"` // since the hooks went on
	Final   bool             `json:"final"`
	Ended   string           `json:"ended,omitempty"` // duration, calls, interrupted, undone, exited, lost, unread
	Sample  uint32           `json:"sample"`          // one call in so many is timed
	Threads int              `json:"threads"`         // that have called anything
	Lost    uint64           `json:"callsNotCounted"`
	Total   monitorRowJSON   `json:"total"`
	Rows    []monitorRowJSON `json:"rows"`
	Stalls  []stallJSON      `json:"stalls,omitempty"` // the oldest; rows count all

	JDK       string        `json:"jdk,omitempty"`
	Main      string        `json:"main,omitempty"`
	Patterns  []string      `json:"patterns,omitempty"`
	Hooks     *hooksJSON    `json:"hooks,omitempty"`
	LeftAlone []leftJSON    `json:"leftAlone,omitempty"`
	Leaving   *leavingJSON  `json:"leaving,omitempty"`
	HookCost  *hookCostJSON `json:"hookCost,omitempty"`
	Clock     *float64      `json:"clockNanos,omitempty"` // was taken off all times
	Remarks   []string      `json:"remarks,omitempty"`

	Pack    string       `json:"pack,omitempty"`  // of sonde attach
	Arena   string       `json:"arena,omitempty"` // that the pack's agent writes
	Classes *accountJSON `json:"classes,omitempty"`
}

// monitorRowJSON is a row. Times are there only where calls were timed.
type monitorRowJSON struct {
	Pattern    string `json:"pattern,omitempty"`
	Class      string `json:"class,omitempty"`
	Method     string `json:"method,omitempty"`
	Descriptor string `json:"descriptor,omitempty"`
	Calls      uint64 `json:"calls"`
	lowerBoundJSON
	PerSecond float64  `json:"callsPerSecond"`
	Errors    uint64   `json:"errors"`
	Timed     uint64   `json:"timed"`
	Untimed   uint64   `json:"callsWithoutTime"`
	Mean      *float64 `json:"meanNanos,omitempty"`
	P50       *float64 `json:"p50Nanos,omitempty"`
	P90       *float64 `json:"p90Nanos,omitempty"`
	P99       *float64 `json:"p99Nanos,omitempty"`
	Max       *float64 `json:"maxNanos,omitempty"`
	Running   int      `json:"running"`
	Stalled   int      `json:"stalled"`
	Oldest    float64  `json:"oldestSeconds"`

	Within  string            `json:"within,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"` // (none) where it is not set, (null) where it has no value
	Callers string            `json:"callers,omitempty"`
}

type stallJSON struct {
	Thread  uint64         `json:"thread"`
	Virtual bool           `json:"virtual,omitempty"`
	New     bool           `json:"new,omitempty"`          // since the interval began
	Calls   []underWayJSON `json:"calls"`                  // the outermost first
	Omitted int            `json:"callsOmitted,omitempty"` // in the middle
}

type underWayJSON struct {
	Class      string  `json:"class"`
	Method     string  `json:"method"`
	Descriptor string  `json:"descriptor"`
	Seconds    float64 `json:"seconds"`
}

func describeMonitorRow(r *monitor.Row) monitorRowJSON {
	row := monitorRowJSON{
		Pattern: r.Key.Pattern, Class: r.Key.Method.Class, Method: r.Key.Method.Name, Descriptor: r.Key.Method.Descriptor,
		Calls: r.Calls, PerSecond: r.Rate, Errors: r.Errors, Timed: r.Timed, Untimed: r.Untimed,
		Running: r.Running, Stalled: r.Stalled, Oldest: r.Oldest.Seconds(), Within: r.Key.Within, Callers: r.Key.Callers,
		lowerBoundJSON: describeLowerBound(r.LowerBound),
	}
	for _, tag := range r.Key.TagValues() {
		if row.Tags == nil {
			row.Tags = make(map[string]string)
		}
		row.Tags[tag[0]] = tag[1]
	}
	if r.Timed > 0 {
		row.Mean, row.Max = &r.Mean, &r.Max
	}
	if r.Placed > 0 {
		row.P50, row.P90, row.P99 = &r.P50, &r.P90, &r.P99
	}
	return row
}

func (b *board) writeJSON(table *monitorTable) error {
	d := monitorJSON{
		PID: b.pid, At: table.at.Round(time.Millisecond), Seconds: table.Length.Seconds(), Elapsed: table.elapsed.Seconds(),
		Final: table.final, Ended: table.ended, Sample: b.sample, Threads: table.Threads, Lost: table.Lost,
		Total: describeMonitorRow(&table.Total), Rows: []monitorRowJSON{},
	}
	rows := b.view.rows(table.Interval, keyNames(table.Rows))
	for n := range rows {
		if b.top == 0 || n < b.top {
			d.Rows = append(d.Rows, describeMonitorRow(&rows[n]))
		}
	}
	for _, stall := range table.Stalls {
		s := stallJSON{Thread: stall.Thread, Virtual: stall.Virtual, New: stall.IsNew, Omitted: stall.Omitted}
		for _, call := range stall.Calls {
			m, _ := b.method(call.ID)
			s.Calls = append(s.Calls, underWayJSON{strings.ReplaceAll(m.Class, "/", "."), m.Name, m.Descriptor, call.Age.Seconds()})
		}
		d.Stalls = append(d.Stalls, s)
	}
	if table.final {
		b.describe(&d, table)
	}
	return writeJSON(b.out, d)
}

func (r *monitorRun) describeEnd(d *monitorJSON, table *monitorTable) {
	d.JDK, d.Main, d.Patterns, d.Clock = r.session.JDK().String(), r.board.main, r.patterns, &r.board.options.Clock
	d.Hooks, d.LeftAlone = r.describeHooks(), describeLeft(r.leftAlone())
	d.Leaving = describeLeaving(table.farewell)
	if cost := r.cost.get(); cost != nil {
		d.HookCost = &hookCostJSON{cost.Median, cost.Low, cost.High, cost.Runs, cost.Median * table.Total.Rate / 1e9}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	d.Remarks = slices.Concat(r.remarks, r.losses())
}
