package handover

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Holder keeps a probe set applied to a JVM until it is stopped.
type Holder struct {
	Probes *liveprobes.Probes
	Began  time.Time // when the set was applied

	options HolderOptions
	stop    func() // ends the goroutine that runs Probes

	finished atomic.Bool // a probe has ended, perhaps the last

	turn   sync.Mutex         // held while another set is applied
	stays  context.Context    // done when the JVM is about to be left
	depart context.CancelFunc // ends stays

	state sync.Mutex
	ended map[string]liveprobes.End // by probe, under state
	// Probes that have changed begin at zero: when they did, and what their rows had then.
	altered map[string]time.Time
	base    map[uint32]*arena.Totals
}

// HolderOptions are the callbacks of a holder, all of which are required. They may be
// called from any goroutine.
type HolderOptions struct {
	Command string // for the status

	Notice  func(text string)                                // something the user should read
	Ended   func(liveprobes.End)                             // a probe has ended
	Changed func(changes []probeset.Change)                  // another command has changed the set
	Explain func(err error) error                            // words an error of applying a set
	Notes   func(report *liveprobes.Report) (notes []string) // for a command whose set was applied
}

// Hold applies a set to the JVM of a session. Probes that end by time or calls begin with Begin.
func Hold(ctx context.Context, s *session.Look, set *probeset.Set, o HolderOptions) (*Holder, *liveprobes.Report, error) {
	h := &Holder{options: o, ended: make(map[string]liveprobes.End), altered: make(map[string]time.Time), base: make(map[uint32]*arena.Totals)}
	h.Probes = liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads, Held: true, Notice: o.Notice, Ended: h.probeEnded})
	report, err := h.Probes.Apply(ctx, set)
	h.Began = time.Now()
	if err != nil {
		h.Probes.Close()
		return nil, nil, o.Explain(err)
	}
	h.stays, h.depart = context.WithCancel(context.WithoutCancel(ctx))
	h.stop = h.Probes.Start(func(err error) { o.Notice(format.OneLine(err)) })
	return h, report, nil
}

// Begin sets when results begin.
func (h *Holder) Begin(at time.Time) {
	h.Began = at
	h.Probes.Begin()
}

func (h *Holder) probeEnded(e liveprobes.End) {
	h.state.Lock()
	h.ended[e.Probe] = e
	h.state.Unlock()
	h.options.Ended(e)
	h.finished.Store(true)
}

// IsFinished reports whether the last probe has ended.
func (h *Holder) IsFinished() bool { return h.finished.Swap(false) && len(h.Probes.Set().Probes) == 0 }

// Apply applies another set, or with dryRun returns what that would change.
func (h *Holder) Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*Outcome, error) {
	changes := probeset.Diff(h.Probes.Set(), set)
	awaiting := h.Probes.Awaits()
	if dryRun || len(changes) == 0 && awaiting == 0 {
		return &Outcome{Changes: changes, Awaiting: awaiting}, nil
	}
	h.turn.Lock()
	defer h.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.stays, cancel)()
	report, err := h.Probes.Apply(ctx, set)
	if h.stays.Err() != nil {
		return nil, errors.New("sonde apply for this JVM is ending: try again in a moment")
	}
	if err != nil {
		return nil, h.options.Explain(err)
	}
	h.state.Lock()
	for _, p := range set.Probes {
		delete(h.ended, p.Name)
	}
	h.state.Unlock()
	h.beginAgain(Altered(changes))
	h.options.Changed(changes)
	return &Outcome{
		Changes: report.Changes, Woven: report.Woven, Removed: report.Removed, Switched: report.Switched,
		Notes: append(h.options.Notes(report), report.Warnings...),
	}, nil
}

// Altered returns the names of the probes that changes alter.
func Altered(changes []probeset.Change) (names []string) {
	for _, c := range changes {
		if c.Kind == probeset.OfProbe && c.Action == probeset.Alter {
			names = append(names, c.Name)
		}
	}
	return names
}

// beginAgain makes probes begin at zero, because what they counted before was something else.
func (h *Holder) beginAgain(names []string) {
	found, err := h.Probes.Results()
	if err != nil {
		return // the end reports it
	}
	h.state.Lock()
	defer h.state.Unlock()
	for _, name := range names {
		h.altered[name] = time.Now()
	}
	for i := range found.Rows {
		if row := &found.Rows[i]; slices.Contains(names, row.Probe) {
			h.base[row.ID] = &row.Totals
		}
	}
}

// sinceAltered returns results without what altered probes had before. The lock is held.
func (h *Holder) sinceAltered(found *liveprobes.Results) *liveprobes.Results {
	since := *found
	since.Rows = nil
	for _, row := range found.Rows {
		if base := h.base[row.ID]; base != nil {
			row.Totals = *row.Totals.Since(base)
		}
		if row.Calls > 0 || row.Off || h.base[row.ID] == nil {
			since.Rows = append(since.Rows, row)
		}
	}
	return &since
}

// Status returns the state of the applied set.
func (h *Holder) Status() *Status {
	status := &Status{Sonde: os.Getpid(), Command: h.options.Command, Since: h.Began.Round(time.Millisecond), Probes: []Running{}}
	if found, err := h.Probes.Results(); err == nil { // the end reports errors
		status.Probes, status.Records = h.Rows(found, time.Since(h.Began), nil), results.AddRecords(found.Records)
	}
	return status
}

// Rows returns the rows of the probes that are or were applied. Rates are those of the time since
// the calls in before were read.
func (h *Holder) Rows(results *liveprobes.Results, since time.Duration, before map[RowKey]uint64) []Running {
	set := h.Probes.Set() // not under the lock, because the probes report endings at any time
	h.state.Lock()
	ended, altered := maps.Clone(h.ended), maps.Clone(h.altered)
	results = h.sinceAltered(results)
	h.state.Unlock()
	rows := Rows(results, set)
	for i := range rows {
		row := &rows[i]
		row.Ended = string(ended[row.Name].Why)
		since := since
		if at, is := altered[row.Name]; is {
			since = min(since, time.Since(at))
		}
		if calls := before[row.Key()]; since > 0 {
			row.PerSecond = float64(row.Calls-min(calls, row.Calls)) / since.Seconds()
		}
	}
	return rows
}

// Stop ends all changes, so that the results are final.
func (h *Holder) Stop() {
	h.depart()
	h.turn.Lock() // a change in progress ends first
	defer h.turn.Unlock()
	h.stop()
}
