package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

var countColumns = format.Columns(">CALLS", ">CALLS/S", ">TOTAL", ">SELF", ">MEAN", ">THREW", ">RUNNING", "METHOD")

// expendable are the columns that a narrow terminal drops, in this order, to keep the name
// of the method.
var expendable = []string{"RUNNING", "THREW", "SELF", "CALLS/S", "TOTAL"}

// rowTexts returns the cells of rows. Methods whose names are in overloads are shown with
// their parameters.
func rowTexts(rows []results.Row, overloads map[string]bool) [][]string {
	texts := make([][]string, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		mean, running := "-", "-"
		if r.Timing == results.Exact {
			running = format.Grouped(int(r.Active))
		}
		total, self := totalTexts(r)
		if r.Timed > 0 {
			mean = about(r) + format.Call(r.Mean())
			if r.Timing == results.Sampled {
				mean += errorText(r.Uncertainty.Error())
			}
		}
		texts = append(texts, []string{
			callsText(r.Calls, r.LowerBound), format.AtLeast(r.LowerBound, format.Rate(r.PerSecond)), total, self, mean,
			format.Grouped(int(r.Threw)), running, format.Printable(rowName(r, overloads)),
		})
	}
	return texts
}

// errorText returns the error of a mean as a part of it, with a space in front; -1 is an error of
// which too little is known to show it.
func errorText(part float64) string {
	switch {
	case part < 0:
		return ""
	case part > 1:
		return " ± unknown"
	}
	return fmt.Sprintf(" ±%.0f %%", max(1, part*100))
}

func totalTexts(r *results.Row) (total, self string) {
	total, self = "-", "-"
	if r.HasTimes() {
		total = format.AtLeast(r.LowerBound, about(r)+format.Nanos(r.Total()))
	}
	if r.HasTimes() && r.Timing == results.Exact {
		self = format.AtLeast(r.LowerBound, format.Nanos(r.SelfTime()))
	}
	return total, self
}

// about marks times of calls that were chosen at random.
func about(r *results.Row) string {
	if r.Timing == results.Sampled {
		return "~"
	}
	return ""
}

// rowName is the name of a method for people, with its context.
func rowName(r *results.Row, overloads map[string]bool) string {
	name := r.Class + "." + r.Name
	if overloads[name] {
		name += parameterText(r.Descriptor)
	}
	return name + inContext(r.Context)
}

func inContext(context string) string {
	if context == "" {
		return ""
	}
	return " [" + context + "]"
}

// parameterText lists the types of parameters without their packages.
func parameterText(methodDescriptor string) string {
	parsed, err := descriptor.ParseMethod(methodDescriptor)
	if err != nil {
		return methodDescriptor
	}
	types := make([]string, 0, parsed.NumParams())
	for _, p := range parsed.Params() {
		text := p.Human()
		types = append(types, text[strings.LastIndexByte(text, '.')+1:])
	}
	return "(" + strings.Join(types, ",") + ")"
}

// overloadsOf returns the names that several methods share.
func overloadsOf(rows []results.Row) map[string]bool {
	first, overloads := map[string]string{}, map[string]bool{}
	for i := range rows {
		name := rows[i].Class + "." + rows[i].Name
		if other, is := first[name]; !is {
			first[name] = rows[i].Descriptor
		} else if other != rows[i].Descriptor {
			overloads[name] = true
		}
	}
	return overloads
}

// lowerBoundNote explains the mark of counts that may lack calls.
const lowerBoundNote = "≥: " + session.WhyLowerBound

func callsText(calls uint64, isLowerBound bool) string {
	return format.AtLeast(isLowerBound, format.Grouped(int(calls)))
}

func arenaNotes(untimed, dropped uint64) (lines []string) {
	lines = addCount(lines, untimed, "call was", "calls were", "counted without a time: the arena had no room")
	return addCount(lines, dropped, "call was", "calls were", "not counted: the arena had no room")
}

func contextNotes(lost, ambiguous uint64) (lines []string) {
	lines = addCount(lines, lost, "call", "calls", "of methods in sequences or with tags found no room in the arena: the calls below them have no context")
	return addCount(lines, ambiguous, "task was", "tasks were", "submitted twice before starting: their context is unknown")
}

// addCount adds a sentence about n things, if there are any.
func addCount(lines []string, n uint64, one, many, rest string) []string {
	if n == 0 {
		return lines
	}
	return append(lines, format.Count(int(n), one, many)+" "+rest)
}

func hasLowerBound(rows []results.Row) bool {
	return slices.ContainsFunc(rows, func(r results.Row) bool { return r.LowerBound })
}

// idleLines reports methods without calls, or with a condition, without calls for which it
// held. Methods that HotSpot may replace could have been called without being counted.
func idleLines(rows []results.Row, isConditional bool) (lines []string) {
	const most = 3
	idle, unsure, overloads := 0, []string(nil), overloadsOf(rows)
	for i := range rows {
		switch row := &rows[i]; {
		case row.Calls > 0:
		case row.LowerBound:
			unsure = append(unsure, rowName(row, overloads))
		default:
			idle++
		}
	}
	switch {
	case idle > 0 && isConditional:
		lines = append(lines, "the condition held for no call of "+format.Count(idle, "method with a hook", "methods with hooks"))
	case idle > 0:
		lines = append(lines, format.Count(idle, "method with a hook was", "methods with hooks were")+" not called")
	}
	if len(unsure) > 0 {
		lines = append(lines, fmt.Sprintf("no calls of %s were counted (%s); HotSpot may have replaced them by intrinsics, so their number is unknown (≥ 0)",
			format.Count(len(unsure), "method", "methods"), format.Printable(firstOf(unsure, most))))
	}
	return lines
}

// writeSome writes the first lines of a list, or all of them; how lists the rest.
func writeSome(out io.Writer, indent string, lines []string, most int, all bool, how string) {
	if len(lines) > most && !all {
		rest := fmt.Sprintf("… and %s more (%s lists them)", format.Grouped(len(lines)-most), how)
		lines = append(lines[:most:most], rest)
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(out, "%s%s\n", indent, format.PrintableLines(line))
	}
}

// detailOf returns a reason after its kind.
func detailOf(reason, kind string) string {
	detail := strings.TrimPrefix(strings.TrimPrefix(reason, kind), ": ")
	if detail == "" {
		return ""
	}
	return ": " + detail
}

// topOf returns the first elements of a list, and how many more there are; top is 0 for all.
func topOf[T any](list []T, top int) (shown []T, hidden int) {
	if top == 0 || top >= len(list) {
		return list, 0
	}
	return list[:top], len(list) - top
}

// fields returns a function that writes lines with a name in front of each.
func fields(out io.Writer, width int) func(name, text string, args ...any) {
	return func(name, text string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-*s%s\n", width, name, format.Printable(fmt.Sprintf(text, args...)))
	}
}

// firstOf lists the first names of a list.
func firstOf(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
