package drill

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// A State is what threads did during the own time of a method in slow calls, by samples.
type State struct {
	Wait    jfr.Wait  `json:"wait"` // "" if they ran
	Share   cct.Share `json:"share"`
	Samples int       `json:"samples"`
	// Through is the method that most of these stacks show as called by the method itself, and In the innermost
	// one; "" if that is the method itself.
	Through string  `json:"through,omitempty"`
	In      string  `json:"in,omitempty"`
	InPart  float64 `json:"inPart,omitempty"` // part of these samples that In has
	lock    *Lock   // that they wait for; nil if it is not known
}

var statesAsText = map[jfr.Wait]string{
	jfr.Running: "runs", jfr.Monitor: "waits for a monitor", jfr.Notification: "waits in Object.wait", jfr.Parked: "is parked", jfr.Sleeping: "sleeps", jfr.IO: "waits for I/O",
	jfr.InJVM: "is stopped by the JVM, or has no processor", jfr.UnknownWait: "waits in native code",
}

// Does says what a thread in this state does, such as "sleeps".
func (s State) Does() string { return cmp.Or(statesAsText[s.Wait], "waits") }

// IsRare reports whether a report leaves the state out.
func (s State) IsRare() bool { return s.Share.Part < leastShown }

// A period is a time in which a thread was in the method itself, not in a callee with a hook.
type period struct {
	thread   uint64
	from, to time.Time
}

// Evidence collects samples of threads that execute the methods of a path, and the slow calls to which they belong.
type Evidence struct {
	samples      []jfr.Sample
	slow, normal []*trace.Transaction
}

// Limits of Evidence.
const (
	mostSamples = 20_000
	mostKept    = 200 // calls of each kind
)

// AddSamples keeps samples of threads that execute one of some methods. each is the time for which a sample stands that
// does not say it.
func (e *Evidence) AddSamples(samples []jfr.Sample, each time.Duration, isOnPath func(class, name string) bool) {
	isOn := func(f jfr.Frame) bool { return f.IsJava() && isOnPath(f.Method.Class, f.Method.Name) }
	for _, s := range samples {
		if s.Stack != nil && slices.ContainsFunc(s.Stack.Frames, isOn) {
			s.Period = cmp.Or(s.Period, each)
			e.samples = append(e.samples, s)
		}
	}
	if more := len(e.samples) - mostSamples; more > 0 {
		e.samples = slices.Clone(e.samples[more:])
	}
}

// Add keeps a call, so that samples and pauses can be assigned to it.
func (e *Evidence) Add(tx *trace.Transaction, isSlow bool) {
	kept := &e.normal
	if isSlow {
		kept = &e.slow
	}
	if *kept = append(*kept, tx); len(*kept) > mostKept {
		*kept = slices.Clone((*kept)[1:])
	}
}

// Forget drops everything: hooks have changed.
func (e *Evidence) Forget() { *e = Evidence{} }

// Paused returns for how much longer slow calls were stopped by pauses than normal ones, on average.
func (e *Evidence) Paused(p Pauses) time.Duration {
	mean := func(calls []*trace.Transaction) (sum time.Duration) {
		for _, tx := range calls {
			sum += p.In(tx)
		}
		return sum / time.Duration(max(1, len(calls)))
	}
	return mean(e.slow) - mean(e.normal)
}

// inside yields the samples that were taken in the own time of the last method of a path, or in its whole time, with the Java
// frames inside the method, the innermost first. Those of hooks do not count.
func (e *Evidence) inside(c Choice, isWhole bool) iter.Seq2[jfr.Sample, []jfr.Frame] {
	last, own := c.Last(), e.periods(c, isWhole)
	return func(yield func(jfr.Sample, []jfr.Frame) bool) {
		for _, s := range e.samples {
			at := slices.IndexFunc(s.Stack.Frames, func(f jfr.Frame) bool { return f.IsJava() && isMethod(f.Method, last) })
			if at < 0 || !own.has(s) {
				continue
			}
			frames := slices.DeleteFunc(slices.Clone(s.Stack.Frames[:at]), func(f jfr.Frame) bool { return !f.IsJava() || universe.IsSondes(f.Method.Class) })
			if !yield(s, frames) {
				return
			}
		}
	}
}

