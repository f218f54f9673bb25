package handover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// LevelOff is the level of rows whose hooks were switched off, because a class that loaded
// makes their conditions invalid.
const LevelOff = "off"

// A RowKey identifies a row.
type RowKey struct{ Probe, Within, Label string }

// Key returns the key of a row.
func (r *Running) Key() RowKey { return RowKey{r.Name, r.Within, r.Label} }

// Rows adds up results by probe, sequence and label, in the order of the set; probes that
// are no longer in the set come last. A probe without calls has a row, too.
func Rows(found *liveprobes.Results, set *probeset.Set) []Running {
	sums := sumRows(found)
	keys := slices.Collect(maps.Keys(sums))
	order := map[string]int{}
	levels := map[string]string{}
	for i, p := range set.Probes {
		order[p.Name], levels[p.Name] = i+1, p.Level.String()
		if !slices.ContainsFunc(keys, func(k RowKey) bool { return k.Probe == p.Name }) {
			key := RowKey{Probe: p.Name}
			keys, sums[key] = append(keys, key), &rowSum{}
		}
	}
	rank := func(k RowKey) int { return cmp.Or(order[k.Probe], len(order)+1) }
	slices.SortFunc(keys, func(a, b RowKey) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Within, b.Within),
			cmp.Compare(sums[b].Calls, sums[a].Calls), cmp.Compare(a.Label, b.Label))
	})
	rows := make([]Running, 0, len(keys))
	for _, key := range keys {
		sum, level := sums[key], levels[key.Probe]
		switch {
		case sum.off == 0:
		case sum.off == sum.hooks:
			level = LevelOff
		default:
			level += fmt.Sprintf(" (%s in %s of %s)", LevelOff, format.Grouped(sum.off), format.Grouped(sum.hooks))
		}
		rows = append(rows, newRunning(key, sum, level))
	}
	return rows
}

// A rowSum is what the hooks of a row measured.
type rowSum struct {
	arena.Totals
	hooks, off int
}

func sumRows(found *liveprobes.Results) map[RowKey]*rowSum {
	sums := make(map[RowKey]*rowSum)
	for i := range found.Rows {
		row := &found.Rows[i]
		if row.Probe == "" || row.Inside {
			continue // a hook for traces alone
		}
		key := RowKey{row.Probe, row.Sequence, labelText(row.Label)}
		sum := sums[key]
		if sum == nil {
			sum = &rowSum{}
			sums[key] = sum
		}
		sum.Add(&row.Totals)
		sum.hooks++
		if row.Off {
			sum.off++
		}
	}
	return sums
}

func newRunning(key RowKey, t *rowSum, level string) Running {
	row := Running{
		Name: key.Probe, Level: level, Within: key.Within, Label: key.Label,
		Calls: t.Calls, LowerBound: t.LowerBound, Timed: t.Timed, Threw: t.Threw, Undecided: t.Undecided,
		P99Nanos: max(0, results.P99(&t.Totals)),
	}
	if t.Timed > 0 {
		row.MeanNanos = float64(t.Nanos) / float64(t.Timed)
	}
	return row
}

// labelText writes a label on one line.
func labelText(l liveprobes.Label) string {
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
		name, _, _ := strings.Cut(caller, "(")
		parts = append(parts, strings.ReplaceAll(name, "/", "."))
	}
	if len(parts) == 0 {
		return ""
	}
	return "by " + strings.Join(parts, " < ")
}
