package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program is the load, running.
type program struct {
	*harness.Program
	folder string // its classes
	agent  string // the jar
}

func startProgram(jdk jvmtest.JDK) (*program, error) {
	folder, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/redefine/java/*.java"}, Flags: []string{"--release", "11"}})
	if err != nil {
		return nil, err
	}
	p := &program{folder: folder, agent: folder + ".jar"}
	const manifest = "Manifest-Version: 1.0\nAgent-Class: Retransform\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n"
	if err = harness.WriteJar(p.agent, manifest, folder); err == nil {
		p.Program, err = harness.Start(jdk, "-Xmx256m", "-cp", folder, "Load", strconv.Itoa(*workers), strconv.Itoa(*copies))
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *program) close() {
	p.Close()
	p.remove()
}

func (p *program) remove() {
	os.RemoveAll(p.folder)
	os.RemoveAll(p.agent)
}

// A note is one of those the program makes of itself.
type note struct {
	at   time.Duration // by its own clock
	done int64         // steps so far
	cpu  time.Duration // what its working threads had of processors
}

func parseNotes(words []string) ([]note, error) {
	// The line ends with "at" and the time of the answer.
	if len(words) < 2 {
		return nil, fmt.Errorf("notes of %d words", len(words))
	}
	words = words[:len(words)-2]
	var notes []note
	for triple := range slices.Chunk(words, 3) {
		if len(triple) != 3 {
			return nil, fmt.Errorf("the last of the notes has %d words", len(triple))
		}
		var numbers [3]int64
		for i, word := range triple {
			var err error
			if numbers[i], err = strconv.ParseInt(word, 10, 64); err != nil {
				return nil, err
			}
		}
		notes = append(notes, note{time.Duration(numbers[0]), numbers[1], time.Duration(numbers[2])})
	}
	return notes, nil
}

// A dip is what the program's own notes say it lost.
//
// Rates are steps per second of processor time, so that what other programs of
// the machine take away does not count, but neither does what the JVM's own
// compilers take where there is no processor to spare.
type dip struct {
	Rate  float64       // before
	After float64       // when all was over
	Lost  time.Duration // processor time that brought no step, at the mean of both rates
	Slow  time.Duration // for how long it ran below a tenth of that
	Back  time.Duration // when it was at 95 % of it again, for half a second; 0: never
}

// dipOf compares the notes between two moments with those before and those
// after.
func dipOf(notes []note, from, until time.Duration) (dip, error) {
	index := func(at time.Duration) int {
		return slices.IndexFunc(notes, func(n note) bool { return n.at >= at })
	}
	begin, end := index(from), index(until)
	if begin < 2 || end < begin+2 || end > len(notes)-2 {
		return dip{}, fmt.Errorf("%d notes, asked for from %d to %d", len(notes), begin, end)
	}
	d := dip{Rate: medianRate(notes[:begin+1]), After: medianRate(notes[end:])}
	rate := (d.Rate + d.After) / 2
	if rate <= 0 {
		return dip{}, fmt.Errorf("the program did nothing")
	}
	meanwhile := notes[begin : end+1]
	first, last := meanwhile[0], meanwhile[len(meanwhile)-1]
	d.Lost = last.cpu - first.cpu - seconds(float64(last.done-first.done)/rate)
	for i := 1; i < len(meanwhile); i++ {
		if rateOf(meanwhile[i-1:i+1]) < 0.1*rate {
			d.Slow += meanwhile[i].cpu - meanwhile[i-1].cpu
		}
	}
	d.Back = backAt(notes[begin:], 0.95*rate)
	return d, nil
}

// backAt is when a rate was reached and held, after the first note.
func backAt(notes []note, rate float64) time.Duration {
	const held = 500 * time.Millisecond
	end := 0
	for i := range notes {
		for end < len(notes) && notes[end].at-notes[i].at < held {
			end++
		}
		if end == len(notes) {
			return 0
		}
		if rateOf(notes[i:end+1]) >= rate {
			return notes[i].at - notes[0].at
		}
	}
	return 0
}

// rateOf is 0 where the program had no processor.
func rateOf(notes []note) float64 {
	first, last := notes[0], notes[len(notes)-1]
	if last.cpu == first.cpu {
		return 0
	}
	return float64(last.done-first.done) / (last.cpu - first.cpu).Seconds()
}

// medianRate is the median of stretches: other programs of the machine disturb
// some of them.
func medianRate(notes []note) float64 {
	const length = 100 * time.Millisecond
	var rates []float64
	begin := 0
	for i := range notes {
		if notes[i].at-notes[begin].at >= length {
			rates = append(rates, rateOf(notes[begin:i+1]))
			begin = i
		}
	}
	if len(rates) == 0 {
		return rateOf(notes)
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
