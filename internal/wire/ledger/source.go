package ledger

import (
	"strconv"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// unnamedTag is what a tag is called where its name is not known.
func unnamedTag(number int) string { return "tag" + strconv.Itoa(number+1) }

// Sum is what was measured so far, by the numbers of rows.
func (l *Ledger) Sum() (*arena.Summary, error) {
	results, err := l.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(results.Rows)), Threads: results.Threads, Dropped: results.Dropped}
	for i := range results.Rows {
		sum.Methods[results.Rows[i].Number] = &results.Rows[i].Totals
	}
	return sum, nil
}

// Stacks are the threads with the calls they are in, by the numbers of rows.
func (l *Ledger) Stacks() ([]arena.Thread, error) {
	threads, err := l.arena.Threads()
	if err != nil {
		return nil, err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	Renumber(threads, groupedIn(threads), l.numbers)
	return threads, nil
}
