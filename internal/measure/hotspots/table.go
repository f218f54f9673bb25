package hotspots

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Result is a table, with the program that it is about and how it was sampled.
type Result struct {
	*Table
	Target    cct.Target
	Recording string // the name of the file that was read; empty for a running JVM
	Source    string // what took the samples, such as "flight recorder"
	Limits    string // what the source cannot see, in a few words; empty if it sees everything
	Bias      string // how the samples are biased, in a sentence; empty if they are not
	Wall      bool   // waiting threads are part of the result
	Notes     []string
}

// A Table shows where time was spent in a window.
type Table struct {
	From, To   time.Time
	Samples    int                // of running threads
	Waiting    int                // samples of threads that wait in native code
	Incomplete int                // samples of running threads whose stacks could be walked, but not to their end
	Unit       time.Duration      // processor time that a weight of one represents
	Code       map[Code]cct.Share // what running threads run
	Methods    []Method           // by descending self time
	Threads    []Thread           // by descending share

	whole  float64
	count  float64
	groups []group
	tree   *Tree   // of a table that was read from a file, which has no groups
	places []Place // of such a table
}

// Restored returns a table that was read from a file. Its stacks and places are known only as a tree and as a list.
func Restored(t Table, tree *Tree, places []Place) *Table {
	t.tree, t.places = tree, places
	return &t
}

// A Method is a method on sampled stacks, or other code.
type Method struct {
	*jfr.Method
	Label       cct.Method // as reports name it
	Self, Total cct.Share
	Samples     int                // with the method on top
	Lines       []Line             // of the samples with the method on top, most frequent first
	Kinds       map[string]float64 // of the same samples, the part of each kind of frame
}

// A Line is a part of a method's self time.
type Line struct {
	Line int     `json:"line"`  // 0 if the class file has none
	Part float64 `json:"share"` // of the method's self time
}

// A Thread is a sampled thread, or all threads of the JVM of one kind.
type Thread struct {
	*jfr.Thread
	Group   jfr.ThreadKind // that of all these threads; empty for a single thread
	Count   int            // of threads
	Share   cct.Share
	Samples int
	Waiting int
	CPU     float64              // processors used; negative if unknown
	Top     cct.Method           // with most of its samples; the zero value if there are none
	Waits   map[jfr.Wait]float64 // for what it waited, as the average number of waiting threads
}

// A group is a number of samples that are equal but for their time.
type group struct {
	jfr.Sample
	n      int
	period time.Duration // sum of the periods of samples that have one
	held   Lock
	kind   jfr.ThreadKind
	weight float64 // in samples of Java code; 0 if the thread waits
	wait   float64 // the same for the time that it was seen waiting
}

// sampled returns how many samples a group has. Accounted time was not sampled.
func (g *group) sampled() int {
	if g.Source == jfr.Accounted {
		return 0
	}
	return g.n
}

// newTable summarizes samples of an interval. It computes their weights.
func newTable(from, to time.Time, groups []group, period time.Duration, used map[int64]time.Duration) *Table {
	groups = withKinds(groups)
	t := &Table{From: from, To: to, Code: map[Code]cct.Share{}, groups: groups}
	t.Unit = weigh(groups, period, used)
	code := map[Code]float64{}
	var sampled, squares float64
	for i := range groups {
		switch g := &groups[i]; {
		case g.weight > 0:
			t.whole += g.weight
			if n := g.sampled(); n > 0 {
				t.Samples += n
				sampled += g.weight
				squares += g.weight * g.weight / float64(n)
			}
			code[codeOf(&g.Sample, g.kind)] += g.weight
			if g.Stack.Broken && len(g.Stack.Frames) > 0 {
				t.Incomplete += g.n
			}
		case g.Source != jfr.WallClock:
			t.Waiting += g.n
		}
	}
	if squares > 0 {
		// The number of samples of equal weight with the same variance as these.
		t.count = sampled * sampled / squares
	}
	for kind, weight := range code {
		t.Code[kind] = cct.ShareOf(weight, t.whole, t.count)
	}
	t.sumMethods()
	t.sumThreads(used)
	return t
}

// withKinds sets the kinds of threads. It leaves out samples that would count the same time twice,
// and waits of threads that the JDK has for itself.
func withKinds(groups []group) []group {
	type about struct {
		kind      jfr.ThreadKind
		isProgram bool
	}
	threads := map[*jfr.Thread]about{}
	hasCPUTime, hasAccounts := false, false
	for i := range groups {
		g := &groups[i]
		of, known := threads[g.Thread]
		if !known {
			of = about{g.Thread.Kind(), g.Thread.IsOfProgram()}
			threads[g.Thread] = of
		}
		g.kind = of.kind
		hasCPUTime = hasCPUTime || g.Source == jfr.CPUTime
		hasAccounts = hasAccounts || g.Source == jfr.Accounted
	}
	return slices.DeleteFunc(groups, func(g group) bool {
		switch g.Source {
		case jfr.WallClock:
			return !threads[g.Thread].isProgram
		case jfr.Accounted:
			return false
		case jfr.CPUTime:
			return hasAccounts && g.kind != jfr.ProgramThread
		}
		return hasCPUTime || hasAccounts && g.kind != jfr.ProgramThread
	})
}

