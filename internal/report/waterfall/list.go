package waterfall

import (
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
