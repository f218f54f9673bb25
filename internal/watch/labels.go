package watch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/arena"
)

// A Label tells the results of a spot apart: by tags or by callers. The zero value is
// that of a spot whose results are not, or of calls for which there was no room.
type Label struct {
	Tags    []TagValue // those by which results are told apart, in the order of the set
	Callers []string   // class.name(descriptor), the class with slashes, innermost first
	Other   bool       // there was no room for more labels
	Unknown bool       // what it stands for was not told yet
}

// A TagValue is a tag with its value.
type TagValue struct {
	Name, Value string
	Set         bool // a call that set it is under way
	Null        bool // its value is null, or could not be told
}

// String is the value for people.
func (v TagValue) String() string {
	switch {
	case !v.Set:
		return "(none)"
	case v.Null:
		return "(null)"
	}
	return v.Value
}

// String is the label for people, in one line.
func (l Label) String() string {
	switch {
	case l.Other:
		return "(other)"
	case l.Unknown:
		return "(unknown)"
	}
	var words []string
	for _, tag := range l.Tags {
		words = append(words, tag.Name+"="+tag.String())
	}
	for _, caller := range l.Callers {
		words = append(words, "< "+callerText(caller))
	}
	return strings.Join(words, " ")
}

// callerText is a caller without its descriptor.
func callerText(member string) string {
	name, _, _ := strings.Cut(member, "(")
	return dotted(name)
}

// A told label is what the target said of a number.
type told struct {
	tags    map[int]TagValue // by the tags' numbers, without names
	callers []string
}

// The beginnings of a label's text.
const (
	textOfTags    = 'T'
	textOfCallers = 'C'
)

func readLabel(text string) (told, bool) {
	if text == "" {
		return told{}, false
	}
	var lines []string
	if rest := text[1:]; rest != "" {
		lines = strings.Split(rest, "\n")
	}
	switch text[0] {
	case textOfCallers:
		return told{callers: lines}, true
	case textOfTags:
		t := told{tags: make(map[int]TagValue)}
		for _, line := range lines {
			digits, value, hasValue := strings.Cut(line, "=")
			if number, err := strconv.Atoi(digits); err == nil {
				t.tags[number] = TagValue{Value: value, Set: true, Null: !hasValue}
			}
		}
		return t, true
	}
	return told{}, false
}

// hear learns what the target has told of labels. The lock is held.
func (w *Watch) hear() {
	arrivals, err := w.target.Arrivals(w.ticket)
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has nothing to tell
	}
	for _, a := range arrivals {
		if label, is := readLabel(a.Text); is && arena.IsLabel(a.ID) {
			w.labels[a.ID] = label
		}
		w.ticket = a.Ticket
	}
	w.target.Answer(w.ticket)
}

// label is what a row's number stands for. The lock is held.
func (w *Watch) label(key rowKey) Label {
	switch {
	case key.label == 0:
		return Label{}
	case key.label == arena.LabelOther:
		return Label{Other: true}
	}
	known, is := w.labels[key.label]
	if !is {
		return Label{Unknown: true}
	}
	if known.tags == nil {
		return Label{Callers: known.callers}
	}
	return Label{Tags: w.valued(known.tags, w.groups[key.spot])}
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

// rowID numbers rows. The lock is held.
func (w *Watch) rowID(key rowKey) uint32 {
	if key.label == 0 {
		return key.spot
	}
	id, is := w.rows[key]
	if !is {
		id = uint32(len(w.rows) + 1) // below all ids of spots
		w.rows[key] = id
	}
	return id
}
