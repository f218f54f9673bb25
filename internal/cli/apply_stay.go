package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Why applying ended, besides what ends a count.
const (
	endedAsked  = "asked"  // by sonde apply --end
	endedProbes = "probes" // every one has ended
)

// stay waits for the end and shows what happens meanwhile. It tells why it ended.
func (r *applyRun) stay(ctx context.Context) string {
	refresh := time.NewTicker(r.interval)
	defer refresh.Stop()
	reading := time.NewTicker(readEvery)
	defer reading.Stop()
	var due <-chan time.Time
	if r.duration > 0 {
		timer := time.NewTimer(r.duration - time.Since(r.began))
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-r.session.Done():
			return r.endedBy()
		case <-due:
			return endedDuration
		case <-r.asked:
			r.screen.say("another Sonde has asked this one to end")
			return endedAsked
		case <-r.finished:
			if len(r.watch.Set().Probes) == 0 {
				return endedProbes
			}
		case <-reading.C:
			r.readTraces(reading)
		case <-refresh.C:
			if err := r.show(); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
		}
	}
}

// readTraces reads what was traced, seldom while nothing is.
func (r *applyRun) readTraces(next *time.Ticker) {
	_ = r.traces.step() // what goes wrong the end will say
	every := idleEvery
	if traces(r.watch.Set()) {
		every = readEvery
	}
	next.Reset(every)
}

// show tells how it stands.
func (r *applyRun) show() error {
	isDue := r.json && r.paced
	if !isDue && (r.json || r.screen.silent) {
		return nil
	}
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end will say it
	}
	if isDue {
		return r.writeLook(look)
	}
	r.traces.count()
	look.traced = r.traces.line()
	width, height := r.screen.size()
	r.screen.draw(look.liveLines(width, height))
	return nil
}

// finish tells the end: what was measured is read before the hooks go. Those who wait
// for the end are told when they are out.
func (r *applyRun) finish(ctx context.Context, ended string) error {
	r.depart()
	r.turn.Lock() // nothing is changed any more, nor half changed
	defer r.turn.Unlock()
	r.stop()
	<-r.ran
	var failure error
	if ended == endedLost {
		failure = r.session.Err()
	}
	r.state.Lock()
	r.shown, r.shownAt = nil, time.Time{} // rates are over all
	r.state.Unlock()
	look, err := r.look()
	failure = errors.Join(failure, err)
	traced := r.finishTraces(ctx, ended)
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	failure = errors.Join(failure, err)
	r.watch.Close()
	if look != nil {
		look.final, look.ended, look.traced = true, ended, r.traces.line()
		failure = errors.Join(r.write(look), failure)
	}
	failure = errors.Join(failure, r.writeTraces(traced))
	if farewell != nil {
		r.screen.say("left %d: %s put back in %s%s", r.pid, count(int(farewell.Restored.Classes), "class", "classes"), durationText(farewell.Took), costOf(farewell.Pause))
	}
	if r.server != nil {
		failure = errors.Join(failure, r.server.Close())
	}
	return failure
}

// write writes the result.
func (r *applyRun) write(look *applyLook) error {
	if left := r.concerned(); len(left) > r.toldLeft {
		r.tellLeft(left) // some were met as they loaded
	}
	if full := r.session.Full(); full != nil {
		r.remark(full.Error())
	}
	return r.writeLook(look)
}

func (r *applyRun) writeLook(look *applyLook) error {
	if r.json {
		return writeJSON(r.out, r.describe(look))
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	writeTable(out, applyColumns, runningTexts(look.rows), r.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", look.headline())
	for _, line := range look.remarks() {
		_, _ = fmt.Fprintln(out, line)
	}
	return out.Flush()
}
