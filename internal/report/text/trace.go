package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// WriteTrace writes a trace: the list of transactions, each waterfall, and what is not shown.
func WriteTrace(w io.Writer, t *trace.Trace, terminal Terminal) error {
	out := bufio.NewWriter(w)
	writeWrapped(out, about(t), terminal)
	if len(t.Transactions) > 0 {
		_, _ = fmt.Fprintf(out, "\n%s\n", TraceHeader(terminal))
	}
	for i, one := range t.Transactions {
		_, _ = fmt.Fprintln(out, TraceLine(i+1, one, terminal))
	}
	for i, one := range t.Transactions {
		_, _ = fmt.Fprintln(out)
		if err := WriteTransaction(out, i+1, one, terminal); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(out)
	WriteTraceSummary(out, t, terminal)
	return out.Flush()
}

// WriteTraceSummary writes how many transactions there are, what the times mean, and what
// is not shown and why. It ignores errors of the writer.
func WriteTraceSummary(w io.Writer, t *trace.Trace, terminal Terminal) {
	writeWrapped(w, traceSummary(t), terminal)
}

func writeWrapped(out io.Writer, texts []string, terminal Terminal) {
	for _, text := range texts {
		for _, one := range wrapCut(format.Line(text), terminal.fitted().Width) {
			_, _ = fmt.Fprintln(out, one)
		}
	}
}

// about describes what was traced.
func about(t *trace.Trace) []string {
	var texts []string
	if t.Disturbed != "" {
		texts = append(texts, t.Disturbed)
	}
	texts = append(texts, "Traced "+strings.Join(t.Methods, " "))
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

func traceSummary(t *trace.Trace) []string {
	texts := []string{format.Count(uint64(len(t.Transactions)), "transaction", "transactions") + " kept"}
	if missing := NotChosen(t.Losses); missing != "" {
		texts[0] += "; " + missing
	}
	texts = append(texts, TraceTimes(t)...)
	texts = append(texts, Losses(t.Losses)...)
	if t.Disturbance != nil {
		texts = append(texts, t.Disturbance.String())
	}
	return texts
}

// TraceTimes describes what the times of a trace include.
func TraceTimes(t *trace.Trace) []string {
	if t.Cost == (trace.Cost{}) {
		return []string{"The cost of hooks was not measured: the times include it"}
	}
	return []string{
		fmt.Sprintf("Times exclude the cost of hooks: %.0f ns in each call, and another %.0f ns in its caller", t.Cost.Inner, t.Cost.Outer),
		// A hook runs in every call of its method, and calls that are too deep are not counted.
		"Times include the cost of hooks in calls too deep to be recorded: use fewer --levels for fewer hooks",
	}
}

// NotChosen describes which transactions were not kept, or returns "" if all were.
func NotChosen(l trace.Losses) string {
	var texts []string
	if l.NotChosen > 0 {
		texts = append(texts, format.Grouped(l.NotChosen)+" did not meet the conditions")
	}
	if l.Beyond > 0 {
		texts = append(texts, format.Grouped(l.Beyond)+" more than requested")
	}
	return strings.Join(texts, ", ")
}

// Losses describes what a trace lost, one sentence each.
func Losses(l trace.Losses) (texts []string) {
	for _, loss := range []struct {
		n              uint64
		one, many, why string
	}{
		{l.Dropped, "call was", "calls were", " only counted because rings were full; their time is included in that of their callers (use fewer --levels)"},
		{l.Undecided, "call was", "calls were", " undecided: the condition could not be evaluated, which counts as false"},
		{l.Ambiguous, "task was", "tasks were", " submitted again before it began: its calls are in no transaction"},
		{l.ContextsLost, "call had", "calls had", " no room for its context: its callees may be missing"},
		{l.Unfinished, "transaction had", "transactions had", " not ended"},
		{l.GivenUp, "transaction was", "transactions were", " given up because too many were unfinished"},
		{l.Strays, "call is", "calls are", " in no transaction: its root did not end, or ended long before"},
		{l.LateParts, "part came", "parts came", " long after its transaction had ended"},
	} {
		if loss.n > 0 {
			texts = append(texts, format.Count(loss.n, loss.one, loss.many)+loss.why)
		}
	}
	return texts
}

// Where the columns of the list end. The root's name and tags take the rest.
const (
	numberEnd, whenEnd, durationEnd, callsEnd, errorsEnd, threadEnd = 4, 18, 28, 36, 41, 50
	rootBegin                                                       = threadEnd + 2
)

// In less than narrowList columns, the list has only the first columns, and times without milliseconds, so that there is
// room for the root's name.
const narrowList, narrowWhenEnd, narrowDurationEnd = rootBegin + 18, 14, 24

func (t Terminal) isNarrow() bool { return t.Width > 0 && t.Width < narrowList }

// TraceHeader returns the column titles of the list of transactions.
func TraceHeader(terminal Terminal) string {
	isNarrow := terminal.isNarrow()
	terminal = terminal.fitted()
	l := &line{colours: terminal.Colours}
	l.right(dim, "#", numberEnd)
	if isNarrow {
		l.right(dim, "WHEN    ", narrowWhenEnd)
		l.right(dim, "DURATION", narrowDurationEnd)
		l.add(dim, "  ROOT")
		return l.String()
	}
	l.right(dim, "WHEN        ", whenEnd)
	l.right(dim, "DURATION", durationEnd)
	l.right(dim, "CALLS", callsEnd)
	l.right(dim, "ERR", errorsEnd)
	l.right(dim, "THREAD", threadEnd)
	l.pad(rootBegin)
	l.add(dim, format.Cut("ROOT, TAGS, VALUES", terminal.Width-l.width))
	return l.String()
}

// rootValues returns the values captured in the root.
func rootValues(t *trace.Transaction) string {
	var texts []string
	for _, v := range t.Root.Values {
		texts = append(texts, format.Line(v.Expression)+"="+format.Line(Value(v)))
	}
	return strings.Join(texts, "  ")
}

// TraceLine returns the line of a transaction in the list.
func TraceLine(number int, t *trace.Transaction, terminal Terminal) string {
	room, isNarrow := terminal.Width-narrowDurationEnd-2, terminal.isNarrow()
	terminal = terminal.fitted()
	l := &line{colours: terminal.Colours}
	calls, errors := t.Calls()
	name := format.Line(ShortName(t.Root.Class, t.Root.Method))
	l.right(dim, strconv.Itoa(number), numberEnd)
	if isNarrow {
		l.right(normal, t.Begin.Format("15:04:05"), narrowWhenEnd)
		l.right(bold, format.Duration(t.Duration), narrowDurationEnd)
		l.add(normal, "  "+cutStart(name, max(1, room)))
		return l.String()
	}
	l.right(normal, t.Begin.Format("15:04:05.000"), whenEnd)
	l.right(bold, format.Duration(t.Duration), durationEnd)
	more := ""
	if t.Lost > 0 {
		more = "+"
	}
	l.right(normal, format.Grouped(calls)+more, callsEnd)
	if errors > 0 {
		l.right(red, format.Grouped(errors), errorsEnd)
	} else {
		l.right(dim, "-", errorsEnd)
	}
	l.right(dim, strconv.FormatUint(t.Root.Thread.ID, 10), threadEnd)
	l.pad(rootBegin)
	tags := strings.TrimSpace(Tags(t.Tags) + "  " + rootValues(t))
	room = terminal.Width - l.width
	if tags != "" {
		room = max(room/2, room-len([]rune(tags))-2)
	}
	l.add(normal, cutStart(name, room))
	if t.Root.Threw {
		l.add(red, " !")
	}
	if room := terminal.Width - l.width - 2; tags != "" && room > 1 {
		l.add(green, "  "+format.Cut(tags, room))
	}
	return l.String()
}

// A style is the parameter of an escape sequence that sets a style.
type style string

const (
	normal style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	violet style = "35"
	cyan   style = "36"
)

// A line consists of pieces, each with its style. Its width does not count styles.
type line struct {
	text    strings.Builder
	width   int
	colours bool
}

func (l *line) add(s style, text string) {
	if text == "" {
		return
	}
	l.width += utf8.RuneCountInString(text)
	if l.colours && s != normal {
		l.text.WriteString("\x1b[" + string(s) + "m" + text + "\x1b[0m")
		return
	}
	l.text.WriteString(text)
}

// pad adds spaces up to a column.
func (l *line) pad(column int) { l.add(normal, strings.Repeat(" ", max(0, column-l.width))) }

// right adds a text so that it ends at a column.
func (l *line) right(s style, text string, column int) {
	l.pad(column - utf8.RuneCountInString(text))
	l.add(s, text)
}

func (l *line) String() string { return strings.TrimRight(l.text.String(), " ") }

// ShortName returns a class with a shortened package, and a method.
func ShortName(class, method string) string {
	if class == "" {
		return method
	}
	return format.ShortClass(class) + "." + method
}

// wrapCut breaks a text between words, and cuts words that are longer than a line.
func wrapCut(text string, width int) []string {
	lines := format.Wrap(text, width)
	for i := range lines {
		lines[i] = format.Cut(lines[i], width)
	}
	return lines
}
