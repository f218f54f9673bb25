package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// A reportRow is a method, or a probe, with what was measured of it.
type reportRow struct {
	methodRow
	probe   string // empty where it is not known
	label   ledger.Label
	within  string
	methods int    // of a probe
	timing  string // how its calls are timed, as far as results show
}

// reportOrders are what --sort knows: the largest first, names from A to Z.
var reportOrders = map[string]func(r *reportRow) float64{
	"calls": func(r *reportRow) float64 { return float64(r.Calls) },
	"total": func(r *reportRow) float64 { return r.total(r.timing) },
	"self":  func(r *reportRow) float64 { return r.self(r.timing) },
	"mean":  func(r *reportRow) float64 { return r.mean() },
	"max":   func(r *reportRow) float64 { return float64(r.Max) },
	"threw": func(r *reportRow) float64 { return float64(r.Threw) },
	"name":  func(*reportRow) float64 { return 0 },
}

// A reported is what there is to tell of an arena.
type reported struct {
	*results.Harvest
	results *ledger.Results
	account arena.Account
	packed  bool // there is such an account
	methods []reportRow
	probes  []reportRow // none where they are not known

	calls, untimed, undecided, active uint64
}

// newReported reads an arena.
func newReported(h *results.Harvest, sort string) (r *reported, err error) {
	r = &reported{Harvest: h}
	if r.account, r.packed, err = h.Account(); err != nil {
		return nil, err
	}
	if r.results, err = h.Results(); err != nil {
		return nil, err
	}
	for i := range r.results.Rows {
		row := newReportRow(&r.results.Rows[i])
		r.calls += row.Calls
		r.untimed += row.Untimed
		r.undecided += row.Undecided
		r.active += row.Active
		r.methods = append(r.methods, row)
	}
	r.probes = probeRows(r.methods)
	for _, rows := range [][]reportRow{r.methods, r.probes} {
		sortReport(rows, sort)
	}
	return r, nil
}

func newReportRow(from *ledger.Row) reportRow {
	row := reportRow{
		methodRow: methodRow{class: from.Class, name: from.Method, descriptor: from.Descriptor, id: from.ID, Totals: from.Totals},
		probe:     from.Probe, label: from.Label, within: from.Sequence,
	}
	if from.Class == "" && from.Method == "" {
		row.name = "(no name)"
	}
	var words []string
	if from.Sequence != "" {
		words = append(words, "within "+from.Sequence)
	}
	if label := from.Label.String(); label != "" {
		words = append(words, label)
	}
	row.context = strings.Join(words, "; ")
	row.timing = timingOf([]methodRow{row.methodRow})
	return row
}

// probeRows adds up the rows of each probe, those of one label and sequence together.
func probeRows(methods []reportRow) (rows []reportRow) {
	type key struct{ probe, context string }
	at := make(map[key]int)
	for i := range methods {
		m := &methods[i]
		if m.probe == "" {
			continue
		}
		k := key{m.probe, m.context}
		n, is := at[k]
		if !is {
			n = len(rows)
			at[k] = n
			rows = append(rows, reportRow{probe: m.probe, label: m.label, within: m.within, methodRow: methodRow{name: m.probe, context: m.context}})
		}
		rows[n].methods++
		rows[n].Add(&m.Totals)
	}
	for i := range rows {
		rows[i].timing = timingOf([]methodRow{rows[i].methodRow})
	}
	return rows
}

func sortReport(rows []reportRow, by string) {
	key := reportOrders[by]
	slices.SortStableFunc(rows, func(a, b reportRow) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name),
			cmp.Compare(a.descriptor, b.descriptor), cmp.Compare(a.probe, b.probe), cmp.Compare(a.context, b.context))
	})
}

// called are the rows with a call that is known, or may be missing.
func called(rows []reportRow) []reportRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r reportRow) bool { return r.Calls == 0 && r.Active == 0 && r.Undecided == 0 && !r.LowerBound })
}

// p99 is what 99 of 100 calls did not exceed; negative where that is not known.
func (r *reportRow) p99() float64 {
	if r.Spread == nil || r.Spread.Count() == 0 {
		return -1
	}
	return min(r.Spread.Quantile(0.99), float64(r.Max))
}
