// Package chrome writes traces as events for Perfetto, speedscope and Chrome's viewer: a slice
// for each call, a track for each thread, an arrow for each handover to another thread.
package chrome

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// An event is an object of the format. Times are in microseconds.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     json.Number    `json:"ts,omitempty"`
	Duration json.Number    `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   uint64         `json:"tid"`
	ID       int            `json:"id,omitempty"` // readers accept numbers only
	Binding  string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// The phases of events.
const (
	complete  = "X"
	metadata  = "M"
	flowStart = "s"
	flowEnd   = "f"
)

// Write writes a trace.
func Write(w io.Writer, t *trace.Trace) error {
	p := &printer{out: bufio.NewWriter(w), process: t.Target.PID, target: t.Target, threads: map[uint64]bool{}}
	for _, one := range t.Transactions {
		if p.origin.IsZero() || one.Begin.Before(p.origin) {
			p.origin = one.Begin
		}
	}
	p.head(t)
	for _, one := range t.Transactions {
		p.transaction(one)
	}
	p.text("\n]}\n")
	if p.err != nil {
		return p.err
	}
	return p.out.Flush()
}

// A printer writes events. It keeps the first error.
type printer struct {
	arrows  int // number of arrows so far
	out     *bufio.Writer
	err     error
	origin  time.Time // start of the first transaction, from which times count
	process int
	target  trace.Target
	threads map[uint64]bool // that have a name
	isMore  bool
}

func (p *printer) text(text string) {
	if p.err == nil {
		_, p.err = p.out.WriteString(text)
	}
}

// encode avoids needless escapes, which some readers do not decode.
func (p *printer) encode(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil && p.err == nil {
		p.err = fmt.Errorf("chrome: %w", err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func (p *printer) event(e event) {
	encoded := p.encode(e)
	if p.isMore {
		p.text(",")
	}
	p.isMore = true
	p.text("\n" + encoded)
}

func (p *printer) head(t *trace.Trace) {
	about := p.encode(map[string]any{
		"producer": "sonde trace", "target": t.Target.Command, "jdk": t.Target.JDK, "began": p.origin.Format(time.RFC3339Nano), "methods": t.Methods,
	})
	p.text(`{"displayTimeUnit":"ms","otherData":` + about + `,"traceEvents":[`)
	name := cmp.Or(t.Target.Command, "Java")
	p.event(event{Name: "process_name", Phase: metadata, Process: p.process, Args: map[string]any{"name": name}})
}

func (p *printer) transaction(t *trace.Transaction) {
	id := trace.ID(p.target, t)
	name := fmt.Sprintf("%x", id)
	for c := range t.All() {
		p.thread(c.Thread)
		p.event(p.slice(t, c, name))
	}
	for _, part := range t.Parts {
		p.arrows++
		arrow := event{Name: "handed over", Category: "hand-off", Process: p.process, ID: p.arrows}
		arrow.Phase, arrow.Thread, arrow.Time = flowStart, t.Root.Thread.ID, p.at(t, 0)
		p.event(arrow)
		// Binds to the enclosing slice, not to the next one.
		arrow.Phase, arrow.Thread, arrow.Time, arrow.Binding = flowEnd, part.Thread.ID, p.at(t, part.Start), "e"
		p.event(arrow)
	}
}

func (p *printer) thread(thread trace.Thread) {
	if p.threads[thread.ID] {
		return
	}
	p.threads[thread.ID] = true
	p.event(event{Name: "thread_name", Phase: metadata, Process: p.process, Thread: thread.ID, Args: map[string]any{"name": thread.String()}})
}

func (p *printer) slice(t *trace.Transaction, c *trace.Call, id string) event {
	e := event{
		Name: c.Name(), Category: "call", Phase: complete, Time: p.at(t, c.Start), Duration: micros(c.Measured), Process: p.process, Thread: c.Thread.ID,
		Args: arguments(c),
	}
	if c.Conditional {
		e.Category = "call,conditional"
	}
	if c.Category != "" {
		e.Category = "call," + c.Category
		e.Args["target"] = c.Target
	}
	if c == t.Root {
		e.Args["trace"] = id
		for tag, value := range t.Tags {
			e.Args["tag "+tag] = value
		}
		if t.Lost > 0 {
			e.Args["calls only counted"] = t.Lost
		}
	}
	return e
}

// at returns a time of a transaction.
func (p *printer) at(t *trace.Transaction, since time.Duration) json.Number {
	return micros(t.Begin.Sub(p.origin) + since)
}

// micros returns a time in microseconds with three decimals.
func micros(d time.Duration) json.Number {
	d = max(0, d)
	return json.Number(fmt.Sprintf("%d.%03d", d/1000, d%1000))
}

// arguments returns what a viewer shows for a selected slice. Most slices have none, because
// speedscope treats slices of one name as one method only if their arguments are equal.
func arguments(c *trace.Call) map[string]any {
	args := map[string]any{}
	for name, is := range map[string]bool{"threw": c.Threw, "no end seen": c.Cut, "handed over": c.Handed, "conditional": c.Conditional} {
		if is {
			args[name] = true
		}
	}
	for tag, value := range c.Tags {
		args["tag "+tag] = value
	}
	if c.Omitted.Calls > 0 {
		args["calls summed up"] = c.Omitted.Calls
	}
	for _, f := range c.Folded {
		args["further calls of "+f.Method] = f.Calls
	}
	for _, v := range c.Values {
		name := v.Expression
		if v.AtExit {
			name = "exit " + name
		}
		args[name] = valueOf(v)
	}
	return args
}

func valueOf(v trace.Value) any {
	if v.Null && !v.Failed && !v.Redacted {
		return nil
	}
	return text.Value(v)
}