const (
	// A method is on the way if it is on this part of the stacks, and on this number of them.
	leastOnWay   = 0.1
	leastSighted = 2
)

// OnTheWay returns the methods that samples of slow calls show below the last method of a path, in its own time or in its whole
// time, as far as they are not rare, callers before callees. Their callees can get hooks at once.
func (e *Evidence) OnTheWay(c Choice, isWhole bool) (methods []classfile.MethodRef) {
	seen, depths, n := make(map[classfile.MethodRef]int), make(map[classfile.MethodRef]int), 0
	for _, frames := range e.inside(c, isWhole) {
		n++
		met := make(map[classfile.MethodRef]bool)
		for i, f := range frames {
			m := f.Method.Ref()
			if !met[m] {
				met[m] = true
				seen[m]++
			}
			depths[m] = max(depths[m], len(frames)-i)
		}
	}
	for m, times := range seen {
		if times >= leastSighted && float64(times) >= leastOnWay*float64(n) {
			methods = append(methods, m)
		}
	}
	slices.SortFunc(methods, func(a, b classfile.MethodRef) int { return cmp.Or(cmp.Compare(depths[a], depths[b]), a.Compare(b)) })
	return methods
}

// States returns what threads did in the own time of the last method of a path, the most frequent first.
func (e *Evidence) States(c Choice) []State { return statesOf(e.inside(c, false)) }

// statesOf returns what threads did by samples with the Java frames inside a method, the innermost first.
func statesOf(inside iter.Seq2[jfr.Sample, []jfr.Frame]) []State {
	groups := make(map[jfr.Wait]*seen)
	all, n := 0.0, 0
	for s, frames := range inside {
		wait := s.Wait
		g := groups[wait]
		if g == nil {
			g = &seen{through: map[string]int{}, in: map[string]int{}}
			groups[wait] = g
		}
		weight := float64(max(s.Period, time.Microsecond))
		g.n++
		g.weight += weight
		all += weight
		n++
		if s.Lock != nil {
			g.locks = append(g.locks, s.Lock)
		}
		g.add(frames)
	}
	var states []State
	for wait, g := range groups {
		in := mostOften(g.in)
		states = append(states, State{
			Wait: wait, Samples: g.n, Share: cct.ShareOf(g.weight, all, float64(n)), Through: mostOften(g.through), In: in, InPart: float64(g.in[in]) / float64(g.n), lock: mostAwaited(g.locks),
		})
	}
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), strings.Compare(string(a.Wait), string(b.Wait)))
	})
	return states
}

// seen counts samples of one state.
type seen struct {
	n           int
	weight      float64
	through, in map[string]int
	locks       []*jfr.Lock
}

// add counts the frames inside the method, the innermost first.
func (g *seen) add(java []jfr.Frame) {
	if len(java) == 0 { // the method itself
		g.in[""]++
		g.through[""]++
		return
	}
	g.in[java[0].Method.Ref().QualifiedName()]++
	g.through[java[len(java)-1].Method.Ref().QualifiedName()]++
}

// mostOften returns the text with the highest count, the first of several.
func mostOften(counts map[string]int) (most string) {
	highest := 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > highest {
			most, highest = name, counts[name]
		}
	}
	return most
}

// isMethod reports whether a method on a stack is that of a node. Thread dumps have no descriptors.
func isMethod(m *jfr.Method, n *Node) bool {
	return m.Name == n.Method && m.Ref().ClassName() == n.Class && (m.Descriptor == "" || n.Descriptor == "" || m.Descriptor == n.Descriptor)
}

// periods are the periods of slow calls, by start: for each thread, and under 0 for all threads.
type periods map[uint64][]period

func (e *Evidence) periods(c Choice, isWhole bool) periods {
	own := make(periods)
	for _, tx := range e.slow {
		for _, p := range periodsOf(tx, c.Spots(), c.dissolved(), isWhole) {
			own[p.thread] = append(own[p.thread], p)
			if p.thread != 0 {
				own[0] = append(own[0], p)
			}
		}
	}
	for thread := range own {
		slices.SortFunc(own[thread], func(a, b period) int { return a.from.Compare(b.from) })
	}
	return own
}

