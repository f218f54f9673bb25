package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// sample is one round: all classes through one way, once.
type sample struct {
	classes        int
	nanos          int64
	cpu            int64  // processor time of the whole process, collector and compilers included
	objects, bytes uint64 // allocated; ours only
}

func (s sample) perSecond() float64 { return float64(s.classes) / (float64(s.nanos) / 1e9) }

// perCPUSecond tells less about speed and more under noise: what other programs
// take away does not count.
func (s sample) perCPUSecond() float64 { return float64(s.classes) / (float64(max(s.cpu, 1)) / 1e9) }

// result is all rounds of one way.
type result struct {
	Name            string
	Median          float64 // classes per second
	Least, Most     float64
	PerCPUSecond    float64   // classes per second of processor time, median
	ObjectsPerClass float64   `json:",omitempty"`
	BytesPerClass   float64   `json:",omitempty"`
	Rounds          []float64 // in the order they were run, so that two results can be paired
	CPURounds       []float64 // likewise, by processor time
}

// way is something that can be done to all classes.
type way struct {
	name string
	once func() (sample, error)
}

// The names of the ways; bars refer to them.
const (
	asmVisit  = "ASM full visit"
	asmPlain  = "ASM visitor, COMPUTE_MAXS"
	asmAdvice = "ASM AdviceAdapter"
	ourLift   = "Sonde parse + lift"
	ourWeave  = "Sonde weave, enter/exit"
	ourProbe  = "Sonde weave, built-in probe"
)

// alternate runs all ways in turn, round by round.
func alternate(java *asmSide, classes [][]byte, likeForLike, probe *weave.Template, o options) ([]result, error) {
	ways := []way{
		{asmVisit, func() (sample, error) { return java.round("visit") }},
		{ourLift, func() (sample, error) { return liftRound(classes) }},
		{asmPlain, func() (sample, error) { return java.round("plain") }},
		{ourWeave, func() (sample, error) { return weaveRound(classes, likeForLike, 1) }},
		{asmAdvice, func() (sample, error) { return java.round("advice") }},
		{ourProbe, func() (sample, error) { return weaveRound(classes, probe, 1) }},
	}
	return runRounds(ways, o)
}

func runRounds(ways []way, o options) ([]result, error) {
	samples := make([][]sample, len(ways))
	for round := range o.warm + o.rounds {
		progress(round, o)
		for i, w := range ways {
			s, err := w.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if round >= o.warm {
				samples[i] = append(samples[i], s)
			}
		}
	}
	if watched() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	results := make([]result, len(ways))
	for i, w := range ways {
		results[i] = summarise(w.name, samples[i])
	}
	return results, nil
}

// progress shows how far the run is, to a person only.
func progress(round int, o options) {
	if !watched() {
		return
	}
	if round < o.warm {
		fmt.Fprintf(os.Stderr, "\rwarming up: round %d of %d   ", round+1, o.warm)
	} else {
		fmt.Fprintf(os.Stderr, "\rmeasuring: round %d of %d    ", round-o.warm+1, o.rounds)
	}
}

func summarise(name string, samples []sample) result {
	r := result{Name: name}
	var objects, bytes, classes float64
	for _, s := range samples {
		r.Rounds = append(r.Rounds, s.perSecond())
		r.CPURounds = append(r.CPURounds, s.perCPUSecond())
		objects += float64(s.objects)
		bytes += float64(s.bytes)
		classes += float64(s.classes)
	}
	r.Median, r.Least, r.Most = spread.Median(r.Rounds), slices.Min(r.Rounds), slices.Max(r.Rounds)
	r.PerCPUSecond = spread.Median(r.CPURounds)
	r.ObjectsPerClass, r.BytesPerClass = objects/classes, bytes/classes
	return r
}

func watched() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
