package ledger

import (
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
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
	return strings.ReplaceAll(name, "/", ".")
}

// Labels are what the numbers of labels stand for, as far as the target has told.
type Labels struct {
	told   map[uint32]told
	ticket uint64 // of the arrival that was read last
}

// A told label is what the target said of a number.
type told struct {
	tags    map[int]TagValue // by the tags' numbers, without names
	callers []string
}

// Hear learns from arrivals, and gives the ticket of the last that it knows.
func (l *Labels) Hear(arrivals []arena.Arrival) (ticket uint64) {
	if l.told == nil {
		l.told = make(map[uint32]told)
	}
	for _, a := range arrivals {
		if label, is := readLabel(a.Text); is && arena.IsLabel(a.ID) {
			l.told[a.ID] = label
		}
		l.ticket = a.Ticket
	}
	return l.ticket
}

// Heard is the ticket of the last arrival that is known.
func (l *Labels) Heard() uint64 { return l.ticket }

// Of is what a number stands for; tags gives those of its tags that count their names.
func (l *Labels) Of(number uint32, tags func(values map[int]TagValue) []TagValue) Label {
	switch number {
	case 0:
		return Label{}
	case arena.LabelOther:
		return Label{Other: true}
	}
	known, is := l.told[number]
	switch {
	case !is:
		return Label{Unknown: true}
	case known.tags == nil:
		return Label{Callers: known.callers}
	}
	return Label{Tags: tags(known.tags)}
}

// All are the labels that are known, by number.
func (l *Labels) All(tags func(values map[int]TagValue) []TagValue) map[uint32]Label {
	all := make(map[uint32]Label, len(l.told))
	for number := range l.told {
		all[number] = l.Of(number, tags)
	}
	return all
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