// has reports whether a sample was taken in one of the periods. The ids of some threads are not known.
func (o periods) has(s jfr.Sample) bool {
	isIn := func(p period) bool { return !s.At.Before(p.from) && !s.At.After(p.to) }
	if s.Thread == nil || s.Thread.Virtual || s.Thread.JavaID == 0 {
		return slices.ContainsFunc(o[0], isIn)
	}
	ofThread := o[uint64(s.Thread.JavaID)]
	after, _ := slices.BinarySearchFunc(ofThread, s.At, func(p period, at time.Time) int {
		if p.from.After(at) {
			return 1
		}
		return -1
	})
	return after > 0 && isIn(ofThread[after-1])
}

// periodsOf returns when a transaction was in the last method of a path: in its whole time, or in the method itself and in
// dissolved methods that it called.
func periodsOf(tx *trace.Transaction, path []uint32, dissolved map[uint32]bool, isWhole bool) (found []period) {
	var walk func(c *trace.Call, rest []uint32)
	walk = func(c *trace.Call, rest []uint32) {
		if len(rest) == 0 {
			at := c.Start
			add := func(to time.Duration) {
				if to > at {
					found = append(found, period{c.Thread.ID, tx.Begin.Add(at), tx.Begin.Add(to)})
				}
			}
			for child := range callees(c, dissolved) {
				if isWhole {
					break
				}
				add(child.Start)
				at = max(at, child.Start+child.Measured)
			}
			add(c.Start + c.Measured)
			return
		}
		for child := range callees(c, dissolved) {
			if child.Spot == rest[0] {
				walk(child, rest[1:])
			}
		}
		for _, part := range tx.Parts {
			if part.Spot == rest[0] {
				walk(part, rest[1:])
			}
		}
	}
	walk(tx.Root, path[1:])
	return found
}

// callees yields what a call calls, and in place of a dissolved method what that calls.
func callees(c *trace.Call, dissolved map[uint32]bool) iter.Seq[*trace.Call] {
	return func(yield func(*trace.Call) bool) { yieldCallees(c, dissolved, yield) }
}

func yieldCallees(c *trace.Call, dissolved map[uint32]bool, yield func(*trace.Call) bool) bool {
	for _, child := range c.Children {
		isDissolved := dissolved[child.Spot] && !child.Handed
		if isDissolved && !yieldCallees(child, dissolved, yield) || !isDissolved && !yield(child) {
			return false
		}
	}
	return true
}

// A Pause is a time in which the JVM stopped all threads.
type Pause struct{ From, To time.Time }

// mostPauses bounds the pauses that are kept.
const mostPauses = 2000

// Pauses are the JVM's pauses since the search began.
type Pauses []Pause

// Add adds pauses that have ended between two moments, with their length in all. They count as one.
func (p *Pauses) Add(from, to time.Time, stopped time.Duration) {
	if stopped <= 0 {
		return
	}
	end := from.Add(to.Sub(from) / 2)
	if *p = append(*p, Pause{end.Add(-stopped), end}); len(*p) > mostPauses {
		*p = slices.Clone((*p)[1:])
	}
}

// In returns for how long a transaction was stopped.
func (p Pauses) In(tx *trace.Transaction) (stopped time.Duration) {
	for _, one := range p {
		from, to := max(0, one.From.Sub(tx.Begin)), min(tx.Root.Measured, one.To.Sub(tx.Begin))
		stopped += max(0, to-from)
	}
	return stopped
}

// Lock returns what most threads wait for, by all samples; nil if none shows it.
func (e *Evidence) Lock() *Lock {
	var locks []*jfr.Lock
	for _, s := range e.samples {
		if s.Lock != nil {
			locks = append(locks, s.Lock)
		}
	}
	return mostAwaited(locks)
}

