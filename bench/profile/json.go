package main

import (
	"encoding/json"
	"math"
	"os"
	"runtime"

	"github.com/sonde-jvm/sonde/bench/machine"
)

// A record is a row as JSON has it. Times are seconds.
type record struct {
	JDK, Program, Profiler string
	Refusal                string   `json:",omitempty"`
	Tries                  int      `json:",omitempty"`
	Budget                 float64  `json:",omitempty"`
	Verdicts               []string `json:",omitempty"`
	Phases                 []phase
}

// A phase is a figure as JSON has it.
type phase struct {
	Warm                 string
	Slower               *float64  // by the clock; null where it did nothing
	Rough                bool      // no whole round was in it
	SlowerByCPU          []float64 // of single windows
	LostIn, LostOut      float64
	Lost, Span           float64 // all told
	LostByCPU            float64 // part of all work
	DriftClock, DriftCPU float64
	Settled              bool
	Hooks, Rounds        int
	Pause, Waited        float64
	Own                  float64 // the profiler's own account
}

func (r row) record() record {
	all := record{JDK: r.jdk, Program: r.program, Profiler: r.profiler, Tries: r.tries, Verdicts: r.verdicts()}
	if r.refusal != nil {
		all.Refusal = r.refusal.Error()
	}
	if r.auto() {
		all.Budget = r.wanted
	}
	for _, f := range r.figures {
		c := f.course
		p := phase{
			Warm: f.warm, Rough: f.rough, LostIn: f.in.Seconds(), LostOut: f.out.Seconds(),
			Lost: f.all.Seconds(), Span: f.span.Seconds(), LostByCPU: f.allCPU, DriftClock: f.drift.wall, DriftCPU: f.drift.cpu,
			Settled: c.settled, Hooks: c.hooks, Rounds: c.rounds, Pause: c.pause.Seconds(), Waited: c.waited.Seconds(), Own: c.steady,
		}
		if finite(f.slower) {
			p.Slower = &f.slower
		}
		for _, w := range f.windows {
			if finite(w) {
				p.SlowerByCPU = append(p.SlowerByCPU, w)
			}
		}
		all.Phases = append(all.Phases, p)
	}
	return all
}

// finite is whether JSON has the number.
func finite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }

func writeJSON(path string, rows []row, load string) error {
	all := struct {
		Processors            int
		LoadBefore, LoadAfter string
		Rows                  []record
	}{Processors: runtime.NumCPU(), LoadBefore: load, LoadAfter: machine.Load()}
	for _, r := range rows {
		all.Rows = append(all.Rows, r.record())
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
