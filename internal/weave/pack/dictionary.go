package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

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
