package results

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Label groups the results of a spot by tags or by callers. The zero value is the label of a spot whose results are not
// grouped, or of calls for which there was no room.
type Label struct {
	Tags    []TagValue // the tags by which results are grouped, in the order of the set
	Callers []string   // class.name(descriptor), the class with slashes, innermost first
	Other   bool       // there was no room for more labels
	Unknown bool       // its description has not arrived yet
}

// A TagValue is a tag with its value.
type TagValue struct {
	Name, Value string
	Set         bool // a call that set it is running
	Null        bool // its value is null, or could not be determined
}

// String returns the value for display.
func (v TagValue) String() string {
	switch {
	case !v.Set:
		return "(none)"
	case v.Null:
		return "(null)"
	}
	return v.Value
}

// String returns the label in one line.
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

// callerText returns a caller without its descriptor.
func callerText(member string) string {
	name, _, _ := strings.Cut(member, "(")
	return strings.ReplaceAll(name, "/", ".")
}

// Labels are the descriptions of labels that have arrived.
type Labels struct {
	Ticket  uint64 // of the last arrival that was read
	byLabel map[uint32]described
}

// A described label has tags or callers.
type described struct {
	tags    map[int]TagValue // by the tags' numbers, without names
	callers []string
}

// Add reads descriptions from arrivals.
func (l *Labels) Add(arrivals []arena.Arrival) {
	if l.byLabel == nil {
		l.byLabel = make(map[uint32]described)
	}
	for _, a := range arrivals {
		l.Ticket = a.Ticket
		if a.Text == "" || !arena.IsLabel(a.ID) {
			continue
		}
		var lines []string
		if rest := a.Text[1:]; rest != "" {
			lines = strings.Split(rest, "\n")
		}
		switch a.Text[0] {
		case textOfCallers:
			l.byLabel[a.ID] = described{callers: lines}
		case textOfTags:
			l.byLabel[a.ID] = described{tags: readTags(lines)}
		}
	}
}

// The first characters of a label's description.
const (
	textOfTags    = 'T'
	textOfCallers = 'C'
)

func readTags(lines []string) map[int]TagValue {
	tags := make(map[int]TagValue)
	for _, line := range lines {
		digits, value, hasValue := strings.Cut(line, "=")
		if number, err := strconv.Atoi(digits); err == nil {
			tags[number] = TagValue{Value: value, Set: true, Null: !hasValue}
		}
	}
	return tags
}

