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

// The origins of a copy in a delta.
const (
	fromHere    = iota // the original, where the last copy of it ended
	fromFurther        // the original, a number of bytes after that
	fromBack           // a number of bytes back in the output so far, which the dictionary precedes
	fromBehind         // after the last copy's source, skipping as many bytes as are new since
)

// leastGain is the number of bytes that a copy must save. Each copy costs the agent about a
// hundred bytecode instructions, which are interpreted or compiled while a program starts.
const leastGain = 24

// A differ computes deltas, one after the other.
type differ struct {
	dictionary []byte
	all        []byte // dictionary, original and woven class, with a separating byte after each but the last
	original   int    // where it begins in all
	woven      int
	found      chains

	delta   []byte
	pending int // where in all the bytes begin that are not yet in the delta
	ended   int // where in all the last copy of the original ended
	last    int // where in all the last copy of anything ended
}

// diff returns the delta that turns the original into the woven class.
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
		d.addCopy(at, best)
		for end := at + best.length; at < end; at++ {
			d.found.add(at)
		}
	}
	if d.pending < len(d.all) {
		d.addNew(len(d.all))
	}
	return d.delta
}

// longEnough is the length of a copy from which on no better one is searched for.
const longEnough = 64

// A match is a possible next copy.
type match struct {
	from, length int // from in all
	gain         int // bytes that it saves
}

// best finds the copy with the largest gain.
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

// end returns the end of the dictionary, original or woven class that contains from.
func (d *differ) end(at, from int) int {
	switch {
	case from < d.original:
		return d.original - 1
	case from < d.woven:
		return d.woven - 1
	}
	return at
}

// price returns the length of a copy in a delta.
func (d *differ) price(at, from, length int) int {
	kind, place := d.place(at, from)
	price := 1 + varintSize(uint64(length)<<2) // there is a count of new bytes before each
	if kind == fromFurther || kind == fromBack {
		price += varintSize(place)
	}
	return price
}

// place returns how a copy is encoded.
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

// addNew adds pending bytes to the delta.
func (d *differ) addNew(end int) {
	d.delta = binary.AppendUvarint(d.delta, uint64(end-d.pending))
	d.delta = append(d.delta, d.all[d.pending:end]...)
	d.pending = end
}

func (d *differ) addCopy(at int, m match) {
	kind, place := d.place(at, m.from)
	d.addNew(at)
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

// zigzag encodes numbers near 0, also negative ones, as small numbers.
func zigzag(n int) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// common returns the length of the common prefix.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// chains finds places with the same first bytes, the latest first.
type chains struct {
	all    []byte
	first  [1 << hashBits]int32 // 1 + place; 0: none
	before []int32
}

const (
	hashBits   = 14
	hashedSize = 4
	mostTries  = 48 // places that are tried; more gain little
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

// A dictionary consists of shingles: pieces of new bytes that several classes have in common.
const (
	shingle        = 8
	leastClasses   = 3    // that have a shingle
	mostDictionary = 4096 // larger distances take more bytes
	mostSampled    = 256  // classes
)

// deltas are the deltas of all classes, and their dictionary.
type deltas struct {
	dictionary []byte
	deltas     [][]byte
}

// makeDeltas computes deltas in parallel. The result does not depend on the number of workers.
func makeDeltas(classes []Class) (deltas, error) {
	made := deltas{dictionary: makeDictionary(sample(classes)), deltas: make([][]byte, len(classes))}
	failed := make([]error, len(classes))
	InParallel(len(classes), func() func(int) {
		d := differ{dictionary: made.dictionary}
		return func(i int) { made.deltas[i], failed[i] = d.proven(&classes[i]) }
	})
	return made, errors.Join(failed...)
}

// InParallel calls a function for each number below n, on as many goroutines as there are
// processors. Each goroutine gets a function of its own.
func InParallel(n int, newWorker func() func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			work := newWorker()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	all.Wait()
}

// proven returns the delta of a class after applying it as a check.
func (d *differ) proven(c *Class) ([]byte, error) {
	delta := d.diff(c.Original, c.Entry.Woven)
	woven, made := apply(delta, c.Original, d.dictionary, len(c.Entry.Woven))
	if !made || !bytes.Equal(woven, c.Entry.Woven) {
		return nil, fmt.Errorf("%s: its woven form could not be written", c.Entry.Class)
	}
	return delta, nil
}

// sample returns evenly spread classes.
func sample(classes []Class) []Class {
	step := max(1, len(classes)/mostSampled)
	var some []Class
	for i := 0; i < len(classes); i += step {
		some = append(some, classes[i])
	}
	return some
}

// makeDictionary collects bytes that are new in the woven form of several classes, mostly
// the names of hooks.
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

// news returns the new bytes of a valid delta.
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

// collect adds each frequent shingle to the dictionary once, next to its neighbours. Shingles
// that most classes have come first, in case not all fit.
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
				// The next shingle of a run shares all bytes but the last.
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
