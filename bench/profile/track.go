package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A sample is what a program said of itself at a moment.
type sample struct {
	at     time.Duration // of the monotonic clock
	done   int64         // operations so far
	cpu    time.Duration // processor time of the thread that works
	rounds int64
}

func parseSample(line string) (sample, error) {
	var s sample
	_, err := fmt.Sscanf(line, "at %d %d %d %d", &s.at, &s.done, &s.cpu, &s.rounds)
	return s, err
}

// A track is all a program said, in order.
type track []sample

// used is the processor time the program had.
func (t track) used() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1].cpu
}

// A pace is how fast a program went for a while.
type pace struct {
	wall float64 // operations a second
	cpu  float64 // operations a second of processor time
	took time.Duration
}

var errNoSamples = errors.New("the program said too little of itself in that time: try longer phases")

// pace is that between two moments. The parts of a round differ, so where rounds
// are long, whole ones are taken: those that began and ended in that time, or if
// there is none, those that were under way at both moments.
func (t track) pace(from, until time.Duration) (pace, error) {
	within := t.ends(from, until)
	if len(within) < 2 {
		within = t.around(from, until)
	}
	if len(within) < 2 {
		return pace{}, errNoSamples
	}
	return paceOf(within[0], within[len(within)-1]), nil
}

// cut is the pace between two moments, whatever part of a round that is.
func (t track) cut(from, until time.Duration) (pace, error) {
	first, err := t.at(from)
	if err != nil {
		return pace{}, err
	}
	last, err := t.at(until)
	if err != nil {
		return pace{}, err
	}
	return paceOf(first, last), nil
}

func paceOf(first, last sample) pace {
	done := float64(last.done - first.done)
	p := pace{took: last.at - first.at}
	p.wall = done / p.took.Seconds()
	if used := last.cpu - first.cpu; used > 0 {
		p.cpu = done / used.Seconds()
	}
	return p
}

// ends are the samples in that time at which a round had ended since the one
// before. Of a program with short rounds that is nearly every one.
func (t track) ends(from, until time.Duration) track {
	var ends track
	for i := 1; i < len(t); i++ {
		if t[i].at >= from && t[i].at <= until && t[i].rounds > t[i-1].rounds {
			ends = append(ends, t[i])
		}
	}
	return ends
}

// around are the last end of a round before that time and the first after it.
func (t track) around(from, until time.Duration) track {
	ends := t.ends(0, 1<<62)
	first := slices.IndexFunc(ends, func(s sample) bool { return s.at > from }) - 1
	last := slices.IndexFunc(ends, func(s sample) bool { return s.at >= until })
	if first < 0 || last <= first {
		return nil
	}
	return track{ends[first], ends[last]}
}

// windows cuts a time into pieces of about that length, at ends of rounds.
func (t track) windows(from, until, length time.Duration) [][2]time.Duration {
	var all [][2]time.Duration
	ends := t.ends(from, until)
	begin := 0
	for i := range ends {
		if ends[i].at-ends[begin].at >= length {
			all = append(all, [2]time.Duration{ends[begin].at, ends[i].at})
			begin = i
		}
	}
	return all
}

// at interpolates between the samples beside a moment.
func (t track) at(moment time.Duration) (sample, error) {
	after := slices.IndexFunc(t, func(s sample) bool { return s.at >= moment })
	if after < 1 {
		return sample{}, errNoSamples
	}
	a, b := t[after-1], t[after]
	part := float64(moment-a.at) / float64(b.at-a.at)
	return sample{
		at: moment, done: a.done + int64(part*float64(b.done-a.done)), cpu: a.cpu + time.Duration(part*float64(b.cpu-a.cpu)),
		rounds: a.rounds,
	}, nil
}