// frames returns what a row of methods shows of a stack: threads of the JVM are one row for each
// kind, and a stack that could not be walked is one, too.
func (g *group) frames() []jfr.Frame {
	if g.kind != jfr.ProgramThread {
		return []jfr.Frame{vmFrames[g.kind]}
	}
	if len(g.Stack.Frames) == 0 {
		return []jfr.Frame{unknown}
	}
	return g.Stack.Frames
}

// A sum is a method whose shares are still weights.
type sum struct {
	Method
	self, total float64
	lines       map[int]float64
	last        int // index of the last group in total
}

func (t *Table) sumMethods() {
	sums, pointers := map[cct.Method]*sum{}, map[*jfr.Method]*sum{}
	find := func(f jfr.Frame) *sum {
		m := methodOf(f)
		if s := pointers[m]; s != nil {
			return s
		}
		label := Label(f)
		if sums[label] == nil {
			sums[label] = &sum{Method: Method{Method: m, Label: label, Kinds: map[string]float64{}}, lines: map[int]float64{}, last: -1}
		}
		pointers[m] = sums[label]
		return sums[label]
	}
	for i := range t.groups {
		g := &t.groups[i]
		if g.weight == 0 {
			continue
		}
		for depth, frame := range g.frames() {
			s := find(frame)
			if s.last != i { // once, also in recursions
				s.last = i
				s.total += g.weight
			}
			if depth == 0 {
				s.self += g.weight
				s.Samples += g.sampled()
				s.lines[frame.Line] += g.weight
				s.Kinds[frame.Kind.String()] += g.weight
			}
		}
	}
	t.Methods = make([]Method, 0, len(sums))
	for _, s := range sums {
		s.Self, s.Total = cct.ShareOf(s.self, t.whole, t.count), cct.ShareOf(s.total, t.whole, t.count)
		for line, weight := range s.lines {
			s.Lines = append(s.Lines, Line{line, weight / s.self})
		}
		slices.SortFunc(s.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Line, b.Line)) })
		for kind := range s.Kinds {
			s.Kinds[kind] /= s.self
		}
		t.Methods = append(t.Methods, s.Method)
	}
	slices.SortFunc(t.Methods, BySelf)
}

// BySelf orders methods by self time, then by total, then by name.
func BySelf(a, b Method) int {
	return cmp.Or(cmp.Compare(b.Self.Part, a.Self.Part), cmp.Compare(b.Total.Part, a.Total.Part), ByName(a, b))
}

// ByTotal orders methods by the time in them and all they called.
func ByTotal(a, b Method) int {
	return cmp.Or(cmp.Compare(b.Total.Part, a.Total.Part), cmp.Compare(b.Self.Part, a.Self.Part), ByName(a, b))
}

// ByName orders methods by class, name and descriptor.
func ByName(a, b Method) int {
	return a.Ref().Compare(b.Ref())
}

// threads returns how many threads on average a weight stands for.
func (t *Table) threads(weight float64) float64 {
	if !t.To.After(t.From) {
		return 0
	}
	return weight * float64(t.Unit) / float64(t.To.Sub(t.From))
}

// sumThreads computes the share and processor time of each thread.
func (t *Table) sumThreads(used map[int64]time.Duration) {
	type sum struct {
		Thread
		weight  float64
		members map[int64]bool // by OS ID
		tops    map[cct.Method]float64
		most    float64
	}
	type id struct {
		kind jfr.ThreadKind
		key  int64
	}
	sums := map[id]*sum{}
	for i := range t.groups {
		g := &t.groups[i]
		which, thread := id{key: key(g.Thread)}, g.Thread
		if g.kind != jfr.ProgramThread {
			which, thread = id{kind: g.kind}, &jfr.Thread{Name: string(g.kind)}
		}
		s := sums[which]
		if s == nil {
			s = &sum{Thread: Thread{Thread: thread, Group: g.kind, CPU: -1, Waits: map[jfr.Wait]float64{}}, members: map[int64]bool{}, tops: map[cct.Method]float64{}}
			sums[which] = s
		}
		s.members[g.Thread.OSID] = true
		switch {
		case g.wait > 0:
			s.Waits[g.Wait] += t.threads(g.wait)
			continue
		case g.weight == 0:
			s.Waiting += g.n
			continue
		}
		s.Samples += g.sampled()
		s.weight += g.weight
		if len(g.Stack.Frames) == 0 {
			continue
		}
		top := Label(g.Stack.Frames[0])
		s.tops[top] += g.weight
		if s.tops[top] > s.most {
			s.most, s.Top = s.tops[top], top
		}
	}
	for _, s := range sums {
		s.Share, s.Count = cct.ShareOf(s.weight, t.whole, t.count), len(s.members)
		for member := range s.members {
			if had, known := used[member]; known && !s.Virtual && t.To.After(t.From) {
				s.CPU = max(0, s.CPU) + float64(had)/float64(t.To.Sub(t.From))
			}
		}
		t.Threads = append(t.Threads, s.Thread)
	}
	slices.SortFunc(t.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name), cmp.Compare(key(a.Thread), key(b.Thread)))
	})
}
