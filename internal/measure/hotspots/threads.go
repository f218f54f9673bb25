package hotspots

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// sumThreads tells of each thread that was seen what of all was its, and how much
// processor time it used.
func (t *Table) sumThreads(used map[int64]time.Duration) {
	type sum struct {
		Thread
		weight float64
		tops   map[identity]float64
		most   float64
	}
	sums := map[int64]*sum{}
	for i, sample := range t.samples {
		s := sums[key(sample.Thread)]
		if s == nil {
			s = &sum{Thread: Thread{Thread: sample.Thread, CPU: -1}, tops: map[identity]float64{}}
			sums[key(sample.Thread)] = s
		}
		if t.weights[i] == 0 {
			s.Waiting++
			continue
		}
		s.Samples++
		s.weight += t.weights[i]
		if top := topOf(sample); top != nil {
			id := identityOf(top)
			s.tops[id] += t.weights[i]
			if s.tops[id] > s.most {
				s.most, s.Top = s.tops[id], top
			}
		}
	}
	for _, s := range sums {
		s.Share = ShareOf(s.weight, t.whole, t.count)
		if had, known := used[s.OSID]; known && !s.Virtual && t.To.After(t.From) {
			s.CPU = float64(had) / float64(t.To.Sub(t.From))
		}
		t.Threads = append(t.Threads, s.Thread)
	}
	slices.SortFunc(t.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name), cmp.Compare(key(a.Thread), key(b.Thread)))
	})
}

func topOf(s jfr.Sample) *jfr.Method { return s.Stack.Frames[0].Method }
