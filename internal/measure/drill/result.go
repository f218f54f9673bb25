package drill

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A Result is what a search has found.
type Result struct {
	Target    cct.Target    `json:"target"`
	Command   string        `json:"command"`
	Methods   []string      `json:"methods"` // patterns
	Goal      time.Duration `json:"goalNanos"`
	Began     time.Time     `json:"began"`
	Took      time.Duration `json:"tookNanos"`
	Ended     string        `json:"ended"` // cause, healthy, duration, budget, interrupted, undone, exited, lost
	Slow      Calls         `json:"slow"`
	Normal    Calls         `json:"normal"`
	Path      []Level       `json:"path"` // from the method to the cause
	Cause     *Cause        `json:"cause,omitempty"`
	When      *Rule         `json:"slowWhen,omitempty"`
	Values    []string      `json:"values"` // that were compared
	Steps     []Step        `json:"steps"`
	SampledBy string        `json:"sampledBy,omitempty"`
	Unhooked  *Unhooked     `json:"withoutHooks,omitempty"`  // set if there were no hooks
	Recorded  *RecordedBy   `json:"methodTracing,omitempty"` // set if the JVM's flight recorder has traced calls, in place of hooks
	Period    uint32        `json:"period,omitempty"`        // of how many calls one was traced
	// Frequent has methods that have no hooks because they have too many calls: how many in each call of the first method, on average.
	Frequent    map[string]float64 `json:"-"`
	HookShare   float64            `json:"hookShare,omitempty"` // largest part of the program's processor time that hooks took, estimated
	Budget      float64            `json:"budget,omitempty"`    // likewise, the part that they may take
	Removed     bool               `json:"removed"`             // all hooks are
	Disturbed   string             `json:"disturbed,omitempty"`
	Disturbance *cost.Disturbance  `json:"disturbance,omitempty"`
	Notes       []string           `json:"notes,omitempty"`
}

// Unhooked describes a search by samples alone: where the time below the method goes. Slow and normal calls
// are not distinguished.
type Unhooked struct {
	Why     string  `json:"why"`     // there are no hooks
	Samples int     `json:"samples"` // with the method on the stack
	Threads float64 `json:"threads"` // average number of threads that executed it
}

// RecordedBy describes a search by calls that the JVM's flight recorder has traced. What that cost the program is not measured.
type RecordedBy struct {
	Why       string        `json:"why"`            // there are no hooks
	Threshold time.Duration `json:"thresholdNanos"` // shorter calls are only counted
	Rate      float64       `json:"callsPerSecond"` // of all traced methods, at most
}

// String says how calls were measured.
func (r *RecordedBy) String() string {
	return fmt.Sprintf("measured by the JVM's flight recorder (method tracing, no agent), because %s; figures of callees do not include calls shorter than %s", r.Why, format.Duration(r.Threshold))
}

// Cost says what is known about the cost.
func (r *RecordedBy) Cost() string {
	return fmt.Sprintf("the cost of tracing is not measured; the traced methods had at most %s in a second", format.Count(int(r.Rate), "call", "calls"))
}

// Average says how many threads executed the method on average.
func (u *Unhooked) Average() string { return decimalText(u.Threads, 2) + " threads" }

// Calls sums up calls of the method.
type Calls struct {
	Calls   int           `json:"calls"`
	Mean    time.Duration `json:"meanNanos"`
	Longest time.Duration `json:"longestNanos"`
	total   time.Duration
}

// Add adds a call.
func (c *Calls) Add(took time.Duration) {
	c.Calls++
	c.total += took
	c.Mean = c.total / time.Duration(c.Calls)
	c.Longest = max(c.Longest, took)
}

// AddShort adds calls that were not traced.
func (c *Calls) AddShort(s Short) {
	c.Calls += s.Calls
	c.total += time.Duration(s.Calls) * s.Mean
	c.Mean = c.total / time.Duration(max(1, c.Calls))
	c.Longest = max(c.Longest, s.Mean)
}

