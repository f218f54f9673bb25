// Package handover keeps a probe set applied to a JVM. Meanwhile other sonde processes can read
// the probe set, or replace it by another.
package handover

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
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
