package cct

import (
	"cmp"
	"slices"
)

// Build makes trees of what hooks wrote: one for each thread and one of all. It
// fills in Methods, Merged, Threads and Calibration; the rest is the caller's to
// say.
//
// The merged tree is not the sum of the threads' trees but reckoned from the sum of
// what was measured: calls drawn in all threads speak for all calls, which tells
// more than each thread's few do for its own. Where every call was timed the two
// are the same, but for what is cut off at zero.
func Build(in Input) *Profile {
	g := newGatherer(&in)
	if in.Calibration.Drawn == (Span{}) {
		in.Calibration.Drawn = in.Calibration.Inner // nothing was drawn by lot to know better by
	}
	r := &reckoner{&in.Calibration}
	threads := slices.Clone(in.Threads)
	// Sums of squares depend on their order in the last digit.
	slices.SortStableFunc(threads, func(a, b RawThread) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Root, b.Root)) })
	all := &tally{method: -1}
	p := &Profile{Methods: g.methods, Calibration: in.Calibration}
	for i := range threads {
		t := &threads[i]
		top := g.thread(t)
		if len(top.children) == 0 && top.lost == 0 {
			continue
		}
		all.merge(top)
		p.Threads = append(p.Threads, Thread{ID: t.ID, Name: t.Name, Virtual: t.Virtual, Top: r.node(top)})
	}
	p.Merged = r.node(all)
	slices.SortStableFunc(p.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Top.Total.Nanos, a.Top.Total.Nanos), cmp.Compare(a.ID, b.ID))
	})
	return p
}
