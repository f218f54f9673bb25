package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A demand is what must hold of a row.
type demand int

const (
	within demand = iota // the reading is within 3 % of the truth
	inside               // the truth is within the error that the profile states
)

// mostOff is how much a reading of dependent work may be off.
const mostOff = 0.03

// A row is one time to be reported: the self time of methods, for each call of one of
// them, and how the bare twin shows the same.
type row struct {
	Label   string
	Case    string   // the class, of the same name in both twins
	Methods []string // whose self times are summed
	Per     string   // of whose calls the mean is taken
	Part    int      // of the case, that takes this time
	Without int      // a part whose time is taken off; none where it is none
	Each    float64  // calls of Per in one turn of the part
	Demand  demand
}

const none = -1

// exactRows are read from exact profiles.
var exactRows = []row{
	one("200 ns", "Ns200", within),
	one("1 µs", "Us1", within),
	one("10 µs", "Us10", within),
	one("1 ms", "Ms1", within),
	pair("of 3:1, the longer", "Ratio", "first", 1, within),
	pair("of 3:1, the shorter", "Ratio", "second", 2, within),
	{"recursion, ten deep", "Recursion", []string{"down"}, "down", 0, none, 10, within},
	{"exceptions", "Exceptions", []string{"root", "passing", "failing"}, "passing", 0, none, 1, within},
	pair("12 ns", "Tiny", "first", 1, inside),
	pair("35 ns", "Tiny", "second", 2, inside),
	one("50 ns, overlapping", "Overlap50", inside),
	one("200 ns, overlapping", "Overlap200", inside),
	one("1 µs, overlapping", "Overlap1000", inside),
	one("cache misses", "Misses", inside),
	{"parent of a thousand", "Thousand", []string{"parent"}, "parent", 0, 1, 1, inside},
	{"its 8 ns children", "Thousand", []string{"tiny"}, "tiny", 1, none, 1000, inside},
}

// sampledRows are read from sampled profiles.
var sampledRows = []row{
	one("even, 1 µs", "Us1", inside),
	one("period 64, one call ×16", "Periodic", inside),
	one("a tenth ×10", "Skewed", inside),
	one("long tail", "Tail", inside),
	{"parent, a tenth ×10", "Family", []string{"parent"}, "parent", 3, none, 1, inside},
	pair("its first callee", "Family", "left", 1, inside),
	pair("its second callee", "Family", "right", 2, inside),
}

// one is the row of a case with one method.
func one(label, name string, demand demand) row {
	return row{label, name, []string{"work"}, "work", 0, none, 1, demand}
}

// pair is the row of one of several methods, which is a part of its own.
func pair(label, name, method string, part int, demand demand) row {
	return row{label, name, []string{method}, method, part, none, 1, demand}
}

// parts is how many parts a case has.
var parts = map[string]int{"Ratio": 3, "Tiny": 3, "Thousand": 2, "Family": 4}

func partsOf(name string) int { return max(parts[name], 1) }

// casesOf are the classes of rows, each once.
func casesOf(rows []row) []string {
	var names []string
	known := make(map[string]bool)
	for _, r := range rows {
		if !known[r.Case] {
			known[r.Case] = true
			names = append(names, r.Case)
		}
	}
	return names
}

// sources is what the template of the cases is filled with.
type sources struct {
	Package                        string
	Dependent, Overlapping, Uneven []sized
	Pairs                          []paired
}

type sized struct {
	Name, What, Factor string
	Nanos              int
}

type paired struct {
	Name          string
	First, Second int  // nanoseconds
	Long          bool // the work is a method of its own, the same for both twins
}

func sourcesOf(twin string) sources {
	return sources{
		Package: twin,
		Dependent: []sized{
			{Name: "Ns200", Nanos: 200}, {Name: "Us1", Nanos: 1000}, {Name: "Us10", Nanos: 10_000}, {Name: "Ms1", Nanos: 1_000_000},
		},
		Overlapping: []sized{{Name: "Overlap50", Nanos: 50}, {Name: "Overlap200", Nanos: 200}, {Name: "Overlap1000", Nanos: 1000}},
		Pairs:       []paired{{"Ratio", 900, 300, true}, {"Tiny", 12, 35, false}},
		Uneven: []sized{
			{"Periodic", "one in 64, at a fixed distance, is sixteen times longer", "(i & 63) == 0 ? 16 : 1", 200},
			{"Skewed", "one in ten, scattered, is ten times longer", "Work.tenth(i)", 300},
			{"Tail", "half of them twice as long, a quarter four times, and so on", "Work.tail(i)", 200},
		},
	}
}

// The twins: hooks go into one of them.
const (
	woven = "woven"
	bare  = "bare"
)

// compile builds the Java program and returns the folder of its classes.
func compile(jdk jvmtest.JDK) (classes string, err error) {
	generated := make(map[string]string)
	for _, twin := range []string{woven, bare} {
		if generated[twin+".java"], err = harness.Generate("bench/truth/java/cases.tmpl", sourcesOf(twin)); err != nil {
			return "", err
		}
	}
	return harness.Compile(jdk, harness.Source{Files: []string{"bench/truth/java/*.java"}, Generated: generated, Flags: []string{"--release", "17"}})
}

// A program is the Java program, running.
type program struct {
	*harness.Program
	calls    map[string]int // of a case, that make a batch
	profiles int            // so far
}

func start(jdk jvmtest.JDK, classes string, options ...string) (*program, error) {
	p, err := harness.Start(jdk, slices.Concat([]string{"-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"}, options,
		[]string{"-cp", classes, "truth.Driver"})...)
	if err != nil {
		return nil, err
	}
	return &program{Program: p, calls: make(map[string]int)}, nil
}

const (
	batch     = 5 * time.Millisecond
	warmTurns = 60 // batches of each case, before anything is kept
)

// warm has everything compiled, and settles how many calls make a batch.
func (p *program) warm(names []string) error {
	for _, name := range names {
		p.calls[name] = 1
		for range warmTurns {
			t, err := p.turns(name, 1)
			if err != nil {
				return err
			}
			growth := min(float64(batch)/t.parts[0][0], 4)
			p.calls[name] = max(int(float64(p.calls[name])*growth), 1)
		}
	}
	return nil
}

// turns are batches in which a root, with hooks or without, and the bare twin took
// turns.
type turns struct {
	parts [][]float64 // of each batch, the times of the bare twin's parts
	ran   float64     // the part of the time in which the program had a processor
}

func (p *program) turns(name string, batches int) (turns, error) {
	const others = 2 // columns: the root's time by the clock, and by the processor
	rows, err := p.batches("turns", name, others+partsOf(name), batches)
	if err != nil {
		return turns{}, err
	}
	var t turns
	var clock, processor float64
	for _, row := range rows {
		clock, processor = clock+row[0], processor+row[1]
		t.parts = append(t.parts, row[others:])
	}
	t.ran = processor / clock
	return t, nil
}

// alone runs batches of the twin that gets hooks: each is the times of its parts.
func (p *program) alone(name string, batches int) ([][]float64, error) {
	return p.batches("alone", name, partsOf(name), batches)
}

func (p *program) batches(command, name string, columns, batches int) ([][]float64, error) {
	numbers, err := p.Ask(command, name, p.calls[name], batches)
	if err != nil {
		return nil, err
	}
	if len(numbers) != columns*batches {
		return nil, fmt.Errorf("the Java program answered %q by %d numbers, %d are due", command, len(numbers), columns*batches)
	}
	rows := make([][]float64, batches)
	for i := range rows {
		rows[i] = numbers[i*columns : (i+1)*columns]
	}
	return rows, nil
}
