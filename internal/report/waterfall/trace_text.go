package waterfall

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// WriteText writes a whole trace: the list, each waterfall, and what is not shown.
func WriteText(w io.Writer, t *trace.Trace, terminal Terminal) error {
	out := bufio.NewWriter(w)
	writeWrapped(out, about(t), terminal)
	if len(t.Transactions) > 0 {
		_, _ = fmt.Fprintf(out, "\n%s\n", Title(terminal))
	}
	for i, one := range t.Transactions {
		_, _ = fmt.Fprintln(out, Line(i+1, one, terminal))
	}
	for i, one := range t.Transactions {
		_, _ = fmt.Fprintln(out)
		if err := Write(out, i+1, one, terminal); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(out)
	WriteSummary(out, t, terminal)
	return out.Flush()
}

// WriteSummary writes what Summary says. Errors are the writer's to keep.
func WriteSummary(w io.Writer, t *trace.Trace, terminal Terminal) {
	writeWrapped(w, Summary(t), terminal)
}

func writeWrapped(out io.Writer, texts []string, terminal Terminal) {
	for _, text := range texts {
		for _, one := range wrap(format.Line(text), terminal.fitted().Width) {
			_, _ = fmt.Fprintln(out, one)
		}
	}
}

// about says what was traced.
func about(t *trace.Trace) []string {
	texts := []string{"Traced " + strings.Join(t.Methods, " ")}
	if len(t.Conditions) > 0 {
		texts = append(texts, "Only "+strings.Join(t.Conditions, ", "))
	}
	target := fmt.Sprintf("Process %d", t.Target.PID)
	if t.Target.Command != "" {
		target += " (" + t.Target.Command + ")"
	}
	if t.Target.JDK != "" {
		target += ", JDK " + t.Target.JDK
	}
	if !t.Began.IsZero() {
		target += ", from " + t.Began.Format("2006-01-02 15:04:05") + " for " + format.Duration(t.Took)
	}
	return append(texts, target)
}

// Summary says, a line each, how many there are, what times mean, and what is not
// shown and why.
func Summary(t *trace.Trace) []string {
	texts := []string{format.Count(uint64(len(t.Transactions)), "transaction", "transactions") + " kept" + notChosen(t.Losses)}
	if t.Cost != (trace.Cost{}) {
		texts = append(texts, fmt.Sprintf("Times are without what hooks took: %.0f ns in each call, %.0f ns more in its caller", t.Cost.Inner, t.Cost.Outer), deeper)
	} else {
		texts = append(texts, "What hooks took was not measured: it is in the times")
	}
	return append(texts, LossTexts(t.Losses)...)
}

// deeper says what is not taken off: a hook acts in every call of its method, also in those
// too deep to be recorded, and nobody counts these.
const deeper = "What hooks took of calls too deep to be recorded is still in the times: fewer --levels have fewer hooks"

func notChosen(l trace.Losses) string {
	var texts []string
	if l.NotChosen > 0 {
		texts = append(texts, format.Grouped(l.NotChosen)+" not chosen at their end")
	}
	if l.Beyond > 0 {
		texts = append(texts, format.Grouped(l.Beyond)+" more than wanted")
	}
	if l.Early > 0 {
		texts = append(texts, format.Grouped(l.Early)+" begun before the JVM had compiled again what has hooks")
	}
	if len(texts) == 0 {
		return ""
	}
	return "; " + strings.Join(texts, ", ")
}

// LossTexts say what was lost, a line each; none where nothing was.
func LossTexts(l trace.Losses) (texts []string) {
	for _, loss := range []struct {
		n              uint64
		one, many, why string
	}{
		{l.Dropped, "call was", "calls were", " only counted: rings had no room; their time is with their callers (fewer --levels leave more)"},
		{l.Undecided, "call was", "calls were", " undecided: the condition failed with an exception, which counts as no"},
		{l.Ambiguous, "task was", "tasks were", " handed over again before it began: what it did is in no transaction"},
		{l.ContextsLost, "call had", "calls had", " no room to keep context: what it called may be missing"},
		{l.Unfinished, "transaction had", "transactions had", " not ended"},
		{l.GivenUp, "transaction was", "transactions were", " given up: too many waited for their end"},
		{l.Strays, "call is", "calls are", " in no transaction: its root did not end, or long before"},
		{l.LateParts, "part came", "parts came", " when the transaction had long ended"},
	} {
		if loss.n > 0 {
			texts = append(texts, format.Count(loss.n, loss.one, loss.many)+loss.why)
		}
	}
	return texts
}
