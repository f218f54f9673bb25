package cli

import (
	"bufio"
	"context"
	"errors"
	"syscall"
	"time"
)

// Why counting ended.
const (
	endedDuration    = "duration"
	endedCalls       = "calls"
	endedInterrupted = "interrupted"
	endedUndone      = "undone"
	endedExited      = "exited" // the JVM has
	endedLost        = "lost"   // the agent is
	endedUnread      = "unread" // nobody reads what is written
)

// A count under way.
type countRun struct {
	*counting
	visit

	spreads map[uint32]*spread // of sampled times, by method
	shownAt time.Time          // the last look
	shown   map[uint32]uint64
}

func (c *counting) run(ctx context.Context) error {
	defer outliveReader()()
	r := &countRun{counting: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}}}
	flags, period := c.flags()
	if err := r.enter(ctx, "count", flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	ended := r.watch(ctx)
	var failure error
	if ended == endedLost {
		failure = r.session.Err()
	}
	// What was measured is read before the hooks go: it is as of now.
	look, err := r.look()
	if err != nil {
		_, leaving := r.leave(ctx, endedLost)
		return errors.Join(err, leaving)
	}
	look.final, look.ended = true, ended
	r.cost.measure(context.WithoutCancel(ctx))
	r.screen.clear()
	if look.farewell, err = r.leave(ctx, ended); err != nil {
		failure = errors.Join(failure, err)
	}
	return errors.Join(r.write(look), failure)
}

// watch waits for the end and shows what happens meanwhile. It tells why it
// ended.
func (r *countRun) watch(ctx context.Context) string {
	refresh := time.NewTicker(r.interval)
	defer refresh.Stop()
	var due, poll, batch <-chan time.Time
	if r.duration > 0 {
		timer := time.NewTimer(r.duration - time.Since(r.began))
		defer timer.Stop()
		due = timer.C
	}
	if r.calls > 0 {
		const pollEvery = 20 * time.Millisecond
		ticker := time.NewTicker(pollEvery)
		defer ticker.Stop()
		poll = ticker.C
	}
	if r.timing == timingSampled {
		const batchEvery = 100 * time.Millisecond
		ticker := time.NewTicker(batchEvery)
		defer ticker.Stop()
		batch = ticker.C
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
			if found, err := r.measured(); err == nil && found.calls() >= r.calls {
				return endedCalls
			}
		case <-batch:
			r.takeBatch()
		case <-refresh.C:
			if err := r.show(ctx); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
		}
	}
}

// takeBatch notes what was timed lately, by which to tell how sure it is.
func (r *countRun) takeBatch() {
	found, err := r.measured()
	if err != nil {
		return // the end will say it
	}
	if r.spreads == nil {
		r.spreads = make(map[uint32]*spread)
	}
	for i := range found.rows {
		row := &found.rows[i]
		if r.spreads[row.id] == nil {
			r.spreads[row.id] = &spread{}
		}
		r.spreads[row.id].add(&row.Totals)
	}
}

// write writes the result, and then says what leaving took.
func (r *countRun) write(look *countLook) error {
	if left := r.leftAlone(); len(left) > r.toldLeft {
		r.tellLeft(left) // some were met as they loaded
	}
	if full := r.session.Full(); full != nil {
		r.remark(full.Error())
	}
	look.overall()
	if r.json {
		if err := r.writeJSON(look); err != nil {
			return err
		}
	} else {
		out := bufio.NewWriter(r.out) // keeps the first error until Flush
		r.writeText(out, look, r.outWidth())
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if f := look.farewell; f != nil {
		r.screen.say("left %d: %s put back in %s%s", r.pid, count(int(f.Restored.Classes), "class", "classes"), durationText(f.Took), costOf(f.Pause))
	}
	return nil
}
