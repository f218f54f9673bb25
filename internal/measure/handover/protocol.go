package handover

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// protocol is the number of this conversation.
const protocol = 1

// Bounds of a line. A set has a megabyte at most, which JSON makes longer.
const (
	mostQuestion = 8 * probeset.MostBytes
	mostAnswer   = 16 << 20
)

// What can be asked.
const (
	askApply  = "apply"
	askSave   = "save"
	askStatus = "status"
	askEnd    = "end"
)

type question struct {
	Sonde  int    `json:"sonde"`
	Ask    string `json:"ask"`
	Probes string `json:"probes,omitempty"` // of apply: YAML
	DryRun bool   `json:"dryRun,omitempty"`
}

type answer struct {
	Sonde   int      `json:"sonde"`
	Error   string   `json:"error,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Probes  string   `json:"probes,omitempty"`
	Status  *Status  `json:"status,omitempty"`
}

// Outcome is what applying a set did, or would do.
type Outcome struct {
	Changes  []probeset.Change `json:"changes"`
	Woven    int               `json:"woven"`    // spots that are new in the JVM
	Removed  int               `json:"removed"`  // spots that were taken out
	Switched int               `json:"switched"` // spots that were switched, without weaving
	// Awaiting is how many classes have loaded that rules leave to the next sonde apply.
	Awaiting int      `json:"awaiting,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Status is what a Sonde that holds a JVM says of itself.
type Status struct {
	Sonde   int       `json:"sonde"` // its process
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Probes  []Running `json:"probes"`
}

// Running is what a probe that is applied has measured: of all its methods, in one of
// its sequences and with one label, where it has such.
type Running struct {
	Name   string `json:"name"`
	Level  string `json:"level,omitempty"` // none where it has ended
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
	Ended      string  `json:"ended,omitempty"` // why, where it has
}

var errTooLong = errors.New("longer than a line may be")

// readLine reads one object of at most so many bytes.
func readLine(from io.Reader, most int, into any) error {
	limited := &io.LimitedReader{R: from, N: int64(most) + 1}
	line, err := bufio.NewReader(limited).ReadBytes('\n')
	switch {
	case limited.N <= 0 && len(line) > most:
		return errTooLong
	case err != nil:
		return fmt.Errorf("reading: %w", err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return nil
}

func writeLine(to io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = to.Write(append(line, '\n'))
	return err
}
