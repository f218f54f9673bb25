package handover

import (
	"cmp"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Recorded is what templates of the user have recorded under a name, in all methods of a probe together.
type Recorded struct {
	Probe string `json:"probe"`
	Name  string `json:"name,omitempty"` // empty for failures
	Kind  string `json:"kind"`           // counter, sum, histogram, event; failures: how often the template's own code has failed
	Label string `json:"label,omitempty"`
	Count uint64 `json:"count"`
	// Valued is how many values the other figures have. It is smaller than Count if the agent had no room for some.
	Valued uint64  `json:"valued,omitempty"`
	Sum    uint64  `json:"sum,omitempty"`
	Mean   float64 `json:"mean,omitempty"`
	Max    uint64  `json:"max,omitempty"`
	P50    float64 `json:"p50,omitempty"`
	P99    float64 `json:"p99,omitempty"`
}

// KindFailures is the kind of a row that counts failures of a template.
const KindFailures = "failures"

// Records adds up what templates have recorded, by probe, name and label.
func Records(found *liveprobes.Results) (all []Recorded) {
	type key struct{ probe, name, kind, label string }
	sums := make(map[key]*arena.Totals)
	var order []key
	for i := range found.Records {
		row := &found.Records[i]
		k := key{row.Probe, row.Record.Name, row.Record.Kind.String(), labelText(row.Label)}
		totals := row.Totals
		if row.Template {
			if totals.Undecided == 0 {
				continue
			}
			k.kind, totals = KindFailures, arena.Totals{Calls: totals.Undecided}
		}
		if row.Record.Kind == weave.Event && totals.Calls == 0 && !row.Template {
			continue // the row without a text
		}
		if sums[k] == nil {
			sums[k] = &arena.Totals{}
			order = append(order, k)
		}
		sums[k].Add(&totals)
	}
	for _, k := range order {
		sum := sums[k]
		r := Recorded{Probe: k.probe, Name: k.name, Kind: k.kind, Label: k.label, Count: sum.Calls, Valued: sum.Timed, Sum: sum.Nanos, Max: sum.Max}
		if sum.Timed > 0 {
			r.Mean = float64(sum.Nanos) / float64(sum.Timed)
		}
		r.P50, _ = sum.Quantile(0.5) // 0 if it is not known
		r.P99, _ = sum.Quantile(0.99)
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Name, b.Name), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Label, b.Label))
	})
	return all
}
