package ascent

import (
	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Row is a method on the way up from a hot spot, in the order of reading: a caller
// comes right behind what it calls, the largest share first.
type Row struct {
	*climb.Caller
	Below int  // index of the row of what it calls; -1 where that is the hot spot
	Depth int  // 1 is a direct caller
	Again bool // it is on the way below already: recursion
	Main  bool // it is on the main way
	Last  bool // no caller of the same method comes behind it
}

// RowsOf are the rows of a hot spot that have at least a share of it, and how many
// have not. What is above one that has not is not counted.
func RowsOf(s *climb.Spot, least float64) (rows []Row, left int) {
	on := map[int]int{s.Method: 1}
	var add func(callers []*climb.Caller, below, depth int, main bool)
	add = func(callers []*climb.Caller, below, depth int, main bool) {
		last := -1
		for i, caller := range callers {
			if caller.Share.Part < least {
				left++
				continue
			}
			last = len(rows)
			rows = append(rows, Row{
				Caller: caller, Below: below, Depth: depth, Again: on[caller.Method] > 0, Main: main && i == 0,
			})
			on[caller.Method]++
			add(caller.Above, last, depth+1, main && i == 0)
			on[caller.Method]--
		}
		if last >= 0 {
			rows[last].Last = true
		}
	}
	add(s.Callers, -1, 1, true)
	return rows, left
}
