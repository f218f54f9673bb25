package pack

import (
	"encoding/binary"
	"math/bits"
)

// Where a delta copies from.
const (
	fromHere    = iota // the original, where the last copy of it ended
	fromFurther        // the original, so many bytes further
	fromBack           // what was made so far, and the dictionary before it: so many bytes back
	fromBehind         // where the last copy was from, behind as many bytes as are new since
)

// leastGain is how many bytes a copy must make a delta shorter to be worth its while:
// each takes the agent some hundred instructions, which are interpreted while a
// program starts, or have to be compiled.
const leastGain = 24

// A differ makes deltas. It can be used for one after the other.
type differ struct {
	dictionary []byte
	all        []byte // dictionary, original and woven class, with a byte in between that is of none
	original   int    // where that begins
	woven      int
	found      chains

	delta   []byte
	pending int // where in all the bytes begin that are not told yet
	ended   int // where in all the last copy of the original ended
	last    int // where in all the last copy of anything ended
}

// diff makes the delta by which the original becomes the woven class.
func (d *differ) diff(original, woven []byte) []byte {
	d.all = append(append(d.all[:0], d.dictionary...), 0)
	d.original = len(d.all)
	d.all = append(append(d.all, original...), 0)
	d.woven = len(d.all)
	d.all = append(d.all, woven...)
	d.found.reset(d.all)
	for at := range d.woven {
		d.found.add(at)
	}
	d.delta, d.pending, d.ended, d.last = nil, d.woven, d.original, d.original
	for at := d.woven; at < len(d.all); {
		best := d.best(at)
		if best.gain < leastGain || best.length < longEnough && d.best(at+1).gain > best.gain+1 {
			d.found.add(at)
			at++
			continue
		}
		d.tell(at, best)
		for end := at + best.length; at < end; at++ {
			d.found.add(at)
		}
	}
	if d.pending < len(d.all) {
		d.tellNew(len(d.all))
	}
	return d.delta
}

// longEnough is a copy that no later one can be better than.
const longEnough = 64

// A match is a copy that could come next.
type match struct {
	from, length int // from in all
	gain         int // bytes that it makes a delta shorter
}

// best finds the copy of most gain.
func (d *differ) best(at int) match {
	var best match
	consider := func(from int) {
		length := common(d.all[from:d.end(at, from)], d.all[at:])
		if length <= best.length/2 {
			return
		}
		if gain := length - d.price(at, from, length); gain > best.gain {
			best = match{from, length, gain}
		}
	}
	consider(d.ended)
	if behind := d.last + at - d.pending; behind < d.end(at, d.last) {
		consider(behind)
	}
	if best.length < longEnough {
		d.found.each(at, consider)
	}
	return best
}

// end is where what a place is in ends. It is told of that end, too.
func (d *differ) end(at, from int) int {
	switch {
	case from < d.original:
		return d.original - 1
	case from < d.woven:
		return d.woven - 1
	}
	return at
}

// price is what it takes to tell a copy.
func (d *differ) price(at, from, length int) int {
	kind, place := d.place(at, from)
	price := 1 + varintSize(uint64(length)<<2) // there is a count of new bytes before each
	if kind == fromFurther || kind == fromBack {
		price += varintSize(place)
	}
	return price
}

// place is how a copy is told.
func (d *differ) place(at, from int) (kind, place uint64) {
	switch {
	case from == d.last+at-d.pending && d.end(at, from) == d.end(at, d.last):
		return fromBehind, 0
	case from == d.ended:
		return fromHere, 0
	case from < d.original:
		return fromBack, uint64(at - d.woven + len(d.dictionary) - from)
	case from < d.woven:
		return fromFurther, zigzag(from - d.ended)
	}
	return fromBack, uint64(at - from)
}

func (d *differ) tellNew(end int) {
	d.delta = binary.AppendUvarint(d.delta, uint64(end-d.pending))
	d.delta = append(d.delta, d.all[d.pending:end]...)
	d.pending = end
}

func (d *differ) tell(at int, m match) {
	kind, place := d.place(at, m.from)
	d.tellNew(at)
	d.delta = binary.AppendUvarint(d.delta, uint64(m.length)<<2|kind)
	if kind == fromFurther || kind == fromBack {
		d.delta = binary.AppendUvarint(d.delta, place)
	}
	d.last = m.from + m.length
	if m.from >= d.original && m.from < d.woven {
		d.ended = d.last
	}
	d.pending = at + m.length
}

// zigzag has small numbers for those near 0, also below.
func zigzag(n int) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// common is how many bytes two begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// chains finds places that begin with the same few bytes, the last first.
type chains struct {
	all    []byte
	first  [1 << hashBits]int32 // 1 + place; 0: none
	before []int32
}

const (
	hashBits   = 14
	hashedSize = 4
	mostTries  = 48 // places that are looked at: more find little
)

func (c *chains) reset(all []byte) {
	c.all = all
	clear(c.first[:])
	if cap(c.before) < len(all) {
		c.before = make([]int32, len(all))
	}
	c.before = c.before[:len(all)]
}

func (c *chains) hash(at int) uint32 {
	return binary.LittleEndian.Uint32(c.all[at:]) * 0x9E3779B1 >> (32 - hashBits)
}

func (c *chains) add(at int) {
	if at+hashedSize > len(c.all) {
		return
	}
	first := &c.first[c.hash(at)]
	c.before[at] = *first
	*first = int32(at) + 1
}

func (c *chains) each(at int, visit func(from int)) {
	if at+hashedSize > len(c.all) {
		return
	}
	for from, tries := c.first[c.hash(at)], 0; from != 0 && tries < mostTries; from, tries = c.before[from-1], tries+1 {
		visit(int(from) - 1)
	}
}
