package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/monitor"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A monitorRun is a `sonde monitor` at work.
type monitorRun struct {
	*monitoring
	visit
	export  *exporter
	view    monitorView
	options monitor.Options
	main    string // the program's main class
	method  func(id uint32) (session.Method, bool)
	source  monitor.Source
	watched map[uint32]session.Method // methods of rows by context

	first, last *monitor.Reading
	table       *monitorTable // the last that was made
	titled      bool          // plain lines have had their titles
}

// A monitorTable is what there is to see of an interval.
type monitorTable struct {
	*monitor.Interval
	from, to *monitor.Reading
	elapsed  time.Duration // since the hooks went on
	at       time.Time
	final    bool
	ended    string
	farewell *session.Farewell // nil where there was nothing to leave any more
}

func (c *monitoring) run(ctx context.Context) (err error) {
	// A reader that goes away, as head does, must not kill it with hooks in the
	// JVM: what it writes then fails, and it leaves in order.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	r := &monitorRun{
		monitoring: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}},
		view: monitorView{sort: c.sort, by: c.by}, options: monitor.Options{Stall: c.stall},
	}
	if r.export, err = newExporter(c.prometheus, c.listen); err != nil {
		return err
	}
	defer r.export.close()
	flags, period := c.flags()
	if err := r.enter(ctx, "monitor", flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	r.first = monitor.Start(r.session.Now())
	r.last = r.first
	r.main, r.method, r.source = r.session.JVM().Main, r.session.Method, r.session
	if r.watching.isUsed() {
		r.method, r.source = r.watchedMethod, r.watching.Source()
	}
	if r.options.Clock, err = r.session.ClockCost(ctx); err != nil && ctx.Err() == nil {
		r.remark("what the clock costs could not be measured, so times hold it: " + oneLine(err))
	}
	if address := r.export.address(); address != "" {
		r.screen.say("serving http://%s/metrics", address)
	}
	return r.finish(ctx, r.watch(ctx))
}

// finish tells the end: what was measured is read before the hooks go.
func (r *monitorRun) finish(ctx context.Context, ended string) error {
	var failure error
	if ended == endedLost {
		failure = r.session.Err()
	}
	failure = errors.Join(failure, r.tellRest(ended))
	whole := r.look(r.first)
	whole.final, whole.ended = true, ended
	defer tellWaiting(r.pid, r.screen.say)()
	r.cost.measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	whole.farewell = farewell
	r.publish(false)
	return errors.Join(r.write(whole), failure, err)
}

// tellRest takes the last reading. Objects of intervals add up to the whole, so that
// the last, which is shorter, is written as well.
func (r *monitorRun) tellRest(ended string) error {
	before := r.last
	if err := r.read(); err != nil || !r.json || ended == endedUnread {
		return err
	}
	return r.writeJSON(r.look(before))
}

// read takes a reading.
func (r *monitorRun) read() error {
	reading, err := monitor.Take(r.source, r.last, r.stall)
	if err != nil {
		return err
	}
	r.last = reading
	return nil
}

// look is what happened from a reading to the last.
func (r *monitorRun) look(from *monitor.Reading) *monitorTable {
	table := &monitorTable{from: from, to: r.last, elapsed: time.Duration(r.last.At - r.first.At), at: time.Now()}
	r.group(table)
	return table
}

// group makes the rows that are to be seen.
func (r *monitorRun) group(table *monitorTable) {
	table.Interval = monitor.Between(table.from, table.to, monitorGroups(r.view.by, r.set, r.subjects()), r.options)
}

// watch waits for the end and shows what happens meanwhile. It tells why it ended.
func (r *monitorRun) watch(ctx context.Context) string {
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	var due, poll <-chan time.Time
	if r.calls > 0 {
		const pollEvery = 20 * time.Millisecond
		looking := time.NewTicker(pollEvery)
		defer looking.Stop()
		poll = looking.C
	}
	if r.duration > 0 {
		timer := time.NewTimer(r.duration - time.Since(r.began))
		defer timer.Stop()
		due = timer.C
	}
	keys := (<-chan rune)(nil)
	if !r.json && !r.screen.silent {
		pressed, restore := readKeys()
		defer restore()
		keys, r.view.hasKeys = pressed, pressed != nil
	}
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-r.session.Done():
			return r.endedBy()
		case <-due:
			return endedDuration
		case <-poll:
			if r.callsSoFar() >= r.calls {
				return endedCalls
			}
		case key := <-keys:
			if r.view.press(key) {
				return endedInterrupted
			}
			if r.table != nil {
				r.group(r.table)
			}
			r.draw()
		case <-ticker.C:
			if err := r.show(ctx); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
		}
	}
}

// show tells what happened since it last did.
func (r *monitorRun) show(ctx context.Context) error {
	r.cost.refresh(ctx, r.began)
	before := r.last
	if err := r.read(); err != nil {
		return nil //nolint:nilerr // the end will say it
	}
	r.publish(true)
	table := r.look(before)
	switch {
	case r.json:
		return r.writeJSON(table)
	case r.screen.silent:
		return r.writeLines(table)
	}
	if !r.view.paused || r.table == nil {
		r.table = table
	}
	r.draw()
	return nil
}

// publish tells a Prometheus of all since the beginning. Rows are those that were
// asked for, whatever keys made of the table.
func (r *monitorRun) publish(isUp bool) {
	if !r.export.isWanted() {
		return
	}
	groups := monitorGroups(r.by, r.set, r.subjects())
	err := r.export.publish(&monitor.Exposition{PID: r.pid, Up: isUp, Since: monitor.Between(r.first, r.last, groups, r.options)})
	if err != nil {
		r.remark(oneLine(err))
	}
}