// A Level is a method of the path.
type Level struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor,omitempty"`
	Handed     bool   `json:"handed,omitempty"` // it ran as a task on another thread
	Contrast
	SlowCalls   float64   `json:"callsPerSlow"`   // calls of it in a slow call of the root
	NormalCalls float64   `json:"callsPerNormal"` // likewise in a normal one
	Own         Contrast  `json:"own"`            // without its hooked callees
	Others      []Sibling `json:"others,omitempty"`
	Samples     int       `json:"samples,omitempty"` // with it on the stack, if there are no hooks
}

// Name returns class and method.
func (l *Level) Name() string { return l.Class + "." + l.Method }

// leastShown is the part of the excess from which on a report names a callee that is not on the path.
const leastShown = 0.03

// Beside returns the callees not on the path that a report names.
func (l *Level) Beside() (shown []Sibling) {
	for _, s := range l.Others {
		if s.Share.Part >= leastShown {
			shown = append(shown, s)
		}
	}
	return shown
}

// HasCallees reports whether callees have so much of the excess that a report names the own time besides.
func (l *Level) HasCallees() bool { return l.Own.Share.Part < l.Share.Part-leastShown }

// Calls says how often the method is called in a slow and in a normal call of the root.
func (l *Level) Calls() string {
	slow, normal := timesText(l.SlowCalls), timesText(l.NormalCalls)
	if slow == normal {
		return slow
	}
	return slow + " / " + normal
}

// A Sibling is a callee of a method of the path that is not on the path.
type Sibling struct {
	Class  string `json:"class"`
	Method string `json:"method"`
	Contrast
}

// A Step is what was hooked, and when.
type Step struct {
	At      time.Duration `json:"atNanos"` // since the search began
	Text    string        `json:"text"`
	Methods int           `json:"methods"` // with hooks that were on from then on
	Woven   int           `json:"woven"`   // new hooks
	Settled time.Duration `json:"settledNanos,omitempty"`
}

// A Cause is why the last method of the path takes longer in slow calls.
type Cause struct {
	Kind   Kind    `json:"kind"`
	Class  string  `json:"class"`
	Method string  `json:"method"`
	States []State `json:"states,omitempty"` // of threads during its own time in slow calls, by samples
	Lock   *Lock   `json:"lock,omitempty"`
	Target *Target `json:"target,omitempty"` // of I/O
	Share  float64 `json:"share"`            // of the excess
	Text   string  `json:"text"`
}

// A Lock is what a thread waits for.
type Lock struct {
	Class   string   `json:"class"`             // of the object; "" if it is not known
	Holder  string   `json:"holder,omitempty"`  // thread that has it
	In      string   `json:"in,omitempty"`      // innermost method that it executes, without the JDK's
	Holding []string `json:"holding,omitempty"` // what it executes, from the call in that method on
	Seen    int      `json:"seen"`              // in how many samples of threads that wait
}

// A Kind is the kind of a cause.
type Kind string

// The kinds.
const (
	Computes  Kind = "computes" // the method runs
	Locked    Kind = "lock"     // it waits for a lock
	Sleeps    Kind = "sleep"
	Parks     Kind = "park"   // it waits in java.util.concurrent, for something without a holder that is known
	Notified  Kind = "notify" // it waits in Object.wait
	DoesIO    Kind = "I/O"
	Stopped   Kind = "pauses"   // the JVM stopped all threads
	Unsampled Kind = "own time" // no sample says what it does
	Divided   Kind = "spread"   // several callees
	NotSought Kind = "unknown"  // the search ended before
	Moved     Kind = "changed"  // the excess came from elsewhere meanwhile
)

var kindOf = map[jfr.Wait]Kind{
	jfr.Running: Computes, jfr.Monitor: Locked, jfr.Sleeping: Sleeps, jfr.Parked: Parks, jfr.Notification: Notified, jfr.IO: DoesIO,
	jfr.InJVM: Stopped, jfr.UnknownWait: DoesIO,
}

