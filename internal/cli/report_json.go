package cli

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// reportJSON is what `sonde report --json` writes.
type reportJSON struct {
	Arena        string            `json:"arena"`
	PID          int               `json:"pid"`   // as it is seen from here, or where it has ended as it saw itself
	State        string            `json:"state"` // measuring, out, ended
	Main         string            `json:"main,omitempty"`
	Since        time.Time         `json:"since"`
	Command      string            `json:"command,omitempty"`
	Pack         string            `json:"pack,omitempty"`
	Title        string            `json:"title,omitempty"`
	Classes      *accountJSON      `json:"classes,omitempty"`
	Calls        uint64            `json:"calls"`
	Threads      int               `json:"threads"`
	UnderWay     uint64            `json:"underWay"` // calls that have begun and not ended
	Untimed      uint64            `json:"callsWithoutTime"`
	Dropped      uint64            `json:"callsNotCounted"`
	ContextsLost uint64            `json:"contextsLost"`
	Ambiguous    uint64            `json:"ambiguousTasks"`
	ArenaUsed    int64             `json:"arenaUsed"`
	ArenaRoom    int64             `json:"arenaRoom"`
	Probes       []reportProbeJSON `json:"probes,omitempty"`
	Methods      []reportRowJSON   `json:"methods"`
	LeftAlone    []leftJSON        `json:"leftAlone,omitempty"` // when the pack was made
	Remarks      []string          `json:"remarks,omitempty"`
}

// accountJSON is what became of the classes of a pack.
type accountJSON struct {
	Woven    uint32        `json:"woven"`
	Differs  uint32        `json:"differs"`
	Blind    uint32        `json:"blind"`
	Failed   uint32        `json:"failed"`
	NotWoven []unwovenJSON `json:"notWoven,omitempty"` // those there was room to name
}

type unwovenJSON struct {
	Class string `json:"class"`
	Why   string `json:"why"` // differs, blind, failed
}

func describeAccount(a *arena.Account) *accountJSON {
	d := &accountJSON{Woven: a.Woven, Differs: a.Differs, Blind: a.Blind, Failed: a.Failed}
	for _, left := range a.Left {
		d.NotWoven = append(d.NotWoven, unwovenJSON{strings.ReplaceAll(left.Class, "/", "."), string(left.Why)})
	}
	return d
}

// timesJSON are figures of calls. Times are there only where calls were timed, and are of
// those alone: nothing in it is estimated.
type timesJSON struct {
	Calls uint64 `json:"calls"`
	lowerBoundJSON
	Exceptions uint64   `json:"exceptions"`
	Running    uint64   `json:"running"`
	Timing     string   `json:"timing"` // exact, sampled, none
	Timed      uint64   `json:"timed"`
	Undecided  uint64   `json:"undecided,omitempty"`
	TotalNanos *uint64  `json:"totalNanos,omitempty"`
	SelfNanos  *int64   `json:"selfNanos,omitempty"`
	MeanNanos  *float64 `json:"meanNanos,omitempty"`
	P99Nanos   *float64 `json:"p99Nanos,omitempty"`
	MaxNanos   *uint64  `json:"maxNanos,omitempty"`
}

type reportRowJSON struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Probe      string `json:"probe,omitempty"`
	timesJSON
	labelJSON
}

type reportProbeJSON struct {
	Probe   string `json:"probe"`
	Methods int    `json:"methods"`
	timesJSON
	labelJSON
}

func describeTimes(r *reportRow) timesJSON {
	d := timesJSON{Calls: r.Calls, Exceptions: r.Threw, Running: r.Active, Timing: r.timing, Timed: r.Timed, Undecided: r.Undecided, lowerBoundJSON: describeLowerBound(r.LowerBound)}
	if r.Timed > 0 {
		mean := r.mean()
		d.TotalNanos, d.MeanNanos, d.MaxNanos = &r.Nanos, &mean, &r.Max
	}
	if r.Timed > 0 && r.timing == timingExact {
		d.SelfNanos = &r.Self
	}
	if tail := r.p99(); tail >= 0 {
		d.P99Nanos = &tail
	}
	return d
}

func (r *reported) describe(top int) reportJSON {
	owner := r.Owner()
	d := reportJSON{
		Arena: r.Arena, PID: owner.Target, State: string(r.State), Since: owner.Opened.Round(time.Millisecond), Command: owner.Command,
		Pack: r.Pack, Title: r.Title, Calls: r.calls, Threads: r.results.Threads, UnderWay: r.active, Untimed: r.untimed,
		Dropped: r.results.Dropped, ContextsLost: r.results.ContextsLost, Ambiguous: r.results.Ambiguous,
		Methods: []reportRowJSON{}, Remarks: r.remarks(),
	}
	d.ArenaUsed, d.ArenaRoom = r.Room()
	if r.JVM != nil {
		d.PID, d.Main = r.JVM.PID, r.JVM.Main
	}
	if r.packed {
		d.Classes = describeAccount(&r.account)
	}
	most := func(rows []reportRow) []reportRow {
		if top > 0 {
			return rows[:min(top, len(rows))]
		}
		return rows
	}
	for _, row := range most(r.probes) {
		d.Probes = append(d.Probes, reportProbeJSON{row.probe, row.methods, describeTimes(&row), describeLabel(row.within, row.label)})
	}
	for _, row := range most(r.methods) {
		d.Methods = append(d.Methods, reportRowJSON{row.class, row.name, row.descriptor, row.probe, describeTimes(&row), describeLabel(row.within, row.label)})
	}
	for _, left := range r.Left {
		d.LeftAlone = append(d.LeftAlone, leftJSON{strings.ReplaceAll(left.Class, "/", "."), left.Method, left.Reason})
	}
	return d
}
