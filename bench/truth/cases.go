package main

// A demand is what must hold of a row.
type demand int

const (
	within demand = iota // the reading is within 3 % of the truth
	inside               // the truth is within the error that the profile states
)

// mostOff is how much a reading of dependent work may be off.
const mostOff = 0.03

// A row is one time to be told: the self time of methods, for each call of one of
// them, and how the bare twin tells the same.
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
