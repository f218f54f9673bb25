package waterfall

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// The form of a trace in JSON (docs/formats/trace.md).
const (
	formatName    = "sonde-trace"
	formatVersion = 1
)

type traceForm struct {
	Format       string            `json:"format"`
	Version      int               `json:"version"`
	Target       targetForm        `json:"target"`
	Command      string            `json:"command,omitempty"`
	Methods      []string          `json:"methods"`
	Conditions   []string          `json:"conditions,omitempty"`
	Levels       int               `json:"levels"`
	Began        string            `json:"began,omitempty"`
	TookNanos    int64             `json:"tookNanos"`
	Hooks        costForm          `json:"hooks"`
	Woven        int               `json:"classesWoven"`
	Cached       int               `json:"classesFromCache"`
	Losses       lossForm          `json:"losses"`
	Notes        []string          `json:"notes,omitempty"`
	Transactions []transactionForm `json:"transactions"`
}

type targetForm struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	JDK     string `json:"jdk,omitempty"`
}

type costForm struct {
	InnerNanos float64 `json:"innerNanos"`
	OuterNanos float64 `json:"outerNanos"`
}

type lossForm struct {
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

type transactionForm struct {
	TraceID       string            `json:"traceId"`
	Begin         string            `json:"begin"`
	DurationNanos int64             `json:"durationNanos"`
	ExtentNanos   int64             `json:"extentNanos"`
	Calls         uint64            `json:"calls"`
	Errors        uint64            `json:"errors,omitempty"`
	Lost          uint64            `json:"lost,omitempty"`
	Late          int               `json:"late,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
	Root          callForm          `json:"root"`
	Parts         []callForm        `json:"parts,omitempty"`
}

type callForm struct {
	Class         string            `json:"class,omitempty"`
	Method        string            `json:"method"`
	Descriptor    string            `json:"descriptor,omitempty"`
	Probe         string            `json:"probe,omitempty"`
	Thread        uint64            `json:"thread"`
	ThreadName    string            `json:"threadName,omitempty"`
	StartNanos    int64             `json:"startNanos"`
	MeasuredNanos int64             `json:"measuredNanos"`
	DurationNanos int64             `json:"durationNanos"`
	SelfNanos     int64             `json:"selfNanos"`
	Threw         bool              `json:"threw,omitempty"`
	Cut           bool              `json:"cut,omitempty"`
	Handed        bool              `json:"handed,omitempty"`
	Conditional   bool              `json:"conditional,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
	Values        []valueForm       `json:"values,omitempty"`
	Omitted       *omittedForm      `json:"omitted,omitempty"`
	Children      []callForm        `json:"children,omitempty"`
}

type valueForm struct {
	Expression string `json:"expression"`
	Text       string `json:"text,omitempty"`
	AtExit     bool   `json:"atExit,omitempty"`
	Null       bool   `json:"null,omitempty"`
	Failed     bool   `json:"failed,omitempty"`
	Cut        bool   `json:"cut,omitempty"`
	Redacted   bool   `json:"redacted,omitempty"`
}

type omittedForm struct {
	Calls uint64 `json:"calls"`
	Nanos int64  `json:"nanos"`
}

// WriteJSON writes a trace in Sonde's own form.
func WriteJSON(w io.Writer, t *trace.Trace) error {
	encoded, err := encode(t)
	if err != nil {
		return err
	}
	_, err = w.Write(append(encoded, '\n'))
	return err
}

func encode(t *trace.Trace) ([]byte, error) {
	form := newTraceForm(t)
	for _, one := range t.Transactions {
		form.Transactions = append(form.Transactions, newTransactionForm(&t.Target, one))
	}
	return json.Marshal(form)
}

// EncodeTransaction is one transaction in that form, on a line.
func EncodeTransaction(target *trace.Target, t *trace.Transaction) ([]byte, error) {
	return json.Marshal(newTransactionForm(target, t))
}

// EncodeEnd is what a trace says besides its transactions, on a line.
func EncodeEnd(t *trace.Trace) ([]byte, error) {
	return json.Marshal(struct {
		Final bool `json:"final"`
		Kept  int  `json:"kept"`
		traceForm
		Transactions *struct{} `json:"transactions,omitempty"`
	}{Final: true, Kept: len(t.Transactions), traceForm: newTraceForm(t)})
}

func newTraceForm(t *trace.Trace) traceForm {
	l := t.Losses
	form := traceForm{
		Format: formatName, Version: formatVersion, Target: targetForm(t.Target), Command: t.Command, Methods: t.Methods, Conditions: t.Conditions,
		Levels: t.Levels, TookNanos: int64(t.Took), Hooks: costForm{t.Cost.Inner, t.Cost.Outer}, Woven: t.Woven, Cached: t.Cached, Notes: t.Notes, Transactions: []transactionForm{},
		Losses: lossForm{
			l.NotChosen, l.Beyond, l.Early, l.Dropped, l.Undecided, l.Ambiguous, l.ContextsLost, l.Unfinished, l.GivenUp, l.Strays, l.LateParts,
		},
	}
	if !t.Began.IsZero() {
		form.Began = t.Began.Format(time.RFC3339Nano)
	}
	return form
}

func newTransactionForm(target *trace.Target, t *trace.Transaction) transactionForm {
	id := target.TraceID(t)
	form := transactionForm{
		TraceID: hex.EncodeToString(id[:]), Begin: t.Begin.Format(time.RFC3339Nano), DurationNanos: int64(t.Duration), ExtentNanos: int64(t.Extent()),
		Lost: t.Lost, Late: t.Late, Tags: t.Tags, Root: newCallForm(t.Root), Parts: newCallForms(t.Parts),
	}
	form.Calls, form.Errors = t.Calls()
	return form
}

func newCallForms(calls []*trace.Call) (forms []callForm) {
	for _, c := range calls {
		forms = append(forms, newCallForm(c))
	}
	return forms
}

func newCallForm(c *trace.Call) callForm {
	form := callForm{
		Class: c.Class, Method: c.Method, Descriptor: c.Descriptor, Probe: c.Probe, Thread: c.Thread.ID, ThreadName: c.Thread.Name,
		StartNanos: int64(c.Start), MeasuredNanos: int64(c.Measured), DurationNanos: int64(c.Duration), SelfNanos: int64(c.Self),
		Threw: c.Threw, Cut: c.Cut, Handed: c.Handed, Conditional: c.Conditional, Tags: c.Tags, Children: newCallForms(c.Children),
	}
	for _, v := range c.Values {
		form.Values = append(form.Values, valueForm{v.Expression, v.Text, v.AtExit, v.Null, v.Failed, v.Cut, v.Redacted})
	}
	if c.Omitted.Calls > 0 {
		form.Omitted = &omittedForm{c.Omitted.Calls, int64(c.Omitted.Time)}
	}
	return form
}
