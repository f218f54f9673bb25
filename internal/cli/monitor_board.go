package cli

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A board shows what happens in a JVM, interval by interval, as it is read of an arena.
type board struct {
	streams
	screen   *screen
	pid      int
	main     string // the program's main class
	interval time.Duration
	sample   uint32 // one call in so many is timed
	times    string // which calls are timed, in words
	top      int
	json     bool
	view     monitorView
	options  monitor.Options
	source   monitor.Source
	groups   func(by string) *monitor.Groups
	method   func(id uint32) (session.Method, bool)
	costs    func(table *monitorTable) string      // what hooks take of the JVM, in words
	describe func(d *monitorJSON, t *monitorTable) // adds what is known at the end

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

// begin takes the reading that all is counted from.
func (b *board) begin(first *monitor.Reading) { b.first, b.last = first, first }

// read takes a reading.
func (b *board) read() error {
	reading, err := monitor.Take(b.source, b.last, b.options.Stall)
	if err != nil {
		return err
	}
	b.last = reading
	return nil
}

// look is what happened from a reading to the last.
func (b *board) look(from *monitor.Reading) *monitorTable {
	table := &monitorTable{from: from, to: b.last, elapsed: time.Duration(b.last.At - b.first.At), at: time.Now()}
	b.group(table)
	return table
}

// group makes the rows that are to be seen.
func (b *board) group(table *monitorTable) {
	table.Interval = monitor.Between(table.from, table.to, b.groups(b.view.by), b.options)
}

// callsSoFar is how many calls there were.
func (b *board) callsSoFar() (calls uint64) {
	sum, err := b.source.Sum()
	if err != nil {
		return 0 // the end will say it
	}
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls
}

// tellRest takes the last reading. Objects of intervals add up to the whole, so that
// the last, which is shorter, is written as well.
func (b *board) tellRest(ended string) error {
	before := b.last
	if err := b.read(); err != nil || !b.json || ended == endedUnread {
		return err
	}
	return b.writeJSON(b.look(before))
}

// A stay is until when something is watched, and what is done at each interval.
type stay struct {
	done  <-chan struct{} // closed when there is nothing more to see
	why   func() string   // that was
	left  time.Duration   // 0 for as long as it goes
	calls uint64          // 0 for as many as there are
	show  func(before *monitor.Reading) error
}

// watch waits for the end and shows what happens meanwhile. It tells why it ended.
func (b *board) watch(ctx context.Context, s stay) string {
	ticker := time.NewTicker(b.interval)
	defer ticker.Stop()
	var due, poll <-chan time.Time
	if s.calls > 0 {
		const pollEvery = 20 * time.Millisecond
		looking := time.NewTicker(pollEvery)
		defer looking.Stop()
		poll = looking.C
	}
	if s.left != 0 {
		timer := time.NewTimer(s.left)
		defer timer.Stop()
		due = timer.C
	}
	keys := (<-chan rune)(nil)
	if !b.json && !b.screen.silent {
		pressed, restore := readKeys()
		defer restore()
		keys, b.view.hasKeys = pressed, pressed != nil
	}
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-s.done:
			return s.why()
		case <-due:
			return endedDuration
		case <-poll:
			if b.callsSoFar() >= s.calls {
				return endedCalls
			}
		case key := <-keys:
			if b.view.press(key) {
				return endedInterrupted
			}
			if b.table != nil {
				b.group(b.table)
			}
			b.draw()
		case <-ticker.C:
			before := b.last
			if err := b.read(); err != nil {
				continue // the end will say it
			}
			if err := s.show(before); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
		}
	}
}

// show tells what happened since a reading.
func (b *board) show(before *monitor.Reading) error {
	table := b.look(before)
	switch {
	case b.json:
		return b.writeJSON(table)
	case b.screen.silent:
		return b.writeLines(table)
	}
	if !b.view.paused || b.table == nil {
		b.table = table
	}
	b.draw()
	return nil
}
