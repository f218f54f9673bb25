package trace

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// A Program is another program whose transactions were traced at the same time.
type Program struct {
	Target       Target
	Transactions []*Transaction
}

// Graft puts transactions of other programs below the calls that have caused them, by the ids that they have sent. It
// returns how many it has found a place for.
func Graft(t Target, transactions []*Transaction, others []Program) (grafted int) {
	g := grafting{found: make(map[Parent][]foreign)}
	for i := range others {
		for _, tx := range others[i].Transactions {
			g.found[tx.Parent] = append(g.found[tx.Parent], foreign{&others[i], tx})
		}
	}
	for _, tx := range transactions {
		for _, c := range slices.Collect(tx.All()) {
			grafted += g.below(c, tx.Begin, ID(t, tx))
		}
	}
	return grafted
}

type foreign struct {
	program *Program
	tx      *Transaction
}

type grafting struct {
	found map[Parent][]foreign // what has no place yet
}

// below puts what a call has caused below it, and what that has caused below that.
func (g *grafting) below(c *Call, begin time.Time, trace [16]byte) (grafted int) {
	caller := Parent{Trace: trace}
	id, err := hex.DecodeString(c.SpanID)
	if err != nil || len(id) != len(caller.Span) {
		return 0
	}
	caller.Span = [8]byte(id)
	caused := g.found[caller]
	delete(g.found, caller)
	for _, f := range caused {
		root := f.tx.Root
		shift := max(f.tx.Begin.Sub(begin), c.Start) // clocks differ a little
		if most := c.Start + c.Measured - root.Measured; most >= c.Start {
			shift = min(shift, most)
		}
		all := slices.Collect(f.tx.All())
		for _, one := range all {
			one.Start += shift
			one.PID = f.program.Target.PID
			one.Thread.Name = fmt.Sprintf("process %d, %s", one.PID, one.Thread.String())
			one.Thread.ID |= uint64(one.PID) << pidShift
		}
		root.Handed = true
		root.Children = append(root.Children, f.tx.Parts...)
		c.Children = append(c.Children, root)
		grafted++
		for _, one := range all {
			grafted += g.below(one, begin, trace)
		}
	}
	return grafted
}

// pidShift distinguishes threads of different processes that have the same number.
const pidShift = 24