// Explain returns the cause at the end of a path. paused is the mean time by which slow calls were stopped longer
// than normal ones.
func (t *Tree) Explain(choice Choice, states []State, paused time.Duration) *Cause {
	n := choice.Last()
	c := &Cause{Class: n.Class, Method: n.Method, States: states, Share: t.Self(n).Share.Part}
	switch {
	case float64(paused) >= mostOfIt*t.excess():
		c.Kind, c.Share = Stopped, float64(paused)/t.excess()
	case choice.Stop == Spread:
		c.Kind, c.Share = Divided, t.Time(n).Share.Part
	case choice.Stop == Changed:
		c.Kind, c.Share = Moved, t.Time(n).Share.Part
	case choice.Stop != OwnTime:
		c.Kind, c.Share = NotSought, t.Time(n).Share.Part
	case len(states) == 0:
		c.Kind = Unsampled
	default:
		c.Kind = cmp.Or(kindOf[states[0].Wait], Unsampled)
		if c.Kind == Stopped && float64(paused) < leastPart*t.excess() {
			c.Kind = Computes // the JVM did not stop the threads: they had no processor
		}
		if c.IsWait() {
			c.Lock = states[0].lock
		}
		if c.Kind == Parks && c.Lock != nil && c.Lock.Holder != "" {
			c.Kind = Locked // of java.util.concurrent; what else it may wait for there has no holder
		}
	}
	c.Describe()
	return c
}

// NotFound returns the cause of a search that has ended before the callees of a method were compared.
func NotFound(last Level) *Cause {
	c := &Cause{Kind: NotSought, Class: last.Class, Method: last.Method, Share: last.Share.Part}
	c.Describe()
	return c
}

// IsFound reports whether the search has come to an end: it is known which method it is.
func (c *Cause) IsFound() bool { return c.Kind != Divided && c.Kind != NotSought && c.Kind != Moved }

// IsWait reports whether the method waits for another thread.
func (c *Cause) IsWait() bool { return c.Kind == Locked || c.AwaitsTask() }

// AwaitsTask reports whether the method may wait for the end of a task.
func (c *Cause) AwaitsTask() bool { return c.Kind == Parks || c.Kind == Notified }

// Describe writes the text.
func (c *Cause) Describe() {
	name := c.Class + "." + c.Method
	switch c.Kind {
	case Stopped:
		c.Text = fmt.Sprintf("the JVM stops threads, most likely to collect garbage, during %s", name)
	case Divided:
		c.Text = fmt.Sprintf("several callees of %s take longer, and none accounts for most of the excess", name)
	case Moved:
		c.Text = fmt.Sprintf("%s no longer accounted for the excess when its callees had hooks", name)
	case NotSought:
		c.Text = fmt.Sprintf("the cause is in %s or in its callees; the search ended too early to find it", name)
	case Unsampled:
		c.Text = fmt.Sprintf("own time of %s; no sample shows what it does", name)
	case Computes:
		often := ", most often in "
		if s := c.state(); s != nil && s.InPart >= mostOfIt {
			often = ", most of it in "
		}
		c.Text = "own time of " + name + c.place(often)
	case Locked:
		c.Text = name + " waits for a lock" + c.place(" in ") + c.lock()
	case Sleeps:
		c.Text = name + " sleeps" + c.place(" in ")
	case Parks:
		c.Text = name + " waits" + c.place(" in ") + c.lock()
	case Notified:
		c.Text = name + " waits in Object.wait" + c.place(" in ") + c.lock()
	case DoesIO:
		c.Text = name + " waits for I/O" + c.place(" in ")
		if c.Target != nil {
			c.Text += ": " + c.Target.Name
		}
	}
}

// state returns the state that is the cause; nil if there is none.
func (c *Cause) state() *State {
	for i := range c.States {
		if s := &c.States[i]; i == 0 && c.Kind != Computes || s.Wait == jfr.Running {
			return s
		}
	}
	if len(c.States) == 0 {
		return nil
	}
	return &c.States[0]
}

