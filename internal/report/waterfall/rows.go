package waterfall

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// A row is a line of a waterfall: a call, or calls of one method inside one other,
// which are folded where they are many.
type row struct {
	calls    []*trace.Call // by beginning
	children []*row
	level    int
	isPart   bool
	isLast   bool          // among its parent's
	duration time.Duration // of all
	longest  time.Duration
	omitted  trace.Omitted // calls below that are not kept each
}

// foldFrom is how many calls of one method inside one other are a row.
const foldFrom = 3

// rowsOf are the rows of a transaction: that of its root, then of its parts.
func rowsOf(t *trace.Transaction) []*row {
	rows := []*row{newRow([]*trace.Call{t.Root}, 0)}
	for _, group := range groupCalls(t.Parts) {
		r := newRow(group, 0)
		r.isPart = true
		rows = append(rows, r)
	}
	return rows
}

func newRow(calls []*trace.Call, level int) *row {
	r := &row{calls: calls, level: level}
	var below []*trace.Call
	for _, c := range calls {
		r.duration += c.Duration
		r.longest = max(r.longest, c.Duration)
		r.omitted.Calls += c.Omitted.Calls
		r.omitted.Time += c.Omitted.Time
		below = append(below, c.Children...)
	}
	for _, group := range groupCalls(below) {
		r.children = append(r.children, newRow(group, level+1))
	}
	if n := len(r.children); n > 0 {
		r.children[n-1].isLast = true
	}
	return r
}

// groupCalls puts calls of one hook together where they are many, in the order of
// their first.
func groupCalls(calls []*trace.Call) [][]*trace.Call {
	type kind struct {
		spot   uint32
		handed bool
	}
	count := map[kind]int{}
	for _, c := range calls {
		count[kind{c.Spot, c.Handed}]++
	}
	at := map[kind]int{}
	var groups [][]*trace.Call
	for _, c := range calls {
		k := kind{c.Spot, c.Handed}
		if i, begun := at[k]; begun {
			groups[i] = append(groups[i], c)
			continue
		}
		if count[k] >= foldFrom {
			at[k] = len(groups)
		}
		groups = append(groups, []*trace.Call{c})
	}
	return groups
}

// flat are rows and those below them, in the order of lines.
func flat(rows []*row) (all []*row) {
	for _, r := range rows {
		all = append(all, r)
		all = append(all, flat(r.children)...)
	}
	return all
}

// A choice says which rows are drawn.
type choice struct {
	most  int           // how many at most
	least time.Duration // what a row must have taken, unless there is more to tell of it
}

// isTelling tells whether a row says something besides its time.
func (r *row) isTelling() bool {
	return r.isPart || r.isConditional() || r.threw() > 0 || r.isCut() > 0 || r.omitted.Calls > 0 || len(valueTexts(r)) > 0
}

// choose keeps the rows that took longest, with those above them, and tells how many
// calls are left out.
func (c choice) choose(rows []*row) (kept []*row, left uint64) {
	all := flat(rows)
	ranked := slices.DeleteFunc(slices.Clone(all), func(r *row) bool { return r.duration < c.least && !r.isTelling() && r.level > 0 })
	slices.SortStableFunc(ranked, func(a, b *row) int { return cmp.Compare(b.duration, a.duration) })
	parents := map[*row]*row{}
	for _, r := range all {
		for _, child := range r.children {
			parents[child] = r
		}
	}
	isKept := map[*row]bool{}
	for _, r := range ranked {
		var way []*row
		for at := r; at != nil && !isKept[at]; at = parents[at] {
			way = append(way, at)
		}
		if len(isKept)+len(way) > c.most {
			continue
		}
		for _, one := range way {
			isKept[one] = true
		}
	}
	for _, r := range all {
		if !isKept[r] {
			left += uint64(len(r.calls))
		}
	}
	return prune(rows, isKept), left
}

// prune takes rows out of a tree, and those below them.
func prune(rows []*row, isKept map[*row]bool) []*row {
	kept := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !isKept[r] })
	for i, r := range kept {
		r.children = prune(r.children, isKept)
		r.isLast = i == len(kept)-1
	}
	return kept
}