// Of returns the label of a number. names are those of tags by number, as far as they are known; groups are the tags by
// which results are grouped, nil for all that are set.
func (l *Labels) Of(number uint32, names, groups []string) (label Label) {
	known, is := l.byLabel[number]
	switch {
	case number == 0:
		return Label{}
	case number == arena.LabelOther:
		return Label{Other: true}
	case !is:
		return Label{Unknown: true}
	case known.tags == nil:
		return Label{Callers: known.callers}
	}
	if groups == nil {
		for number, value := range known.tags {
			if value.Name = "tag" + strconv.Itoa(number+1); number >= 0 && number < len(names) {
				value.Name = names[number]
			}
			label.Tags = append(label.Tags, value)
		}
		slices.SortFunc(label.Tags, func(a, b TagValue) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, name := range groups {
		value := known.tags[slices.Index(names, name)]
		value.Name = name
		label.Tags = append(label.Tags, value)
	}
	return label
}

// All returns the known labels by number, with all tags that are set.
func (l *Labels) All(names []string) map[uint32]Label {
	all := make(map[uint32]Label, len(l.byLabel))
	for number := range l.byLabel {
		all[number] = l.Of(number, names, nil)
	}
	return all
}

// A Key identifies a row: a spot, and a label if its results are grouped.
type Key struct{ Spot, Label uint32 }

// Keys returns the keys of the nodes of a thread that belong to grouped spots, by ref.
func Keys(t *arena.Thread, grouped func(spot uint32) bool) map[uint32]Key {
	keys, ids := make(map[uint32]Key), make(map[uint32]uint32, len(t.Nodes))
	for i := range t.Nodes {
		ids[t.Nodes[i].Ref] = t.Nodes[i].ID
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; grouped(n.ID) {
			key := Key{Spot: n.ID}
			if above := ids[n.Parent]; arena.IsLabel(above) {
				key.Label = above
			}
			keys[n.Ref] = key
		}
	}
	return keys
}

// Totals returns the totals of spots, by label if they are grouped. Calls in the sum that are not in the threads found no
// room for a label and go to a row without one. A spot without calls has such a row, too.
func Totals(spots iter.Seq[uint32], grouped func(spot uint32) bool, sum *arena.Summary, threads []arena.Thread, now int64) map[Key]*arena.Totals {
	totals := make(map[Key]*arena.Totals)
	labelled := make(map[uint32][]*arena.Totals)
	of := func(key Key) *arena.Totals {
		if totals[key] == nil {
			totals[key] = &arena.Totals{}
			labelled[key.Spot] = append(labelled[key.Spot], totals[key])
		}
		return totals[key]
	}
	for i := range threads {
		addThread(&threads[i], Keys(&threads[i], grouped), of, now)
	}
	for id := range spots {
		all := cmp.Or(sum.Methods[id], &arena.Totals{})
		if !grouped(id) {
			totals[Key{Spot: id}] = all
			continue
		}
		rest := cmp.Or(totals[Key{Spot: id}], &arena.Totals{})
		addRest(rest, all, labelled[id])
		if len(labelled[id]) == 0 || rest.Calls > 0 || rest.Undecided > 0 {
			totals[Key{Spot: id}] = rest
		}
		rest.LowerBound = rest.LowerBound || all.LowerBound
		for _, t := range labelled[id] {
			t.LowerBound = t.LowerBound || all.LowerBound
		}
	}
	return totals
}

// addThread adds the calls of one thread with labels.
func addThread(t *arena.Thread, keys map[uint32]Key, of func(Key) *arena.Totals, now int64) {
	for i := range t.Nodes {
		if key, is := keys[t.Nodes[i].Ref]; is {
			n := &t.Nodes[i]
			of(key).Add(&arena.Totals{
				Calls: n.Calls, Timed: n.Timed, Nanos: n.Nanos, Self: n.Self, Threw: n.Threw, Undecided: n.Undecided, Max: n.Max, Spread: n.Spread,
			})
		}
	}
	met := make(map[Key]bool)
	for _, f := range t.Stack {
		key, is := keys[f.Node]
		if !is || f.Start == 0 {
			continue
		}
		one := of(key)
		one.Active++
		if !met[key] { // it is the outermost
			met[key] = true
			one.Running += uint64(max(now-f.Start, 0))
		}
	}
}

// addRest adds the calls without a label.
func addRest(rest, all *arena.Totals, labelled []*arena.Totals) {
	var calls, threw uint64
	for _, t := range labelled {
		calls += t.Calls
		threw += t.Threw
	}
	if all.Calls > calls {
		rest.Calls += all.Calls - calls
		rest.Untimed += all.Untimed
		rest.Threw += all.Threw - min(all.Threw, threw)
	}
}

// Numbers assign numbers to rows: a row without a label has the ID of its spot, others have smaller numbers. A row keeps its
// number.
type Numbers map[Key]uint32

// Of returns the number of a row.
func (n Numbers) Of(key Key) uint32 {
	if key.Label == 0 {
		return key.Spot
	}
	id, is := n[key]
	if !is {
		id = uint32(len(n) + 1)
		n[key] = id
	}
	return id
}

// Renumber replaces the IDs of running calls by the numbers of rows. It removes the trees, and frames that do not belong to a
// method, such as calibration calls.
func Renumber(threads []arena.Thread, grouped func(spot uint32) bool, numbers Numbers) {
	for i := range threads {
		t := &threads[i]
		keys := Keys(t, grouped)
		var stack []arena.Frame
		for _, f := range t.Stack {
			if key, is := keys[f.Node]; is {
				f.ID = numbers.Of(key)
			} else if !arena.IsMethod(f.ID) {
				continue
			}
			stack = append(stack, f)
		}
		t.Stack, t.Nodes = stack, nil
	}
}
