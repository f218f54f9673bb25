package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// An attachRun shows what a pack measures.
type attachRun struct {
	*attaching
	harvest *results.Harvest
	board   board
	rows    map[uint32]ledger.Row // by number
}

func (c *attaching) show(ctx context.Context, h *results.Harvest) error {
	defer outliveReader()()
	r := newAttachRun(c, h)
	if err := r.begin(); err != nil {
		return err
	}
	r.tell()
	stays := stay{why: r.why, left: c.duration, show: r.board.show}
	done, stop := r.awaitEnd(ctx)
	defer stop()
	stays.done = done
	return r.finish(r.board.watch(ctx, stays))
}

func newAttachRun(c *attaching, h *results.Harvest) *attachRun {
	r := &attachRun{attaching: c, harvest: h}
	by := byPattern
	if c.by == byMethod || h.Set == nil { // then no probe has a name
		by = byMethod
	}
	sample := sampleOf(h)
	r.board = board{
		streams: c.streams, screen: newScreen(c.streams), pid: c.pid, main: h.JVM.Main, interval: c.interval, sample: sample, times: timesText(sample),
		top: c.top, json: c.json, view: monitorView{sort: c.sort, by: by, hideIdle: true}, options: monitor.Options{Stall: c.stall},
		source: h, groups: r.groups, method: r.method, costs: r.accountLine, describe: r.describe,
	}
	return r
}

// begin takes the reading that all is counted from: what was before is not told.
func (r *attachRun) begin() error {
	first, err := monitor.Take(r.harvest, monitor.Start(r.harvest.Now()), r.stall)
	if err != nil {
		return err
	}
	r.board.begin(first)
	return nil
}

// sampleOf is the greatest that a probe of the pack has.
func sampleOf(h *results.Harvest) uint32 {
	sample := uint32(1)
	if h.Set != nil {
		for _, p := range h.Set.Probes {
			sample = max(sample, p.Sample)
		}
	}
	return sample
}

// tell says what the pack could not do.
func (r *attachRun) tell() {
	say := r.board.screen.say
	say("reading the arena of process %d; %s", r.pid, printable(r.accountLine(nil)))
	if account, has, err := r.harvest.Account(); has && err == nil && len(account.Left) > 0 {
		say("%s: sonde attach %d --weave has this Sonde weave what it can", printable(unwovenText(&account, mostNamed)), r.pid)
	}
	for _, note := range r.harvest.Notes {
		say("note: %s", printable(note))
	}
}

// accountLine is what became of the pack's classes.
func (r *attachRun) accountLine(*monitorTable) string {
	name := r.harvest.JVM.Pack.Path
	account, has, err := r.harvest.Account()
	if err != nil || !has {
		return "pack " + name
	}
	return "classes of pack " + name + ": " + accountText(&account)
}

// groups are the rows of a table: a probe each, or a method.
func (r *attachRun) groups(by string) *monitor.Groups {
	groups := &monitor.Groups{Of: make(map[uint32][]monitor.Key)}
	results, err := r.harvest.Results()
	if err != nil {
		return groups // the end will say it
	}
	r.rows = make(map[uint32]ledger.Row, len(results.Rows))
	for _, row := range results.Rows {
		r.rows[row.Number] = row
		key := contextKey(row.Sequence, row.Label)
		if by == byMethod {
			key.Method = monitor.Method{Class: row.Class, Name: row.Method, Descriptor: row.Descriptor}
		} else if key.Pattern = row.Probe; row.Probe == "" {
			continue
		}
		if !slices.Contains(groups.Keys, key) {
			groups.Keys = append(groups.Keys, key)
		}
		groups.Of[row.Number] = []monitor.Key{key}
	}
	slices.SortFunc(groups.Keys, func(a, b monitor.Key) int {
		if order := strings.Compare(a.Pattern, b.Pattern); order != 0 {
			return order
		}
		return compareKeys(a, b)
	})
	return groups
}

func (r *attachRun) method(number uint32) (session.Method, bool) {
	row, is := r.rows[number]
	return session.Method{ID: number, Class: row.Class, Name: row.Method, Descriptor: row.Descriptor}, is
}

// awaitEnd looks whether the JVM still runs with the pack.
func (r *attachRun) awaitEnd(ctx context.Context) (done <-chan struct{}, stop func()) {
	const lookEvery = 300 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !process.Local.Same(r.harvest.JVM) || r.harvest.IsStopped() {
				close(closed)
				return
			}
		}
	}()
	return closed, cancel
}

// why tells what ended it, and says so.
func (r *attachRun) why() string {
	if r.harvest.IsStopped() {
		r.board.screen.say("note: the pack was taken out of process %d", r.pid)
		return endedUndone
	}
	r.board.screen.say("note: process %d has ended", r.pid)
	return endedExited
}

// finish tells the whole time.
func (r *attachRun) finish(ended string) error {
	failure := r.board.tellRest(ended)
	whole := r.board.look(r.board.first)
	whole.final, whole.ended = true, ended
	r.board.screen.clear()
	if r.json {
		return errors.Join(r.board.writeJSON(whole), failure)
	}
	return errors.Join(r.board.writeWhole(whole, nil), failure)
}

// describe adds what is known of the pack.
func (r *attachRun) describe(d *monitorJSON, _ *monitorTable) {
	d.Main, d.Pack, d.Arena, d.Remarks = r.board.main, r.harvest.JVM.Pack.Path, r.harvest.Arena, r.harvest.Notes
	if account, has, err := r.harvest.Account(); has && err == nil {
		d.Classes = describeAccount(&account)
	}
}
