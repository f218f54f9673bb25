package json

import (
	"encoding/hex"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

type traceDocument struct {
	Format       string        `json:"format"`
	Version      int           `json:"version"`
	Target       target        `json:"target"`
	Command      string        `json:"command,omitempty"`
	Methods      []string      `json:"methods"`
	Conditions   []string      `json:"conditions,omitempty"`
	Levels       int           `json:"levels"`
	Began        string        `json:"began,omitempty"`
	Took         time.Duration `json:"tookNanos"`
	Hooks        hookCost      `json:"hooks"`
	Woven        int           `json:"classesWoven"`
	Cached       int           `json:"classesFromCache"`
	Losses       losses        `json:"losses"`
	Notes        []string      `json:"notes,omitempty"`
	Transactions []transaction `json:"transactions"`
}

type hookCost struct {
	Inner float64 `json:"innerNanos"`
	Outer float64 `json:"outerNanos"`
}

type losses struct {
	NotChosen    uint64 `json:"notChosen,omitempty"`
	Beyond       uint64 `json:"beyond,omitempty"`
	Early        uint64 `json:"early,omitempty"`
	Dropped      uint64 `json:"dropped,omitempty"`
	Undecided    uint64 `json:"undecided,omitempty"`
	Ambiguous    uint64 `json:"ambiguous,omitempty"`
	ContextsLost uint64 `json:"contextsLost,omitempty"`
	Unfinished   uint64 `json:"unfinished,omitempty"`
	GivenUp      uint64 `json:"givenUp,omitempty"`
	Strays       uint64 `json:"strays,omitempty"`
	LateParts    uint64 `json:"lateParts,omitempty"`
}

type transaction struct {
	TraceID  string            `json:"traceId"`
	Begin    string            `json:"begin"`
	Duration time.Duration     `json:"durationNanos"`
	Extent   time.Duration     `json:"extentNanos"`
	Calls    uint64            `json:"calls"`
	Errors   uint64            `json:"errors,omitempty"`
	Lost     uint64            `json:"lost,omitempty"`
	Late     int               `json:"late,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Root     call              `json:"root"`
	Parts    []call            `json:"parts,omitempty"`
}

type call struct {
	Class       string            `json:"class,omitempty"`
	Method      string            `json:"method"`
	Descriptor  string            `json:"descriptor,omitempty"`
	Probe       string            `json:"probe,omitempty"`
	Thread      uint64            `json:"thread"`
	ThreadName  string            `json:"threadName,omitempty"`
	Start       time.Duration     `json:"startNanos"`
	Measured    time.Duration     `json:"measuredNanos"`
	Duration    time.Duration     `json:"durationNanos"`
	Self        time.Duration     `json:"selfNanos"`
	Threw       bool              `json:"threw,omitempty"`
	Cut         bool              `json:"cut,omitempty"`
	Handed      bool              `json:"handed,omitempty"`
	Conditional bool              `json:"conditional,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Values      []value           `json:"values,omitempty"`
	Omitted     *omitted          `json:"omitted,omitempty"`
	Children    []call            `json:"children,omitempty"`
}

type value struct {
	Expression string `json:"expression"`
	Text       string `json:"text,omitempty"`
	AtExit     bool   `json:"atExit,omitempty"`
	Null       bool   `json:"null,omitempty"`
	Failed     bool   `json:"failed,omitempty"`
	Cut        bool   `json:"cut,omitempty"`
	Redacted   bool   `json:"redacted,omitempty"`
}

type omitted struct {
	Calls uint64        `json:"calls"`
	Nanos time.Duration `json:"nanos"`
}

// WriteTrace writes a trace and a line break.
func WriteTrace(w io.Writer, t *trace.Trace) error { return write(w, "trace", wholeTrace(t)) }

// EncodeTrace returns a trace as JSON.
func EncodeTrace(t *trace.Trace) ([]byte, error) { return encode("trace", wholeTrace(t)) }

// EncodeTransaction returns one transaction as JSON on one line.
func EncodeTransaction(target *trace.Target, t *trace.Transaction) ([]byte, error) {
	return encode("transaction", newTransaction(target, t))
}

// EncodeTraceEnd returns a trace without its transactions as JSON on one line.
func EncodeTraceEnd(t *trace.Trace) ([]byte, error) {
	return encode("trace", struct {
		Final bool `json:"final"`
		Kept  int  `json:"kept"`
		traceDocument
		Transactions *struct{} `json:"transactions,omitempty"`
	}{Final: true, Kept: len(t.Transactions), traceDocument: newTrace(t)})
}

func wholeTrace(t *trace.Trace) traceDocument {
	d := newTrace(t)
	for _, one := range t.Transactions {
		d.Transactions = append(d.Transactions, newTransaction(&t.Target, one))
	}
	return d
}

func newTrace(t *trace.Trace) traceDocument {
	l := t.Losses
	form := traceDocument{
		Format: "sonde-trace", Version: 1, Target: target(t.Target), Command: t.Command, Methods: t.Methods, Conditions: t.Conditions,
		Levels: t.Levels, Took: t.Took, Hooks: hookCost(t.Cost), Woven: t.Woven, Cached: t.Cached, Notes: t.Notes, Transactions: []transaction{},
		Losses: losses{
			l.NotChosen, l.Beyond, l.Early, l.Dropped, l.Undecided, l.Ambiguous, l.ContextsLost, l.Unfinished, l.GivenUp, l.Strays, l.LateParts,
		},
	}
	if !t.Began.IsZero() {
		form.Began = t.Began.Format(time.RFC3339Nano)
	}
	return form
}

func newTransaction(target *trace.Target, t *trace.Transaction) transaction {
	id := target.TraceID(t)
	form := transaction{
		TraceID: hex.EncodeToString(id[:]), Begin: t.Begin.Format(time.RFC3339Nano), Duration: t.Duration, Extent: t.Extent(),
		Lost: t.Lost, Late: t.Late, Tags: t.Tags, Root: newCall(t.Root), Parts: newCalls(t.Parts),
	}
	form.Calls, form.Errors = t.Calls()
	return form
}

func newCalls(calls []*trace.Call) (forms []call) {
	for _, c := range calls {
		forms = append(forms, newCall(c))
	}
	return forms
}

func newCall(c *trace.Call) call {
	form := call{
		Class: c.Class, Method: c.Method, Descriptor: c.Descriptor, Probe: c.Probe, Thread: c.Thread.ID, ThreadName: c.Thread.Name,
		Start: c.Start, Measured: c.Measured, Duration: c.Duration, Self: c.Self,
		Threw: c.Threw, Cut: c.Cut, Handed: c.Handed, Conditional: c.Conditional, Tags: c.Tags, Children: newCalls(c.Children),
	}
	for _, v := range c.Values {
		form.Values = append(form.Values, value{v.Expression, v.Text, v.AtExit, v.Null, v.Failed, v.Cut, v.Redacted})
	}
	if c.Omitted.Calls > 0 {
		form.Omitted = &omitted{c.Omitted.Calls, c.Omitted.Time}
	}
	return form
}
