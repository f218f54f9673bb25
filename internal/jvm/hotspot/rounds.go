package hotspot

import (
	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// rounds decide whether what is read now is what a sample has met. A sample is walked some time after
// it was taken, and a JVM unloads classes and replaces code meanwhile, at the same addresses.
//
// The samples of a round were taken after the begin of the round before, and what belongs to them is
// read later. So something that was there in an earlier round, and is still there, was there when the
// sample was taken. What is new may have been something else then, unless nothing was freed since.
type rounds struct {
	memory space
	round  int  // of samples
	pass   int  // in which everything is read again once
	live   bool // a thread is walked that stands still, so nothing can change that belongs to it
	// counters are addresses of numbers that change when classes are unloaded, or code is freed.
	counters []uint64
	counts   [2]uint64 // their sum at the begin of this round and of the one before
}

func (r *rounds) begin() {
	r.round++
	r.pass++
	r.counts[1], r.counts[0] = r.counts[0], r.count()
}

func (r *rounds) count() (sum uint64) {
	for _, address := range r.counters {
		n, _ := r.memory.u64(address)
		sum += n
	}
	return sum
}

// next returns the round at whose begin something was there that is read now.
func (r *rounds) next() int { return r.round + 1 }

// isOld reports whether something that was there at the begin of a round was there when the samples
// of this round were taken.
func (r *rounds) isOld(since int) bool { return r.live || since < r.round }

// isQuiet reports whether nothing was freed since the samples of this round were taken.
func (r *rounds) isQuiet() bool { return r.count() == r.counts[1] }

// mostCounters bounds the memory with the JVM's counters. It has usually 32 KiB.
const mostCounters = 1 << 20

// freeing are the JVM's counters of unloaded classes, and of full and concurrent collections, which are
// those that can free code.
var freeing = []string{
	"java.cls.unloadedClasses", "java.cls.sharedUnloadedClasses", "sun.gc.collector.1.invocations", "sun.gc.collector.2.invocations",
}

// findCounters finds the counters. A JVM that publishes none counts at least its collections; some
// collectors also unload classes at other times.
func (r *rounds) findCounters(t *tables) {
	start, _ := r.memory.u64(t.fields["PerfMemory::_start"].address)
	top, ok := r.memory.u64(t.fields["PerfMemory::_top"].address)
	if ok && start != 0 && top > start && top-start <= mostCounters {
		// There is an error if the JVM adds counters meanwhile. Those that were read are good.
		if all, _ := perfdata.Parse(r.memory.bytes(start, int(top-start))); all != nil {
			for _, name := range freeing {
				if place, ok := all.Place(name); ok {
					r.counters = append(r.counters, start+uint64(place))
				}
			}
		}
	}
	collections, has := t.fields["CollectedHeap::_total_collections"]
	heap, ok := r.memory.u64(t.fields["Universe::_collectedHeap"].address)
	if len(r.counters) == 0 && has && ok {
		r.counters = []uint64{heap + collections.offset}
	}
	r.counts = [2]uint64{r.count(), r.count()}
}
