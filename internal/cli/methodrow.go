package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
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
func hasLowerBound(rows []methodRow) bool {
	for i := range rows {
		if rows[i].LowerBound {
			return true
		}
	}
	return false
}

// idleLines name what no call was counted of. Whether methods that HotSpot may replace were
// called is not known.
func idleLines(rows []methodRow) (lines []string) {
	const most = 3
	idle, unsure, overloads := 0, []string(nil), overloadsOf(rows)
	for i := range rows {
		switch row := &rows[i]; {
		case row.Calls > 0:
		case row.LowerBound:
			unsure = append(unsure, row.shown(overloads))
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

// A spread tells how far chance may have led a sampled mean astray. What was
// measured between two looks is a batch: how batches differ among each other
// says it, also where slow calls come together. What timing itself adds to the
// calls that are timed is in all batches alike, and is not told by it.
//
//	m = ΣN / ΣT      nanoseconds and timed calls of all batches
//	variance of m ≈ B / (B-1) · Σ (N - m·T)² / (ΣT)²
type spread struct {
	nanos, timed float64 // at the last look
	batches      float64
	nn, nt, tt   float64 // ΣN², ΣN·T, ΣT²
	sumN, sumT   float64
}

// add takes a method's totals at a look.
func (s *spread) add(totals *arena.Totals) {
	n, t := float64(totals.Nanos)-s.nanos, float64(totals.Timed)-s.timed
	s.nanos, s.timed = float64(totals.Nanos), float64(totals.Timed)
	if t == 0 && n == 0 {
		return
	}
	s.batches++
	s.sumN, s.sumT = s.sumN+n, s.sumT+t
	s.nn, s.nt, s.tt = s.nn+n*n, s.nt+n*t, s.tt+t*t
}

// leastBatches is from how many on the interval holds as often as it says: with
// eight of one call each it held in 56 of 100 cases, with fifteen in 78.
const leastBatches = 30

// error is the half of the interval that chance does not leave in nineteen of
// twenty cases, as a share of the mean; negative where too little is known.
func (s *spread) error() float64 {
	if s == nil || s.batches < leastBatches || s.sumN <= 0 || s.sumT <= 0 {
		return -1
	}
	mean := s.sumN / s.sumT
	squares := max(0, s.nn-2*mean*s.nt+mean*mean*s.tt)
	deviation := math.Sqrt(s.batches/(s.batches-1)*squares) / s.sumT
	return 2 * deviation / mean
}
