package cli

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A monitorRun is a `sonde monitor` at work.
type monitorRun struct {
	*monitoring
	visit
	board   board
	export  *exporter
	watched map[uint32]session.Method // methods of rows by context
}

func (c *monitoring) run(ctx context.Context) (err error) {
	defer outliveReader()()
	r := newMonitorRun(c)
	if r.export, err = newExporter(c.prometheus, c.listen); err != nil {
		return err
	}
	defer r.export.close()
	flags, period := c.flags()
	if err := r.enter(ctx, "monitor", flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	r.board.begin(monitor.Start(r.session.Now()))
	r.board.main, r.board.method, r.board.source = r.session.JVM().Main, r.session.Method, r.session
	if r.watching.isUsed() {
		r.board.method, r.board.source = r.watchedMethod, r.watching.Source()
	}
	if r.board.options.Clock, err = r.session.ClockCost(ctx); err != nil && ctx.Err() == nil {
		r.remark("what the clock costs could not be measured, so times hold it: " + oneLine(err))
	}
	if address := r.export.address(); address != "" {
		r.screen.say("serving http://%s/metrics", address)
	}
	return r.finish(ctx, r.watch(ctx))
}

func newMonitorRun(c *monitoring) *monitorRun {
	r := &monitorRun{monitoring: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}}}
	r.board = board{
		streams: c.streams, screen: r.screen, pid: c.pid, interval: c.interval, sample: c.sample, times: timesText(c.sample), top: c.top, json: c.json,
		view: monitorView{sort: c.sort, by: c.by}, options: monitor.Options{Stall: c.stall}, costs: r.costText, describe: r.describeEnd,
		groups: func(by string) *monitor.Groups { return monitorGroups(by, r.set, r.subjects()) },
	}
	return r
}

// timesText says which calls are timed.
func timesText(sample uint32) string {
	if sample > 1 {
		return "one call in " + grouped(int(sample)) + " timed"
	}
	return "every call timed"
}

// finish tells the end: what was measured is read before the hooks go.
func (r *monitorRun) finish(ctx context.Context, ended string) error {
	var failure error
	if ended == endedLost {
		failure = r.session.Err()
	}
	failure = errors.Join(failure, r.board.tellRest(ended))
	whole := r.board.look(r.board.first)
	whole.final, whole.ended = true, ended
	r.cost.measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	whole.farewell = farewell
	r.publish(false)
	return errors.Join(r.write(whole), failure, err)
}

// watch waits for the end and shows what happens meanwhile. It tells why it ended.
func (r *monitorRun) watch(ctx context.Context) string {
	s := stay{done: r.session.Done(), why: r.endedBy, calls: r.calls}
	if r.duration > 0 {
		s.left = max(1, r.duration-time.Since(r.began))
	}
	s.show = func(before *monitor.Reading) error {
		r.cost.refresh(ctx, r.began)
		r.publish(true)
		return r.board.show(before)
	}
	return r.board.watch(ctx, s)
}

// publish tells a Prometheus of all since the beginning. Rows are those that were
// asked for, whatever keys made of the table.
func (r *monitorRun) publish(isUp bool) {
	if !r.export.isWanted() {
		return
	}
	b := &r.board
	err := r.export.publish(&monitor.Exposition{PID: r.pid, Up: isUp, Since: monitor.Between(b.first, b.last, b.groups(r.by), b.options)})
	if err != nil {
		r.remark(oneLine(err))
	}
}
