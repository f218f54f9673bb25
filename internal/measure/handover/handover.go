// Package handover keeps a probe set applied to a JVM. Meanwhile other sonde processes can read
// the probe set, or replace it by another.
package handover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Outcome lists the changes that applying a set made, or would make.
type Outcome struct {
	Changes  []probeset.Change `json:"changes"`
	Woven    int               `json:"woven"`    // spots that are new in the JVM
	Removed  int               `json:"removed"`  // spots that were removed
	Switched int               `json:"switched"` // spots that were switched, without weaving
	// Awaiting counts loaded classes that the weave rules of the set leave to the next sonde apply.
	Awaiting int      `json:"awaiting,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Status is the state of an applied set.
type Status struct {
	Sonde   int                `json:"sonde"` // the PID of the Sonde that applies it
	Command string             `json:"command"`
	Since   time.Time          `json:"since"`
	Probes  []Running          `json:"probes"`
	Records []results.Recorded `json:"records,omitempty"`
	Goals   []string           `json:"goals,omitempty"` // the state of each, as a sentence
}

// Running holds the measurements of an applied probe, for all its methods together, by
// sequence and by label if it has those.
type Running struct {
	Name   string `json:"name"`
	Level  string `json:"level,omitempty"` // empty if it has ended
	Within string `json:"within,omitempty"`
	Label  string `json:"label,omitempty"` // tags with values, or callers
	Calls  uint64 `json:"calls"`
	// LowerBound says that HotSpot may replace one of its methods by an intrinsic, so that
	// calls may be missing.
	LowerBound bool    `json:"lowerBound,omitempty"`
	PerSecond  float64 `json:"callsPerSecond"`
	Timed      uint64  `json:"timed"`
	MeanNanos  float64 `json:"meanNanos,omitempty"`
	P99Nanos   float64 `json:"p99Nanos,omitempty"`
	Threw      uint64  `json:"exceptions,omitempty"`
	Undecided  uint64  `json:"undecided,omitempty"`
	Ended      string  `json:"ended,omitempty"` // why, if it has
}

// LevelOff is the level of rows whose hooks were switched off, because a class that loaded
// makes their conditions invalid.
const LevelOff = "off"

// A RowKey identifies a row.
type RowKey struct{ Probe, Within, Label string }

// Key returns the key of a row.
func (r *Running) Key() RowKey { return RowKey{r.Name, r.Within, r.Label} }

// Rows adds up results by probe, sequence and label, in the order of the set; probes that
// are no longer in the set come last. A probe without calls has a row, too.
func Rows(found *liveprobes.Results, set *probeset.Set) []Running {
	sums, hasRow := sumRows(found)
	order := map[string]int{}
	levels := map[string]string{}
	for i, p := range set.Probes {
		order[p.Name], levels[p.Name] = i+1, p.Level.String()
		if !hasRow[p.Name] {
			sums[RowKey{Probe: p.Name}] = &rowSum{}
		}
	}
	rank := func(k RowKey) int { return cmp.Or(order[k.Probe], len(order)+1) }
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b RowKey) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Within, b.Within),
			cmp.Compare(sums[b].Calls, sums[a].Calls), cmp.Compare(a.Label, b.Label))
	})
	rows := make([]Running, 0, len(keys))
	for _, key := range keys {
		sum, level := sums[key], levels[key.Probe]
		switch {
		case sum.off == 0:
		case sum.off == sum.hooks:
			level = LevelOff
		default:
			level += fmt.Sprintf(" (%s in %s of %s)", LevelOff, format.Grouped(sum.off), format.Grouped(sum.hooks))
		}
		row := Running{
			Name: key.Probe, Level: level, Within: key.Within, Label: key.Label, Calls: sum.Calls, LowerBound: sum.LowerBound,
			Timed: sum.Timed, Threw: sum.Threw, Undecided: sum.Undecided, P99Nanos: max(0, results.P99(&sum.Totals)),
		}
		if sum.Timed > 0 {
			row.MeanNanos = float64(sum.Nanos) / float64(sum.Timed)
		}
		rows = append(rows, row)
	}
	return rows
}

// A rowSum holds the measurements of the hooks of a row.
type rowSum struct {
	arena.Totals
	hooks, off int
}

// sumRows returns the sums by row, and which probes have rows.
func sumRows(found *liveprobes.Results) (sums map[RowKey]*rowSum, hasRow map[string]bool) {
	sums, hasRow = make(map[RowKey]*rowSum), make(map[string]bool)
	for i := range found.Rows {
		row := &found.Rows[i]
		if row.Probe == "" || row.Inside {
			continue // a hook only for traces
		}
		key := RowKey{row.Probe, row.Sequence, row.Label.Text()}
		sum := sums[key]
		if sum == nil {
			sum = &rowSum{}
			sums[key] = sum
		}
		hasRow[row.Probe] = true
		sum.Add(&row.Totals)
		sum.hooks++
		if row.Off {
			sum.off++
		}
	}
	return sums, hasRow
}