// place names what the method calls for that, and the innermost method.
func (c *Cause) place(before string) string {
	s := c.state()
	switch {
	case s == nil:
		return ""
	case s.Through == "" || c.Kind == Notified && s.Through == s.In:
		return ""
	case s.In == s.Through || s.Wait == jfr.Parked || c.Kind == Sleeps:
		return before + s.Through
	}
	return before + s.In + ", called through " + s.Through
}

func (c *Cause) lock() string {
	l := c.Lock
	if l == nil {
		return ""
	}
	text := ": " + cmp.Or(l.Class, "an object")
	if l.Holder != "" {
		text += fmt.Sprintf(", held by thread %q", l.Holder)
		if l.In != "" {
			text += " in " + l.In
		}
	}
	return text
}

// fewMethods is how many methods a summary names.
const fewMethods = 3

// Summary returns the result in a few sentences.
func (r *Result) Summary() []string {
	lines := r.findings()
	if r.Recorded != nil {
		lines = append(lines, r.Recorded.String())
	}
	return lines
}

func (r *Result) findings() (lines []string) {
	method, goal := strings.Join(r.Methods, ", "), format.Duration(r.Goal)
	if len(r.Methods) > fewMethods {
		method = strings.Join(r.Methods[:fewMethods], ", ") + " and " + format.Count(len(r.Methods)-fewMethods, "other method", "other methods")
	}
	if len(r.Path) > 0 {
		method = r.Path[0].Name()
	}
	calls := r.Slow.Calls + r.Normal.Calls
	took := format.Duration(r.Took.Round(time.Second / 10))
	if r.Unhooked != nil {
		return r.sampledSummary(method, took)
	}
	switch {
	case calls == 0:
		return []string{fmt.Sprintf("%s was not called in %s", method, took)}
	case r.Slow.Calls == 0:
		return []string{fmt.Sprintf("healthy: no call of %s took longer than %s in %s; the slowest of %s took %s, the mean is %s", method, goal, took,
			format.Count(calls, "call", "calls"), format.Duration(r.Normal.Longest), format.Duration(r.Normal.Mean))}
	}
	text := fmt.Sprintf("%s of %s of %s took longer than %s: %s on average", format.Grouped(r.Slow.Calls), format.Count(calls, "call", "calls"), method, goal, format.Duration(r.Slow.Mean))
	if r.Normal.Calls > 0 {
		text += ", the others " + format.Duration(r.Normal.Mean)
	}
	lines = append(lines, text)
	if r.Cause != nil {
		lines = append(lines, fmt.Sprintf("cause: %s (%s of the excess)", r.Cause.Text, format.Percent(max(0, r.Cause.Share))))
	}
	if l := r.fork(); l != nil {
		lines = append(lines, fmt.Sprintf("%s accounts for %s of the excess; no method below it accounts for most of this", l.Name(), format.Percent(l.Share.Part)))
	}
	if caller, callee := r.repeated(); callee != nil {
		text := fmt.Sprintf("%s calls %s %s times in a slow call, %s times in a normal one", caller.Name(), callee.Name(), timesText(callee.SlowCalls), timesText(callee.NormalCalls))
		if r.Recorded != nil {
			text += ", for " + format.Duration(r.Recorded.Threshold) + " or longer"
		}
		lines = append(lines, text)
	} else if text := r.uncounted(); text != "" {
		lines = append(lines, text)
	}
	if r.When != nil {
		lines = append(lines, r.When.String())
	}
	return lines
}

// uncounted says how often the last method calls the method that takes its time, if that has no hook because it is called too often;
// "" otherwise.
func (r *Result) uncounted() string {
	if r.Cause == nil || r.Cause.Kind != Computes || len(r.Path) == 0 {
		return ""
	}
	s := r.Cause.state()
	if s == nil || r.Frequent[s.Through] == 0 {
		return ""
	}
	return fmt.Sprintf("%s.%s calls %s about %.0f times for each call of %s, too often for a hook within the budget",
		r.Cause.Class, r.Cause.Method, s.Through, r.Frequent[s.Through], r.Path[0].Name())
}

