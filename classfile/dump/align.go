package dump

import (
	"slices"
	"sort"
)

// mostEdits is how many insertions and deletions the exact search goes to: it keeps
// a row of memory per edit. Sequences further apart are first cut at what both have
// exactly once.
const mostEdits = 2000

// align finds what two sequences have in common, in order and as much as can be. It
// returns for each element of b the index of its equal in a, or -1.
func align(a, b []string) []int {
	ids := make(map[string]int, len(a))
	number := func(list []string) []int {
		out := make([]int, len(list))
		for i, s := range list {
			id, ok := ids[s]
			if !ok {
				id = len(ids)
				ids[s] = id
			}
			out[i] = id
		}
		return out
	}
	x := &aligner{a: number(a), b: number(b), match: make([]int, len(b))}
	for j := range x.match {
		x.match[j] = -1
	}
	x.span(0, len(a), 0, len(b))
	return x.match
}

type aligner struct {
	a, b  []int
	match []int
}

// span aligns a[a0:a1] with b[b0:b1].
func (x *aligner) span(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && x.a[a0] == x.b[b0] {
		x.match[b0] = a0
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && x.a[a1-1] == x.b[b1-1] {
		a1, b1 = a1-1, b1-1
		x.match[b1] = a1
	}
	if a0 == a1 || b0 == b1 || x.shortest(a0, a1, b0, b1) {
		return
	}
	anchors := x.anchors(a0, a1, b0, b1)
	if len(anchors) == 0 {
		return
	}
	for _, anchor := range anchors {
		x.match[anchor[1]] = anchor[0]
		x.span(a0, anchor[0], b0, anchor[1])
		a0, b0 = anchor[0]+1, anchor[1]+1
	}
	x.span(a0, a1, b0, b1)
}

// shortest finds a shortest edit script by Myers' greedy search: row d holds, for
// each diagonal, how far d edits can get. It gives up beyond mostEdits.
func (x *aligner) shortest(a0, a1, b0, b1 int) bool {
	a, b := x.a[a0:a1], x.b[b0:b1]
	most := min(len(a)+len(b), mostEdits)
	reach := make([]int32, 2*most+3) // by diagonal k = i-j, offset by most+1
	middle := most + 1
	var rows [][]int32
	for d := 0; d <= most; d++ {
		rows = append(rows, slices.Clone(reach[middle-d:middle+d+1]))
		for k := -d; k <= d; k += 2 {
			var i int
			if k == -d || k != d && reach[middle+k-1] < reach[middle+k+1] {
				i = int(reach[middle+k+1])
			} else {
				i = int(reach[middle+k-1]) + 1
			}
			for i < len(a) && i-k < len(b) && a[i] == b[i-k] {
				i++
			}
			reach[middle+k] = int32(i)
			if i >= len(a) && i-k >= len(b) {
				x.backtrack(rows, d, a0, a1, b0, b1)
				return true
			}
		}
	}
	return false
}

// backtrack walks the rows from the end to the start and notes what was equal: each
// row's edit, a step down or to the right, is followed by a run of equals.
func (x *aligner) backtrack(rows [][]int32, d, a0, a1, b0, b1 int) {
	i, j := a1-a0, b1-b0
	for ; d > 0; d-- {
		k, row := i-j, rows[d]
		from := k - 1
		if k == -d || k != d && row[d+k-1] < row[d+k+1] {
			from = k + 1
		}
		i1 := int(row[d+from])
		start := i1
		if from < k {
			start++
		}
		for ; i > start; i, j = i-1, j-1 {
			x.match[b0+j-1] = a0 + i - 1
		}
		i, j = i1, i1-from
	}
	for ; i > 0; i, j = i-1, j-1 {
		x.match[b0+j-1] = a0 + i - 1
	}
}

// anchors are elements that both spans have exactly once: the longest sequence of
// them that is in order in both.
func (x *aligner) anchors(a0, a1, b0, b1 int) [][2]int {
	type place struct{ inA, inB, countA, countB int }
	seen := map[int]*place{}
	for i := a0; i < a1; i++ {
		p := seen[x.a[i]]
		if p == nil {
			p = &place{}
			seen[x.a[i]] = p
		}
		p.inA, p.countA = i, p.countA+1
	}
	for j := b0; j < b1; j++ {
		if p := seen[x.b[j]]; p != nil {
			p.inB, p.countB = j, p.countB+1
		}
	}
	var unique [][2]int
	for i := a0; i < a1; i++ {
		if p := seen[x.a[i]]; p.countA == 1 && p.countB == 1 {
			unique = append(unique, [2]int{i, p.inB})
		}
	}
	return longestRising(unique)
}

// longestRising picks the most pairs whose second numbers rise; the first ones do.
func longestRising(pairs [][2]int) [][2]int {
	before := make([]int, len(pairs))
	var ends []int // by length-1, the pair with the smallest end
	for k, pair := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]][1] >= pair[1] })
		before[k] = -1
		if n > 0 {
			before[k] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, k)
		} else {
			ends[n] = k
		}
	}
	if len(ends) == 0 {
		return nil
	}
	rising := make([][2]int, len(ends))
	for n, k := len(ends)-1, ends[len(ends)-1]; k >= 0; n, k = n-1, before[k] {
		rising[n] = pairs[k]
	}
	return rising
}
