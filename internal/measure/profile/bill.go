package profile

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A bill is what hooks took of a program's processor time since the last one, in
// nanoseconds, by counts and what each was found to cost.
type bill struct {
	seconds  float64 // that it covers
	program  float64 // processor time of the program
	allowed  float64
	counting float64
	timing   float64
	least    float64            // if no call were timed
	resting  float64            // of hooks that are in and off
	part     float64            // of the program's time
	cost     map[uint32]float64 // by method
	share    map[uint32]float64 // of the root's time that is a method's self time
}

// leastProgram is the processor time below which a program is idle: then a share
// of it says nothing.
const leastProgram = 20e6

// A moment is where the counters stood.
type moment struct {
	reading cost.Reading
	sums    map[uint32]sum
}

// A bill covers as much as this: less says nothing, as processor time is told in
// steps of 10 ms; more is the past.
const (
	leastCovered = 300 * time.Millisecond
	mostCovered  = 2 * time.Second
)

// account makes out the bill; false where there is nothing to go by yet.
func (g *governor) account() (bill, bool, error) {
	reading, err := g.run.session.Read()
	if err != nil {
		return bill{}, false, err
	}
	threads, err := g.run.session.Threads()
	if err != nil {
		return bill{}, false, err
	}
	now := moment{reading, addUp(threads, g.run.session.Now())}
	g.past = append(g.past, now)
	for len(g.past) > 1 && g.past[1].reading.Until(reading).Elapsed >= mostCovered {
		g.past = g.past[1:]
	}
	then := g.past[0]
	since := then.reading.Until(reading)
	if since.Elapsed < leastCovered {
		return bill{}, false, nil
	}
	b := bill{
		seconds: since.Elapsed.Seconds(), program: max(float64(since.Rest), leastProgram),
		cost: make(map[uint32]float64), share: make(map[uint32]float64),
	}
	b.allowed = g.run.Budget * b.program
	g.price(&b, then.sums, now.sums)
	b.part = (b.counting + b.timing + b.resting) / b.program
	return b, true, nil
}

// A sum is what all nodes of a method hold.
type sum struct {
	calls, timed float64
	self         float64 // of the timed calls
	beside       float64 // calls that are timed for their caller's sake
}

// addUp sums nodes by method, with calls under way as far as they have come. Of a
// call that is timed at random its callees are timed as well.
func addUp(threads []arena.Thread, now int64) map[uint32]sum {
	sums := make(map[uint32]sum)
	for _, t := range threads {
		soFar := underWay(t, now)
		drawn := make(map[uint32]float64, len(t.Nodes)) // the part of a node's calls that is timed
		for _, n := range t.Nodes {
			if n.Calls > 0 {
				drawn[n.Ref] = float64(min(n.Timed, n.Calls)) / float64(n.Calls)
			}
		}
		for _, n := range t.Nodes {
			if n.ID == arena.CalibrationID || n.ID == arena.AdjustmentID {
				continue
			}
			s := sums[n.ID]
			s.calls += float64(n.Calls)
			s.timed += float64(n.Timed)
			s.self += float64(n.Self + soFar[n.Ref])
			if soFar[n.Ref] > 0 {
				s.timed++
			}
			s.beside += float64(n.Calls) * (1 - drawn[n.Ref]) * drawn[n.Parent]
			sums[n.ID] = s
		}
	}
	return sums
}

// price fills in what the calls since the last bill cost, and where the time is.
func (g *governor) price(b *bill, before, after map[uint32]sum) {
	known := g.run.scales.calibration()
	var whole float64
	for _, h := range g.order {
		was, is := before[h.id], after[h.id]
		calls := is.calls - was.calls
		if h.root && is.calls > 0 && g.since.IsZero() {
			g.since = time.Now()
		}
		clocked := max(0, min(calls, is.timed-was.timed+is.beside-was.beside))
		each := careful(known, calls/b.seconds)
		counting, timing := (calls-clocked)*each.counted, clocked*each.timed
		b.counting += counting
		b.timing += timing
		b.least += calls * each.counted
		b.cost[h.id] = counting + timing
		switch {
		case h.mode == on:
			h.rate = calls / b.seconds
		case !h.out:
			b.resting += h.rate * b.seconds * offNanos
		}
		if is.timed > 0 {
			self := is.self/is.timed - known.Inner.Median
			b.share[h.id] = max(0, self) * is.calls
			whole += b.share[h.id]
		}
	}
	for id := range b.share {
		b.share[id] /= max(whole, 1)
	}
}