// sampledSummary returns the result of a search without hooks.
func (r *Result) sampledSummary(method, took string) []string {
	lines := []string{
		fmt.Sprintf("without hooks: samples show where the time below %s goes; slow calls are not distinguished from normal calls", method),
		"the JVM got no hooks: " + r.Unhooked.Why,
	}
	if r.Cause == nil {
		return append(lines, fmt.Sprintf("no sample shows %s in %s", method, took))
	}
	lines = append(lines,
		fmt.Sprintf("%s in %s: on average %s executed %s", format.Count(r.Unhooked.Samples, "sample", "samples"), took, r.Unhooked.Average(), method),
		fmt.Sprintf("where it goes: %s (%s of the time below %s)", r.Cause.Text, format.Percent(r.Cause.Share), method))
	if l := r.fork(); l != nil {
		lines = append(lines, fmt.Sprintf("%s has %s of the time; no method below it accounts for most of this", l.Name(), format.Percent(l.Share.Part)))
	}
	return lines
}

// fork returns the last method of the path that has most of the excess, if the cause has not; nil if there is none.
func (r *Result) fork() (last *Level) {
	if r.Cause == nil || r.Cause.Share >= mostOfIt {
		return nil
	}
	for i := range r.Path {
		if i > 0 && r.Path[i].Share.Part >= mostOfIt {
			last = &r.Path[i]
		}
	}
	return last
}

// manyTimes is how often a method must be called by its caller, and moreOften how many times as often as in normal calls, so
// that it is the number of calls that makes slow calls slow.
const (
	manyTimes = 5
	moreOften = 3
)

// repeated returns the first method of the path that slow calls call much more often than normal ones; nil if none is.
func (r *Result) repeated() (caller, callee *Level) {
	for i := 1; i < len(r.Path); i++ {
		caller, callee = &r.Path[i-1], &r.Path[i]
		if callee.SlowCalls >= manyTimes*caller.SlowCalls && callee.SlowCalls >= moreOften*callee.NormalCalls {
			return caller, callee
		}
	}
	return nil, nil
}

func timesText(calls float64) string { return decimalText(calls, 1) }

// decimalText writes a number with a few decimals at most.
func decimalText(n float64, decimals int) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.*f", decimals, n), "0"), ".")
}

// Doubts says how sure the result is, as sentences; none if there is nothing to say.
func (r *Result) Doubts() (lines []string) {
	if r.Cause == nil {
		return nil
	}
	if u := r.Unhooked; u != nil {
		if u.Samples < enoughStacks {
			lines = append(lines, fmt.Sprintf("only %s: the shares are rough", format.Count(u.Samples, "sample", "samples")))
		}
		return lines
	}
	if r.Slow.Calls < enoughCalls {
		lines = append(lines, fmt.Sprintf("only %s: the shares are rough", format.Count(r.Slow.Calls, "call was slow", "calls were slow")))
	}
	if r.Normal.Calls == 0 {
		lines = append(lines, "no call was normal: the shares are of the whole time of slow calls, not of an excess")
	}
	if n := len(r.Path); n > 0 && r.Path[n-1].Own.Share.Low < leastPart && r.Cause.Kind != Divided && r.Cause.Kind != Stopped && r.Cause.Kind != NotSought {
		lines = append(lines, "slow calls differ much: the last share may be by chance")
	}
	if s := r.Cause.States; r.Cause.Kind == Computes && len(s) > 0 && s[0].Wait == jfr.InJVM {
		lines = append(lines, fmt.Sprintf("threads waited for a processor for %s of that time: the machine is busy", format.Percent(s[0].Share.Part)))
	}
	if len(r.Cause.States) > 1 && r.Cause.States[0].Share.Low < mostOfIt {
		lines = append(lines, "the samples do not agree on what the method does in slow calls")
	}
	return lines
}
