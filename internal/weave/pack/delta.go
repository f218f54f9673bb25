package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// What a dictionary is made of: places of so many bytes that are new in several classes.
const (
	shingle        = 8
	leastClasses   = 3    // that have it
	mostDictionary = 4096 // more is further away, and so takes more to tell
	mostSampled    = 256  // classes that are looked at
)

// deltas are those of all classes, with the dictionary they need.
type deltas struct {
	dictionary []byte
	deltas     [][]byte
}

// makeDeltas makes the same of the same classes, however many work on it.
func makeDeltas(classes []Class) (deltas, error) {
	made := deltas{dictionary: makeDictionary(sample(classes)), deltas: make([][]byte, len(classes))}
	failed := make([]error, len(classes))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(classes)) {
		all.Go(func() {
			d := differ{dictionary: made.dictionary}
			for i := next.Add(1) - 1; i < int64(len(classes)); i = next.Add(1) - 1 {
				made.deltas[i], failed[i] = d.proven(&classes[i])
			}
		})
	}
	all.Wait()
	return made, errors.Join(failed...)
}

// proven makes the delta of a class, and the class of the delta.
func (d *differ) proven(c *Class) ([]byte, error) {
	delta := d.diff(c.Original, c.Entry.Woven)
	woven, made := apply(delta, c.Original, d.dictionary, len(c.Entry.Woven))
	if !made || !bytes.Equal(woven, c.Entry.Woven) {
		return nil, fmt.Errorf("%s: its woven form could not be written", c.Entry.Class)
	}
	return delta, nil
}

// sample is some of the classes, from all over.
func sample(classes []Class) []Class {
	step := max(1, len(classes)/mostSampled)
	var some []Class
	for i := 0; i < len(classes); i += step {
		some = append(some, classes[i])
	}
	return some
}

// makeDictionary collects what is new in the woven form of several classes: the names of
// hooks, most of all.
func makeDictionary(classes []Class) []byte {
	var d differ
	runs := make([][][]byte, len(classes))
	found := make(map[uint64]int) // in how many classes
	for i, c := range classes {
		runs[i] = news(d.diff(c.Original, c.Entry.Woven), len(c.Entry.Woven))
		own := make(map[uint64]bool)
		eachShingle(runs[i], func(s uint64, _ []byte) {
			if !own[s] {
				own[s] = true
				found[s]++
			}
		})
	}
	return collect(runs, found)
}

// news are the new bytes of a delta that is whole.
func news(delta []byte, size int) (runs [][]byte) {
	for m := (maker{rest: delta}); size > 0; {
		fresh := m.number()
		runs = append(runs, m.take(fresh))
		if size -= int(fresh); size > 0 {
			head := m.number()
			if kind := head & 3; kind == fromFurther || kind == fromBack {
				m.number()
			}
			size -= int(head >> 2)
		}
	}
	return runs
}

func eachShingle(runs [][]byte, visit func(s uint64, at []byte)) {
	for _, run := range runs {
		for i := 0; i+shingle <= len(run); i++ {
			visit(binary.LittleEndian.Uint64(run[i:]), run[i:i+shingle])
		}
	}
}

// collect puts each place that is often new into the dictionary once, together with its neighbours.
// Those that most classes have are told first, in case not all fit.
func collect(runs [][][]byte, found map[uint64]int) (dictionary []byte) {
	for _, least := range []int{len(runs) / 2, len(runs) / 8, len(runs) / 32, 0} {
		least = max(least, leastClasses)
		for _, own := range runs {
			var last []byte
			eachShingle(own, func(s uint64, at []byte) {
				if found[s] < least || len(dictionary) > mostDictionary-shingle {
					return
				}
				found[s] = 0
				fresh := at
				// The next place of the same run shares all bytes but its last.
				if last != nil && &at[0] == &last[1] {
					fresh = at[shingle-1:]
				}
				last = at
				dictionary = append(dictionary, fresh...)
			})
		}
	}
	return slices.Clip(dictionary)
}
