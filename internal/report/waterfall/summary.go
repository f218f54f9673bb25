package waterfall

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

// The columns of the list, by where they end; the root's name and tags have the rest.
const (
	numberEnd, whenEnd, durationEnd, callsEnd, errorsEnd, threadEnd = 4, 18, 28, 36, 41, 50
	rootBegin                                                       = threadEnd + 2
)

// Title is the line above a list.
func Title(terminal Terminal) string {
	terminal = terminal.fitted()
	l := &line{colours: terminal.Colours}
	l.right(dim, "#", numberEnd)
	l.right(dim, "WHEN        ", whenEnd)
	l.right(dim, "DURATION", durationEnd)
	l.right(dim, "CALLS", callsEnd)
	l.right(dim, "ERR", errorsEnd)
	l.right(dim, "THREAD", threadEnd)
	l.pad(rootBegin)
	l.add(dim, format.Cut("ROOT, TAGS, VALUES", terminal.Width-l.width))
	return l.String()
}

// rootValues are what was captured of the root.
func rootValues(t *trace.Transaction) string {
	var texts []string
	for _, v := range t.Root.Values {
		texts = append(texts, format.Line(v.Expression)+"="+valueText(v))
	}
	return strings.Join(texts, "  ")
}

// Line is a transaction as a line of the list.
func Line(number int, t *trace.Transaction, terminal Terminal) string {
	terminal = terminal.fitted()
	l := &line{colours: terminal.Colours}
	calls, errors := t.Calls()
	l.right(dim, strconv.Itoa(number), numberEnd)
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
	name := format.Line(shortName(t.Root.Class, t.Root.Method))
	tags := strings.TrimSpace(tagsText(t.Tags) + "  " + rootValues(t))
	room := terminal.Width - l.width
	if tags != "" {
		room = max(room/2, room-len([]rune(tags))-2)
	}
	l.add(normal, cutFront(name, room))
	if t.Root.Threw {
		l.add(red, " !")
	}
	if room := terminal.Width - l.width - 2; tags != "" && room > 1 {
		l.add(green, "  "+format.Cut(tags, room))
	}
	return l.String()
}

// Styles of a terminal, as it is told of them.
type style string

const (
	normal style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	violet style = "35"
	cyan   style = "36"
)

// A line is put together of pieces, each with its style. Its width is known whatever
// the styles are.
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

// pad fills up to a column.
func (l *line) pad(column int) { l.add(normal, strings.Repeat(" ", max(0, column-l.width))) }

// right adds a text that ends at a column.
func (l *line) right(s style, text string, column int) {
	l.pad(column - utf8.RuneCountInString(text))
	l.add(s, text)
}

func (l *line) String() string { return strings.TrimRight(l.text.String(), " ") }

// cutFront leaves out the beginning: of names the end says more.
func cutFront(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return "…" + string(runes[len(runes)-max(0, width-1):])
}

// shortName is a class without its package, and a method.
func shortName(class, method string) string {
	class = class[strings.LastIndexByte(class, '.')+1:]
	if class == "" {
		return method
	}
	return class + "." + method
}

// wrap breaks a text at spaces into lines of so many columns; what has none is cut.
func wrap(text string, width int) (lines []string) {
	current := ""
	for _, word := range strings.Fields(text) {
		switch joined := current + " " + word; {
		case current == "":
			current = word
		case utf8.RuneCountInString(joined) <= width:
			current = joined
		default:
			lines = append(lines, format.Cut(current, width))
			current = "  " + word
		}
	}
	return append(lines, format.Cut(current, width))
}
