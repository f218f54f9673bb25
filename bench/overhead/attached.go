package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	everyday     = "Everyday"       // the shape no method of which is ever woven
	warmTurns    = 500              // of each JVM, before anything is kept
	turnBatches  = 5                // in a turn of one JVM
	enoughPhases = 3                // the fewest that say anything of their spread
	closeEnough  = 0.2              // percent; once the mean is known as well as this, it is known
	patience     = 45 * time.Second // for phases, on a machine that is busy
)

// attached is what being attached to, with no method woven, costs a program.
// Percentages are of its speed.
type attached struct {
	Phases      []float64 // slowdown in each, against the same two JVMs before and after it
	Mean        float64
	Within      float64 // of the true mean, 95 times in 100
	AgentCPU    float64 // percent of one processor that the agent's own threads used
	Pairs       int     // in each half of a phase
	TwinsDiffer float64 // by how much the two JVMs differ while neither is touched
}

// A couple is two JVMs that run the same program, never both at once. They are
// never quite alike, so what attaching does to one is read from how their ratio
// changes.
type couple struct {
	touched, untouched *driver.Program
	turns              int // in a batch
}

// measureAttached alternates between phases with and without a session in one
// of two JVMs.
func (r *report) measureAttached(ctx context.Context, jdk jvmtest.JDK, classes string, o options) error {
	var c couple
	for _, p := range []**driver.Program{&c.touched, &c.untouched} {
		var err error
		if *p, err = start(jdk, classes); err != nil {
			return err
		}
		defer (*p).Close()
	}
	if err := c.warm(); err != nil {
		return err
	}
	before, err := c.ratio(o.pairs)
	if err != nil {
		return err
	}
	a := &r.Attached
	a.Pairs, a.TwinsDiffer = o.pairs, 100*before
	var agent, wall time.Duration
	for begun := time.Now(); len(a.Phases) < max(o.phases, enoughPhases); {
		if len(a.Phases) >= enoughPhases && (a.Within <= closeEnough || time.Since(begun) > patience) {
			break
		}
		during, used, took, err := c.attachedRatio(ctx, o.pairs)
		if err != nil {
			return err
		}
		after, err := c.ratio(o.pairs)
		if err != nil {
			return err
		}
		agent, wall = agent+used, wall+took
		a.Phases = append(a.Phases, 100*(during-(before+after)/2))
		a.Mean, a.Within = spread.Mean(a.Phases)
		before = after
	}
	a.AgentCPU = 100 * float64(agent) / float64(wall)
	return nil
}

// warm has both compile what they run, and settles how many turns make a batch.
func (c *couple) warm() error {
	c.turns = 16
	for range warmTurns {
		for _, p := range []*driver.Program{c.touched, c.untouched} {
			took, err := c.take(p)
			if err != nil {
				return err
			}
			c.turns = max(int(float64(c.turns)*batchNanos/took), 1)
		}
	}
	return nil
}

// take gives one JVM a turn. The lower quartile is of batches that were neither
// interrupted nor met by a collection, which only ever add.
func (c *couple) take(p *driver.Program) (nanos float64, err error) {
	batches, err := p.Ask("time", bare, everyday, c.turns, turnBatches)
	return spread.Quantile(batches, 0.25), err
}

// ratio is the logarithm of how much longer the one JVM takes than the other:
// the median over pairs of turns, of which now the one is first, now the other.
func (c *couple) ratio(pairs int) (float64, error) {
	logarithms := make([]float64, 0, pairs)
	for pair := range pairs {
		order := []*driver.Program{c.touched, c.untouched}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		took := make(map[*driver.Program]float64)
		for _, p := range order {
			var err error
			if took[p], err = c.take(p); err != nil {
				return 0, err
			}
		}
		logarithms = append(logarithms, math.Log(took[c.touched]/took[c.untouched]))
	}
	return spread.Median(logarithms), nil
}

// attachedRatio is ratio while a session holds the one JVM, with the processor
// time that the agent's threads used meanwhile.
func (c *couple) attachedRatio(ctx context.Context, pairs int) (ratio float64, used, took time.Duration, err error) {
	s, err := session.Open(ctx, c.touched.PID(), session.Settings{Command: "bench/overhead"})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		_, closing := s.Close(ctx)
		_ = s.Release()
		if err == nil {
			err = closing
		}
	}()
	begun, usedBefore := time.Now(), agentTime(c.touched.PID())
	if ratio, err = c.ratio(pairs); err != nil {
		return 0, 0, 0, err
	}
	return ratio, agentTime(c.touched.PID()) - usedBefore, time.Since(begun), nil
}

// agentTime is what threads whose names begin with "sonde" had of processors.
func agentTime(pid int) (sum time.Duration) {
	isOurs := func(name string) bool { return strings.HasPrefix(name, "sonde") }
	for _, thread := range machine.Threads(pid, isOurs) {
		stat, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue // it has ended
		}
		if first, _, found := strings.Cut(string(stat), " "); found {
			nanos, _ := strconv.ParseInt(first, 10, 64)
			sum += time.Duration(nanos)
		}
	}
	return sum
}
