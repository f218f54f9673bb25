package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// How calls are timed.
const (
	timingExact   = "exact"
	timingSampled = "sampled"
	timingNone    = "none"
)

// A methodRow is a method with what was measured of it.
type methodRow struct {
	class, name, descriptor string // the class with dots
	id                      uint32
	watched                 *liveprobes.Row // of a row by context; nil for others
	context                 string          // what tells it from others of the method, for people
	arena.Totals
	rate   float64 // calls a second, lately
	spread *spread // of sampled times; nil where it is not known
}

// parseRow takes class.name(descriptor) apart.
func parseRow(full string) methodRow {
	head, tail, found := strings.Cut(full, "(")
	at := strings.LastIndexByte(head, '.')
	if !found || at < 0 {
		return methodRow{name: full}
	}
	return methodRow{class: head[:at], name: head[at+1:], descriptor: "(" + tail}
}

// ended is how many calls could have been timed. Of calls that are not timed it
// is not known whether they have ended; they are few among many.
func (r *methodRow) ended() uint64 { return r.Calls - min(r.Calls, r.Active+r.Untimed) }

// mean is the time of one call, of those that were timed; negative where none
// was.
func (r *methodRow) mean() float64 {
	if r.Timed == 0 {
		return -1
	}
	return float64(r.Nanos) / float64(r.Timed)
}

// total is the time of all calls. Of exact times those under way count as far as
// they have come; sampled ones stand for all that have ended.
func (r *methodRow) total(timing string) float64 {
	if timing == timingSampled {
		return float64(r.Nanos) * r.scale()
	}
	return float64(r.Nanos) + float64(r.Running)
}

// self is TOTAL without callees that have hooks. Of sampled calls it is not
// known: their callees are not timed for it, which would make them longer.
func (r *methodRow) self(timing string) float64 {
	if timing == timingSampled {
		return 0
	}
	return float64(r.Self)
}

func (r *methodRow) scale() float64 {
	if r.Timed == 0 {
		return 0
	}
	return float64(r.ended()) / float64(r.Timed)
}

// hasTimes tells whether any call gave a time.
func (r *methodRow) hasTimes() bool { return r.Timed > 0 || r.Running > 0 }

// sortKeys are what --sort knows: the largest first, names from A to Z.
var sortKeys = map[string]func(r *methodRow, timing string) float64{
	"calls": func(r *methodRow, _ string) float64 { return float64(r.Calls) },
	"total": func(r *methodRow, timing string) float64 { return r.total(timing) },
	"self":  func(r *methodRow, timing string) float64 { return r.self(timing) },
	"mean":  func(r *methodRow, _ string) float64 { return r.mean() },
	"name":  func(*methodRow, string) float64 { return 0 },
}

func sortRows(rows []methodRow, by, timing string) {
	key := sortKeys[by]
	slices.SortStableFunc(rows, func(a, b methodRow) int {
		return cmp.Or(cmp.Compare(key(&b, timing), key(&a, timing)),
			cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name), cmp.Compare(a.descriptor, b.descriptor), cmp.Compare(a.context, b.context))
	})
}

var countColumns = []column{
	{"CALLS", true}, {"CALLS/S", true}, {"TOTAL", true}, {"SELF", true}, {"MEAN", true},
	{"THREW", true}, {"RUNNING", true}, {"METHOD", false},
}

// expendable are the columns a narrow terminal goes without, the first to go
// first: without the method's name the others say nothing.
var expendable = []string{"RUNNING", "THREW", "SELF", "CALLS/S", "TOTAL"}

// fitting leaves columns of a count out until the last has room for a name.
func fitting(columns []column, rows [][]string, width int) ([]column, [][]string) {
	return fit(columns, rows, expendable, width)
}

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
func rowTexts(rows []methodRow, timing string, overloads map[string]bool) [][]string {
	about := ""
	if timing == timingSampled {
		about = "~"
	}
	texts := make([][]string, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		total, self, mean, running := "-", "-", "-", "-"
		if timing == timingExact {
			running = grouped(int(r.Active))
		}
		if r.hasTimes() {
			total = about + nanosText(r.total(timing))
		}
		if r.hasTimes() && timing == timingExact {
			self = nanosText(r.self(timing))
		}
		if r.Timed > 0 {
			mean = about + callText(r.mean())
			if sure := r.spread.error(); timing == timingSampled && sure >= 0 {
				mean += fmt.Sprintf(" ±%.0f %%", max(1, sure*100))
			}
		}
		texts = append(texts, []string{
			callsText(r.Calls, r.LowerBound), format.AtLeast(r.LowerBound, rateText(r.rate)), total, self, mean,
			grouped(int(r.Threw)), running, printable(r.shown(overloads)),
		})
	}
	return texts
}

// shown is the method's name for people, with its context.
func (r *methodRow) shown(overloads map[string]bool) string {
	if r.context != "" {
		return r.method(overloads) + " [" + r.context + "]"
	}
	return r.method(overloads)
}

func (r *methodRow) method(overloads map[string]bool) string {
	name := r.class + "." + r.name
	if !overloads[name] {
		return name
	}
	parsed, err := descriptor.ParseMethod(r.descriptor)
	if err != nil {
		return name + r.descriptor
	}
	parameters := make([]string, 0, parsed.NumParams())
	for _, p := range parsed.Params() {
		text := p.Human()
		parameters = append(parameters, text[strings.LastIndexByte(text, '.')+1:])
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(parameters, ","))
}

// overloadsOf finds the names that more than one method has.
func overloadsOf(rows []methodRow) map[string]bool {
	first, overloads := map[string]string{}, map[string]bool{}
	for i := range rows {
		name := rows[i].class + "." + rows[i].name
		if other, is := first[name]; !is {
			first[name] = rows[i].descriptor
		} else if other != rows[i].descriptor {
			overloads[name] = true
		}
	}
	return overloads
}
