package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

const (
	// hotPoll is how often is looked for samples. The JVM writes them once a
	// second; looking costs little.
	hotPoll = 200 * time.Millisecond
	// hotLate is how long is waited at the end for samples of the window.
	hotLate = 1500 * time.Millisecond
)

// A hotRun is a `sonde hot` at work.
type hotRun struct {
	*hotting
	sampler *sampler.Sampler
	window  *hotspots.Window
	screen  *screen
	view    hotView
	table   *hotspots.Table // the last
	drawn   time.Time
	notes   []string
}

func (c *hotting) run(ctx context.Context) error {
	defer outliveReader()()
	if _, err := inspect(c.pid); err != nil {
		return err
	}
	sampler, err := sampler.Start(ctx, c.pid, c.Options)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted before there was anything to show; nothing is left behind")
		}
		return err
	}
	r := &hotRun{
		hotting: c, sampler: sampler, window: hotspots.NewWindow(c.window), screen: newScreen(c.streams),
		view: hotView{typed: typed{filter: c.filter}, sort: c.sort, threads: c.threads},
	}
	if bias := sampler.Bias(); bias != "" {
		r.remark("biased: samples are taken " + bias)
	}
	_, _ = fmt.Fprintf(c.err, "sampling process %d%s\n", c.pid, r.howToEnd())
	ended := r.watch(ctx)
	r.screen.clear()
	closing := sampler.Close(ctx)
	return errors.Join(r.finish(ended), closing)
}

func (r *hotRun) howToEnd() string {
	switch {
	case r.once:
		return " for " + durationText(r.hotting.window)
	case r.json:
		return "; Ctrl-C ends it"
	}
	return ""
}

// watch takes samples and shows them until it is to end. The error is why it
// could not go on.
func (r *hotRun) watch(ctx context.Context) error {
	began := time.Now()
	keys := (<-chan rune)(nil)
	if !r.once && !r.json {
		pressed, restore := readKeys()
		defer restore()
		keys, r.view.hasKeys = pressed, pressed != nil
	}
	poll := time.NewTicker(hotPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if r.view.press(key) {
				return nil
			}
			r.draw()
			continue
		case <-poll.C:
		}
		batch, err := r.sampler.Poll(ctx)
		r.window.Add(batch.At, batch.Samples, batch.Period, batch.Times)
		for _, note := range batch.Notes {
			r.remark(note)
		}
		if err != nil {
			return err
		}
		if err := r.show(batch.At); err != nil {
			return err
		}
		if r.once && r.hasEnough(batch.At, batch.At.Sub(began)) {
			return nil
		}
	}
}

// hasEnough tells whether a window is full that shows something. Where nothing ran
// it takes another, and a third: a dump of a busy JVM may take long.
func (r *hotRun) hasEnough(now time.Time, passed time.Duration) bool {
	const most = 3
	length := r.hotting.window
	if passed < length+hotLate {
		return false
	}
	return passed >= most*length+hotLate || r.window.Table(now).Samples > 0
}

// show draws or writes the table where it is due.
func (r *hotRun) show(now time.Time) error {
	if r.once || now.Sub(r.drawn) < r.interval {
		return nil
	}
	r.drawn = now
	if r.json {
		return r.writeJSON(r.window.Table(now))
	}
	if !r.view.paused || r.table == nil {
		r.table = r.window.Table(now)
	}
	r.draw()
	return nil
}

func (r *hotRun) draw() {
	if r.table == nil {
		return
	}
	width, height := r.screen.size()
	r.screen.draw(r.view.lines(r.table, r.headline(r.table), r.top, width, height))
}

// remark keeps and shows what the user should read.
func (r *hotRun) remark(text string) {
	r.notes = append(r.notes, text)
	r.screen.say("note: %s", printable(text))
}

// finish writes the last table, and the flame graph. A JVM that ended in the
// middle is a result all the same.
func (r *hotRun) finish(ended error) error {
	if errors.Is(ended, sampler.ErrEnded) {
		_, _ = fmt.Fprintf(r.err, "%s\n", oneLine(ended))
		ended = nil
	}
	table := r.table
	if !r.view.paused || table == nil {
		table = r.window.Table(time.Now())
	}
	if table.Samples == 0 {
		return errors.Join(ended, r.nothing(table))
	}
	failed := []error{ended}
	if r.flame != "" {
		failed = append(failed, r.writeFlame(table))
	}
	switch {
	case !r.json:
		failed = append(failed, r.writeText(table))
	case r.once:
		failed = append(failed, r.writeJSON(table))
	}
	return errors.Join(failed...)
}

// nothing says why there is nothing to show.
func (r *hotRun) nothing(table *hotspots.Table) error {
	if table.Waiting > 0 {
		return fmt.Errorf("process %d: all threads that were seen wait: look while it works, or longer with --window", r.pid)
	}
	return fmt.Errorf("process %d: no thread was seen running Java: look while it works, or longer with --window", r.pid)
}
