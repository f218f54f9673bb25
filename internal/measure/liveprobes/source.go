package liveprobes

import (
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// A Source gives readings by row rather than by method, for who makes intervals of them.
type Source struct{ watch *Watch }

// Source reads rows.
func (w *Watch) Source() *Source { return &Source{w} }

// Sum is what was measured so far, by the ids of rows.
func (s *Source) Sum() (*arena.Summary, error) {
	results, err := s.watch.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(results.Rows)), Threads: results.Threads, Dropped: results.Dropped}
	for i := range results.Rows {
		sum.Methods[results.Rows[i].ID] = &results.Rows[i].Totals
	}
	return sum, nil
}

// Stacks are the threads with the calls they are in, by the ids of rows. Calls of what
// is no row have none.
func (s *Source) Stacks() ([]arena.Thread, error) {
	w := s.watch
	threads, err := w.target.Threads()
	if err != nil {
		return nil, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	ledger.Renumber(threads, w.isGrouped, w.rows)
	return threads, nil
}

// Now is what the target's clock reads.
func (s *Source) Now() int64 { return s.watch.target.Now() }