// mostAwaited returns the most frequent lock, with its most frequent holder; nil if there is none.
func mostAwaited(locks []*jfr.Lock) *Lock {
	if len(locks) == 0 {
		return nil
	}
	classes, holders, places, stacks := map[string]int{}, map[string]int{}, map[string]int{}, map[string][]string{}
	for _, l := range locks {
		classes[l.Class]++
	}
	class := mostOften(classes)
	for _, l := range locks {
		if l.Class == class && l.Holder != nil {
			holders[l.Holder.Name]++
		}
	}
	most := &Lock{Class: descriptor.ExternalName(class), Holder: mostOften(holders)}
	most.Seen = cmp.Or(holders[most.Holder], classes[class])
	for _, l := range locks {
		if l.Class == class && l.Holder != nil && l.Holder.Name == most.Holder && l.Held != nil {
			in, methods := holding(l.Held.Frames)
			places[in]++
			stacks[in] = methods
		}
	}
	most.In = mostOften(places)
	most.Holding = stacks[most.In]
	return most
}

// mostHolding is how many methods of a holder are named.
const mostHolding = 5

// holding returns what a thread executes, by its stack: the innermost method that is not the JDK's, and the methods from
// what that calls on. If it executes only the JDK, they begin with the innermost one.
func holding(frames []jfr.Frame) (in string, methods []string) {
	frames = slices.DeleteFunc(slices.Clone(frames), func(f jfr.Frame) bool { return !f.IsJava() })
	first := max(0, slices.IndexFunc(frames, func(f jfr.Frame) bool { return !callgraph.HasPrefix(f.Method.Class, ofJDK) }))
	for i, f := range frames {
		name := f.Method.Ref().QualifiedName()
		if i == first {
			in = name
		}
		if i >= first-1 && len(methods) < mostHolding {
			methods = append(methods, name)
		}
	}
	return in, methods
}

// ofJDK are prefixes of the names of the JDK's classes.
var ofJDK = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// A Target is what a method reads from or writes to.
type Target struct {
	Name string `json:"name"` // the address of the other side of a connection, or a file
	Seen int    `json:"seen"` // how often it was
}

// Targets are what threads read from or wrote to at some moments.
type Targets struct{ seen map[int64][]sighting }

type sighting struct {
	at   time.Time
	name string
}

// mostSightings bounds what is kept of a thread.
const mostSightings = 10_000

// Add adds what a thread, by its number in the system, reads from or writes to at a moment.
func (t *Targets) Add(thread int64, at time.Time, name string) {
	if t.seen == nil {
		t.seen = make(map[int64][]sighting)
	}
	if name != "" && len(t.seen[thread]) < mostSightings {
		t.seen[thread] = append(t.seen[thread], sighting{at, name})
	}
}

// Most returns the most frequent target of threads that waited for I/O in a method, by samples that are not farther from the
// moment than a time; nil if there is none.
func (t *Targets) Most(samples []jfr.Sample, isIn func(class, name string) bool, farthest time.Duration) (most *Target) {
	isOn := func(f jfr.Frame) bool { return f.IsJava() && isIn(f.Method.Class, f.Method.Name) }
	counts := make(map[string]int)
	for _, s := range samples {
		if s.Thread == nil || s.Stack == nil || s.Wait != jfr.IO || !slices.ContainsFunc(s.Stack.Frames, isOn) {
			continue
		}
		for _, one := range t.seen[s.Thread.OSID] {
			if one.at.Sub(s.At).Abs() <= farthest {
				counts[one.name]++
				break
			}
		}
	}
	if name := mostOften(counts); name != "" {
		return &Target{name, counts[name]}
	}
	return nil
}

// InIO returns the threads, by their numbers in the system, that waited for I/O according to samples.
func (e *Evidence) InIO() (threads []int64) {
	for _, s := range e.samples {
		if s.Thread != nil && s.Thread.OSID != 0 && s.Wait == jfr.IO && !slices.Contains(threads, s.Thread.OSID) {
			threads = append(threads, s.Thread.OSID)
		}
	}
	return threads
}

// Samples returns the samples.
func (e *Evidence) Samples() []jfr.Sample { return e.samples }

// IsOn returns a function that reports whether a method is one of some. Descriptors do not matter.
func IsOn(methods []classfile.MethodRef) func(class, name string) bool {
	is := make(map[[2]string]bool, len(methods))
	for _, m := range methods {
		is[[2]string{m.Class, m.Name}] = true
	}
	return func(class, name string) bool { return is[[2]string{class, name}] }
}
