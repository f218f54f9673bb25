package document

import (
	"encoding/hex"
	"reflect"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// Trace is written by `sonde trace`; docs/formats/trace.md describes it.
type Trace struct {
	Format       string            `json:"format"`
	Version      int               `json:"version"`
	Target       cct.Target        `json:"target"`
	Command      string            `json:"command,omitempty"`
	Methods      []string          `json:"methods"`
	Conditions   []string          `json:"conditions,omitempty"`
	Levels       int               `json:"levels"`
	Began        time.Time         `json:"began,omitzero"`
	Took         time.Duration     `json:"tookNanos"`
	Hooks        trace.Cost        `json:"hooks"`
	Woven        int               `json:"classesWoven"`
	Cached       int               `json:"classesFromCache"`
	Losses       trace.Losses      `json:"losses"`
	Notes        []string          `json:"notes,omitempty"`
	Disturbed    string            `json:"disturbed,omitempty"`
	Disturbance  *cost.Disturbance `json:"disturbance,omitempty"`
	Transactions []Transaction     `json:"transactions"`
}

// Transaction is a traced call of a root.
type Transaction struct {
	TraceID  string            `json:"traceId"`
	ParentID string            `json:"parentSpanId,omitempty"`
	Begin    time.Time         `json:"begin"`
	Duration time.Duration     `json:"durationNanos"`
	Extent   time.Duration     `json:"extentNanos"`
	Calls    uint64            `json:"calls"`
	Errors   uint64            `json:"errors,omitempty"`
	Lost     uint64            `json:"lost,omitempty"`
	Late     int               `json:"late,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Root     *trace.Call       `json:"root"`
	Parts    []*trace.Call     `json:"parts,omitempty"`
}

// TraceEnd is the last line of `sonde trace --json`: a trace without its transactions.
type TraceEnd struct {
	Final bool `json:"final"`
	Kept  int  `json:"kept"`
	Trace
	Transactions *struct{} `json:"transactions,omitempty"`
}

// NewTrace describes a trace.
func NewTrace(t *trace.Trace) Trace {
	d := newTrace(t)
	for _, one := range t.Transactions {
		d.Transactions = append(d.Transactions, NewTransaction(t.Target, one))
	}
	return d
}

// NewTraceEnd describes a trace without its transactions.
func NewTraceEnd(t *trace.Trace) TraceEnd {
	d := TraceEnd{Final: true, Kept: len(t.Transactions), Trace: newTrace(t)}
	d.Format = Format(reflect.TypeOf(d))
	return d
}

func newTrace(t *trace.Trace) Trace {
	return Trace{
		Format: "sonde-trace", Version: 1, Target: t.Target, Command: t.Command, Methods: t.Methods, Conditions: t.Conditions,
		Levels: t.Levels, Began: t.Began, Took: t.Took, Hooks: t.Cost, Woven: t.Woven, Cached: t.Cached, Losses: t.Losses, Notes: t.Notes,
		Disturbed: t.Disturbed, Disturbance: t.Disturbance, Transactions: []Transaction{},
	}
}

// NewTransaction describes a transaction of a JVM.
func NewTransaction(target cct.Target, t *trace.Transaction) Transaction {
	id := trace.ID(target, t)
	d := Transaction{
		TraceID: hex.EncodeToString(id[:]), Begin: t.Begin, Duration: t.Duration, Extent: t.Extent(),
		Lost: t.Lost, Late: t.Late, Tags: t.Tags, Root: t.Root, Parts: t.Parts,
	}
	if t.Parent.Span != [8]byte{} {
		d.ParentID = hex.EncodeToString(t.Parent.Span[:])
	}
	d.Calls, d.Errors = t.Calls()
	return d
}
