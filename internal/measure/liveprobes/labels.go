package liveprobes

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// A Label tells the results of a spot apart: by tags or by callers.
type Label = ledger.Label

// A TagValue is a tag with its value.
type TagValue = ledger.TagValue

// hear learns what the target has told of labels. The lock is held.
func (w *Watch) hear() {
	arrivals, err := w.target.Arrivals(w.labels.Heard())
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has nothing to tell
	}
	w.target.Answer(w.labels.Hear(arrivals))
}

// label is what a row's number stands for. The lock is held.
func (w *Watch) label(key ledger.Key) Label {
	return w.labels.Of(key.Label, func(tags map[int]TagValue) []TagValue { return w.valued(tags, w.groups[key.Spot]) })
}

// valued are tags with their names: those that are asked for, or all that are set.
func (w *Watch) valued(tags map[int]TagValue, names []string) (all []TagValue) {
	if names == nil {
		for number, value := range tags {
			for name, own := range w.numbers {
				if int(own) == number {
					value.Name = name
					all = append(all, value)
				}
			}
		}
		slices.SortFunc(all, func(a, b TagValue) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	for _, name := range names {
		value := tags[int(w.numbers[name])]
		value.Name = name
		all = append(all, value)
	}
	return all
}
