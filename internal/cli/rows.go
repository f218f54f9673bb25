package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

var countColumns = []column{
	{"CALLS", true}, {"CALLS/S", true}, {"TOTAL", true}, {"SELF", true}, {"MEAN", true},
	{"THREW", true}, {"RUNNING", true}, {"METHOD", false},
}

// expendable are the columns a narrow terminal goes without, the first to go
// first: without the method's name the others say nothing.
var expendable = []string{"RUNNING", "THREW", "SELF", "CALLS/S", "TOTAL"}

// fit leaves columns out, the first that is named first, until the last has room
// for a name.
func fit(columns []column, rows [][]string, expendable []string, width int) ([]column, [][]string) {
	const room = 20
	columns = slices.Clone(columns)
	rows = slices.Clone(rows)
	for _, title := range expendable {
		if spaceBefore(columns, rows)+room <= width {
			break
		}
		at := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
		columns = slices.Delete(columns, at, at+1)
		for i := range rows {
			rows[i] = slices.Delete(slices.Clone(rows[i]), at, at+1)
		}
	}
	return columns, rows
}

// rowTexts are the cells of rows. overloads are the names that more than one
// method has, which are told apart by their parameters.
func rowTexts(rows []results.Row, overloads map[string]bool) [][]string {
	texts := make([][]string, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		total, self, mean, running := "-", "-", "-", "-"
		if r.Timing == results.Exact {
			running = grouped(int(r.Active))
		}
		if r.HasTimes() {
			total = about(r) + nanosText(r.Total())
		}
		if r.HasTimes() && r.Timing == results.Exact {
			self = nanosText(r.SelfTime())
		}
		if r.Timed > 0 {
			mean = about(r) + callText(r.Mean())
			if sure := r.Uncertainty.Error(); r.Timing == results.Sampled && sure >= 0 {
				mean += fmt.Sprintf(" ±%.0f %%", max(1, sure*100))
			}
		}
		texts = append(texts, []string{
			callsText(r.Calls, r.LowerBound), format.AtLeast(r.LowerBound, rateText(r.PerSecond)), total, self, mean,
			grouped(int(r.Threw)), running, printable(rowName(r, overloads)),
		})
	}
	return texts
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
	if r.Context != "" {
		name += " [" + r.Context + "]"
	}
	return name
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

// overloadsOf finds the names that more than one method has.
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

// lowerBoundJSON says of calls that there may have been more, and why.
type lowerBoundJSON struct {
	LowerBound bool   `json:"lowerBound,omitempty"`
	Why        string `json:"lowerBoundReason,omitempty"`
}

func describeLowerBound(isLowerBound bool) lowerBoundJSON {
	if !isLowerBound {
		return lowerBoundJSON{}
	}
	return lowerBoundJSON{true, session.WhyLowerBound}
}

// callsText is a number of calls.
func callsText(calls uint64, isLowerBound bool) string {
	return format.AtLeast(isLowerBound, grouped(int(calls)))
}

// hasLowerBound reports whether the calls of any row are a lower bound.
func hasLowerBound(rows []results.Row) bool {
	return slices.ContainsFunc(rows, func(r results.Row) bool { return r.LowerBound })
}

// idleLines name what no call was counted of. Whether methods that HotSpot may replace were
// called is not known.
func idleLines(rows []results.Row) (lines []string) {
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
	if idle > 0 {
		lines = append(lines, count(idle, "method with a hook was", "methods with hooks were")+" not called")
	}
	if len(unsure) > 0 {
		named := strings.Join(unsure[:min(most, len(unsure))], ", ")
		if len(unsure) > most {
			named += ", …"
		}
		lines = append(lines, fmt.Sprintf("no call was counted of %s (%s), which HotSpot may have replaced: ≥ 0",
			count(len(unsure), "method", "methods"), printable(named)))
	}
	return lines
}
