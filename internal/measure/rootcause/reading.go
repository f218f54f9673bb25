package rootcause

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type flightSample = jfr.Sample

const (
	// fewWalks do not say what one costs: the first are slow.
	fewWalks = 50
	// mostDraw is what one can cost of a processor, in nanoseconds: beyond it the thread
	// did not have one meanwhile.
	mostDraw = 10_000
)

// Callers that are no methods.
var (
	noCaller      = method{name: "a thread's entry"}
	unknownCaller = method{name: "unknown"}
)

// isMethod reports whether a caller is a method that someone wrote.
func isMethod(m method) bool { return m != noCaller && m != unknownCaller && !carries(m) }

func fixedCallers() map[uint32]method {
	return map[uint32]method{arena.CallerEntry: noCaller, arena.CallerUnknown: unknownCaller}
}

// hear learns the names of the callers that hooks have met.
func (w *walker) hear() {
	arrivals, err := w.session.Arrivals(w.ticket)
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has met nobody new
	}
	for _, a := range arrivals {
		if class, name, descriptor, ok := session.SplitMember(a.Text); ok && arena.IsCaller(a.ID) {
			w.callers[a.ID] = method{class, name, descriptor}
		}
		w.ticket = a.Ticket
	}
	w.session.Answer(w.ticket)
}

// read takes over what hooks have measured.
func (w *walker) read(crew []*subject) {
	threads, err := w.session.Threads()
	if err != nil {
		return // what was read before is kept
	}
	flat := make(map[uint32]uint64)
	var walks, walked uint64
	for _, t := range threads {
		for _, n := range t.Nodes {
			switch {
			case n.ID == arena.AdjustmentID:
				walks, walked = walks+n.Calls, walked+n.Nanos
			case n.Parent == t.Root:
				flat[n.ID] += n.Calls
			}
		}
	}
	if walks >= fewWalks {
		w.draw = min(float64(walked)/float64(walks), mostDraw)
	}
	edges := arena.Edges(threads)
	for _, s := range crew {
		s.calls, s.drawn = flat[s.id], 0
		clear(s.callers)
		clear(s.nanos)
		var all arena.Edge
		for _, e := range edges {
			if e.Method != s.id {
				continue
			}
			caller, known := w.callers[e.Caller]
			if !known {
				caller = unknownCaller
			}
			s.drawn += e.Calls
			s.callers[caller] += e.Calls
			s.nanos[caller] += e.Nanos
			all.Timed += e.Timed
			all.Nanos += e.Nanos
			all.Max = max(all.Max, e.Max)
			if e.Spread != nil {
				if all.Spread == nil {
					all.Spread = new(arena.Spread)
				}
				all.Spread.Add(e.Spread)
			}
		}
		s.sum(all, w.inner)
		if w.on[s] {
			s.measured.Over += time.Since(s.since)
		}
	}
}

// sum is what a subject's hook has measured, without what measuring took.
func (s *subject) sum(all arena.Edge, inner float64) {
	s.measured = &climb.Measured{Calls: s.calls, Timed: all.Timed, Over: s.on, Max: time.Duration(all.Max)}
	if all.Timed == 0 {
		return
	}
	clean := func(nanos float64) time.Duration { return time.Duration(max(0, nanos-inner)) }
	s.measured.Mean = clean(float64(all.Nanos) / float64(all.Timed))
	s.measured.Total = time.Duration(float64(s.measured.Mean) * float64(s.calls))
	s.measured.Max = clean(float64(all.Max))
	if all.Spread != nil {
		s.measured.P50 = clean(all.Spread.Quantile(0.50))
		s.measured.P90 = clean(all.Spread.Quantile(0.90))
		s.measured.P99 = clean(all.Spread.Quantile(0.99))
	}
}
