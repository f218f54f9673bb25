package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Record is what a template of the user has recorded in a method, for one label.
type Record struct {
	Number uint32 // identifies it in all results
	Probe  string
	weave.Record
	Label Label
	arena.Totals
}

// IsFailures reports whether it counts, as undecided calls, failures of the template's own code.
func (r *Record) IsFailures() bool { return r.Name == "" }

// RecordsSince returns what was recorded after an earlier reading. The largest value of a sum is 0 if the earlier one has a
// value that is as large.
func RecordsSince(earlier, now []Record) (since []Record) {
	before := make(map[uint32]*arena.Totals, len(earlier))
	for i := range earlier {
		before[earlier[i].Number] = &earlier[i].Totals
	}
	for _, r := range now {
		r.Totals = *r.Totals.Since(before[r.Number])
		since = append(since, r)
	}
	return since
}

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

// AddRecords adds up what templates have recorded, by probe, name and label.
func AddRecords(records []Record) (all []Recorded) {
	type key struct{ probe, name, kind, label string }
	sums := make(map[key]*arena.Totals)
	for i := range records {
		r := &records[i]
		k := key{r.Probe, r.Name, r.Kind.String(), r.Label.Text()}
		totals := r.Totals
		switch {
		case r.IsFailures() && totals.Undecided == 0, r.Kind == weave.Event && totals.Calls == 0: // the row without a text
			continue
		case r.IsFailures():
			k.kind, totals = KindFailures, arena.Totals{Calls: totals.Undecided}
		}
		if sums[k] == nil {
			sums[k] = &arena.Totals{}
		}
		sums[k].Add(&totals)
	}
	for k, sum := range sums {
		r := Recorded{Probe: k.probe, Name: k.name, Kind: k.kind, Label: k.label, Count: sum.Calls, Valued: sum.Timed, Sum: sum.Nanos, Max: sum.Max}
		if sum.Timed > 0 {
			r.Mean = float64(sum.Nanos) / float64(sum.Timed)
		}
		r.P50, _ = sum.Quantile(0.5) // 0 if it is not known
		r.P99, _ = sum.Quantile(0.99)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Name, b.Name), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// Text returns the label in one line, with the tags that are not set; empty without a label.
func (l Label) Text() string {
	switch {
	case l.Other:
		return "(other)"
	case l.Unknown:
		return "(not known yet)"
	}
	var parts []string
	for _, tag := range l.Tags {
		if tag.Set {
			parts = append(parts, tag.Name+"="+tag.Value)
		} else {
			parts = append(parts, "no "+tag.Name)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	for _, caller := range l.Callers {
		parts = append(parts, callerText(caller))
	}
	if len(parts) == 0 {
		return ""
	}
	return "by " + strings.Join(parts, " < ")
}
