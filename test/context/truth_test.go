package context

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// How much a test asks of each program.
const (
	rounds       = 3   // wishes, one after the other in one session
	singleRounds = 24  // in which each call is distinguished
	singleCalls  = 200 // that it makes in each: names of labels wait for Sonde in a ring of 256
	rootThreads  = 3
)

var (
	roundCalls   = jvmtest.Times(100_000, 450_000)  // that a program makes in each of the rounds
	judgedAtBest = jvmtest.Times(80_000, 1_000_000) // calls of probed methods, on each JDK
)

// usualSeeds are those that every run of the tests takes. Outside a soak the JDKs take
// turns at the seeds.
var usualSeeds = []uint64{11, 12}

// seeds are those of SONDE_SEEDS, or the usual ones.
func seeds(t *testing.T) (list []uint64) {
	t.Helper()
	text := os.Getenv("SONDE_SEEDS")
	if text == "" {
		return usualSeeds
	}
	for word := range strings.SplitSeq(text, ",") {
		seed, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil {
			t.Fatalf("SONDE_SEEDS: %v", err)
		}
		list = append(list, seed)
	}
	return list
}

// TestSondeAgreesOnEveryCall: of every call of probed methods, Sonde and the reference
// say the same.
func TestSondeAgreesOnEveryCall(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			var all judgement
			list := seeds(t)
			for i, seed := range list {
				if !jvmtest.Turn(t, jdk, i, len(list)) {
					continue
				}
				t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
					agree(t, jdk, seed, &all)
				})
			}
			t.Logf("%d calls of probed methods, %d questions, %d of them answered yes", all.calls, all.asked, all.held)
			if !t.Failed() && os.Getenv("SONDE_SEEDS") == "" && all.calls < judgedAtBest {
				t.Errorf("only %d calls were judged", all.calls)
			}
			if all.held*50 < all.asked || all.held*50 > all.asked*49 {
				t.Errorf("of %d questions %d have the answer yes: this says too little", all.asked, all.held)
			}
		})
	}
}

// agree runs one program under several wishes.
func agree(t *testing.T, jdk jvmtest.JDK, seed uint64, all *judgement) {
	p := generate(seed)
	r := start(t, jdk, p)
	draw := rand.New(rand.NewPCG(seed, 7))
	w := wishFor(p, draw, true)
	for round := range singleRounds {
		r.round(p, w, round, singleCalls, all)
	}
	for round := range rounds {
		r.round(p, wishFor(p, draw, false), singleRounds+round, roundCalls, all)
	}
}

// round lets the program work under a wish, and compares.
func (r *running) round(p *program, w *wish, round, calls int, all *judgement) {
	r.t.Helper()
	r.apply(w)
	before := r.counts()
	threads := r.work(p.seed*100+uint64(round), calls)
	have := r.counts()
	for key, count := range before {
		have[key] -= count
	}
	j, err := w.judge(p, threads)
	if err != nil {
		r.t.Fatalf("seed %d, round %d: %v", p.seed, round, err)
	}
	r.compare(j, have, fmt.Sprintf("seed %d, round %d", p.seed, round), w)
	all.calls += j.calls
	all.asked += j.asked
	all.held += j.held
}

// mostDifferences is how many are shown of each round.
const mostDifferences = 8

// compare reports each difference, with the stack of the first call of its kind.
func (r *running) compare(j *judgement, have map[row]uint64, where string, w *wish) {
	r.t.Helper()
	shown := 0
	tell := func(key row, got, want uint64) {
		r.t.Helper()
		if shown++; shown > mostDifferences {
			return
		}
		first := j.first[key]
		if first == "" {
			first = "no such call"
		}
		r.t.Errorf("%s: %v: Sonde counted %d, the reference %d\n%s\n%s", where, key, got, want, w.describe(key.probe), first)
	}
	for key, want := range j.counts {
		if have[key] != want {
			tell(key, have[key], want)
		}
	}
	for key, got := range have {
		if _, known := j.counts[key]; !known && got != 0 {
			tell(key, got, 0)
		}
	}
	if shown > 0 {
		r.t.Fatalf("%s: %d rows differ of %d; the program is in %s", where, shown, len(j.counts), r.kept(where))
	}
}
