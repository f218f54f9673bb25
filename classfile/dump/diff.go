package dump

import (
	"bufio"
	"io"
	"slices"
	"sort"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// Diff writes the changes from class a to class b, and reports whether there are any.
// Fields and methods are matched by name and descriptor, whatever their order. Lines only
// in a begin with -, lines only in b with +, and the lines of context with spaces. A label
// of b has the name of its counterpart in a; N0, N1 … are new.
//
// Classes without a change may differ in the layout of the constant pool and in the
// encoding of instructions and frames.
func Diff(w io.Writer, a, b *classfile.Class, opts Options) (changed bool, err error) {
	opts.Offsets = false
	d := &differ{before: newPrinter(a, opts), after: newPrinter(b, opts), out: bufio.NewWriter(w)}
	d.before.explode, d.after.explode = true, true
	if !opts.NoHeader {
		d.before.header()
		d.after.header()
		d.unit(d.before.take(), d.after.take())
	}
	if opts.Method == nil {
		d.members(a.Fields, b.Fields, d.fields)
	}
	d.members(a.Methods, b.Methods, d.methods)
	return d.changed, d.out.Flush()
}

// differ compares two classes unit by unit. Errors stay with the bufio.Writer until
// Flush.
type differ struct {
	before, after *printer
	out           *bufio.Writer
	changed       bool
}

// members pairs the members of both classes and compares the pairs; a member without
// counterpart is compared with nil.
func (d *differ) members(a, b []classfile.Member, compare func(a, b *classfile.Member)) {
	counterparts := map[string][]*classfile.Member{}
	for i := range b {
		key := d.after.memberKey(&b[i])
		counterparts[key] = append(counterparts[key], &b[i])
	}
	paired := map[*classfile.Member]bool{}
	for i := range a {
		var other *classfile.Member
		key := d.before.memberKey(&a[i])
		if list := counterparts[key]; len(list) > 0 {
			other, counterparts[key] = list[0], list[1:]
			paired[other] = true
		}
		compare(&a[i], other)
	}
	for i := range b {
		if !paired[&b[i]] {
			compare(nil, &b[i])
		}
	}
}

// memberKey is a member's name and descriptor; no name holds a ';'.
func (p *printer) memberKey(m *classfile.Member) string {
	return p.rawText(m.Name) + ";" + p.rawText(m.Descriptor)
}

func (d *differ) fields(a, b *classfile.Member) {
	if a != nil {
		d.before.field(a)
	}
	if b != nil {
		d.after.field(b)
	}
	d.unit(d.before.take(), d.after.take())
}

func (d *differ) methods(a, b *classfile.Member) {
	if a != nil && !d.before.picked(a) || a == nil && !d.after.picked(b) {
		return
	}
	if a != nil && b != nil {
		d.nameAlike(a, b)
	}
	if a != nil {
		d.before.method(a)
	}
	if b != nil {
		d.after.method(b)
	}
	d.unit(d.before.take(), d.after.take())
}

// nameAlike lifts two bodies and gives the labels of the second the names of matching labels in the first.
// Where either cannot be lifted, printing will say why.
func (d *differ) nameAlike(a, b *classfile.Member) {
	before, after := d.before.lift(a), d.after.lift(b)
	if before == nil || after == nil {
		return
	}
	d.before.lifted, d.before.names = before, number(before)
	d.after.lifted = after
	d.after.names = numberLike(d.before.outline(before), d.after.outline(after), d.before.names)
}

func (p *printer) lift(m *classfile.Member) *code.Body {
	body, err := p.lifter.Lift(p.class, m)
	if err != nil {
		return nil
	}
	return body
}

// context is how many unchanged lines are shown around a change.
const context = 3

// edit is a line of a diff.
type edit struct {
	mark byte // ' ', '-' or '+'
	line string
}

// unit writes the changes from one text to another, and always the first line, which names
// the member.
func (d *differ) unit(a, b []string) {
	if slices.Equal(a, b) {
		return
	}
	if d.changed {
		_ = d.out.WriteByte('\n')
	}
	d.changed = true
	edits := script(a, b)
	show := make([]bool, len(edits))
	show[0] = true
	for i, e := range edits {
		if e.mark != ' ' {
			for k := max(0, i-context); k <= min(len(edits)-1, i+context); k++ {
				show[k] = true
			}
		}
	}
	for i, e := range edits {
		switch {
		case show[i]:
			d.write(e)
		case show[i-1]:
			d.write(edit{' ', "  ..."})
		}
	}
}

func (d *differ) write(e edit) {
	_ = d.out.WriteByte(e.mark)
	_ = d.out.WriteByte(' ')
	_, _ = d.out.WriteString(e.line)
	_ = d.out.WriteByte('\n')
}

// script lists the lines of both texts in order, deleted lines before inserted ones.
func script(a, b []string) []edit {
	edits := make([]edit, 0, len(a)+len(b))
	gone, come := 0, 0 // how many lines of each are written
	upTo := func(nextA, nextB int) {
		for ; gone < nextA; gone++ {
			edits = append(edits, edit{'-', a[gone]})
		}
		for ; come < nextB; come++ {
			edits = append(edits, edit{'+', b[come]})
		}
	}
	for j, match := range align(a, b) {
		if match >= 0 {
			upTo(match, j)
			edits = append(edits, edit{' ', b[j]})
			gone, come = match+1, j+1
		}
	}
	upTo(len(a), len(b))
	return edits
}

// mostEdits limits the insertions and deletions of the exact search, which stores a row
// per edit. Sequences that differ more are first split at elements that both have exactly
// once.
const mostEdits = 2000

// align finds a longest common subsequence of a and b. It returns for each element of b
// the index of its counterpart in a, or -1.
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

// backtrack walks the rows from the end to the start and records equal elements: each
// row's edit, a step down or to the right, is followed by a run of equal elements.
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
