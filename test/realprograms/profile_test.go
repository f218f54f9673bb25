package realprograms

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
)

// profiledRounds is more than one: the first has the waits for hooks, the next has
// none.
const profiledRounds = 2

// mostWait is long: machines that test are busy, and a call that goes on before
// its callees have hooks is not counted to the last.
const mostWait = 10 * time.Second

// TestH2IsProfiledFromAboveToTheLastCall profiles a database from the method that
// does all its work, with every call timed. The profile must have as many calls
// as the database's client made, own times must add up to the whole, and the
// database must answer as before, meanwhile and afterwards.
func TestH2IsProfiledFromAboveToTheLastCall(t *testing.T) {
	onAll(t, func(t *testing.T, jdk jvmtest.JDK) {
		scheme := profile.Lazy
		if jdk.Major >= 25 {
			scheme = profile.Eager // each scheme on one JDK: rounds of hooks take seconds
		}
		p := start(t, jdk, jdk, h2)
		said, countedBefore := p.round(), p.counts()
		result := p.profiled(profile.Options{
			Whole: true,
			Roots: []string{"H2Work.round"}, Skip: []string{"RealProgram.**"}, Scheme: scheme, Timing: cct.Exact,
			Wait: mostWait,
		}, func() {
			for range profiledRounds {
				p.same("while it is profiled", p.round(), said)
			}
		})
		counted := p.counts()
		for name := range counted {
			counted[name] -= countedBefore[name]
		}
		counted["H2Work.round()Ljava/lang/String;"] = profiledRounds
		compareCounts(t, result, counted)
		addsUp(t, "all threads", result.Merged)
		for _, thread := range result.Threads {
			addsUp(t, thread.Name, thread.Top)
		}
		p.empty()
		p.same("after it was profiled", p.round(), said)
		p.quiet()
		t.Logf("%d contexts; hooks in %d of %d methods, in %d rounds; threads waited %v; notes: %q",
			contexts(result.Merged), result.Cost.Hooks, result.Cost.Closure, result.Cost.Rounds, result.Cost.Waited, result.Notes)
	})
}

// profiled profiles a program from when hooks are on until some work is done.
func (p *program) profiled(options profile.Options, work func()) *cct.Profile {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), jvmtest.RunLimit/5)
	started, ended := make(chan struct{}), make(chan struct{})
	defer func() { cancel(); <-ended }() // however this ends, the hooks are out
	options.PID, options.Command = p.PID, "test"
	options.Started = func() { close(started) }
	var result *cct.Profile
	var err error
	go func() {
		defer close(ended)
		result, err = profile.Run(ctx, options)
	}()
	select {
	case <-started:
		work()
		cancel()
		<-ended
	case <-ended:
	}
	if err != nil {
		p.t.Fatalf("profiling: %v\nstderr: %s", err, p.Stderr())
	}
	return result
}

// compareCounts compares calls and exceptions with what the program counted. A
// node may lack calls only if it, or its caller, says so.
func compareCounts(t *testing.T, result *cct.Profile, counted map[string]int64) {
	t.Helper()
	found, lacking := make(map[string]int64), make(map[string]bool)
	var walk func(node *cct.Node, mayLack bool)
	walk = func(node *cct.Node, mayLack bool) {
		if node.Method >= 0 {
			m := result.Methods[node.Method]
			name := m.Class + "." + m.Name + m.Descriptor
			found[name] += int64(node.Calls)
			found["threw "+name] += int64(node.Threw)
			mayLack = mayLack || node.Late || node.Missed > 0
			if mayLack {
				lacking[name], lacking["threw "+name] = true, true
			}
		}
		for _, child := range node.Children {
			walk(child, mayLack)
		}
	}
	walk(result.Merged, false)
	for name, want := range counted {
		if got := found[name]; got != want && (got > want || !lacking[name]) {
			t.Errorf("%s: the profile has %d, the program %d", name, got, want)
		}
	}
	t.Logf("marked as lacking calls: %d methods of %d", len(lacking)/2, len(found)/2)
}

// addsUp expects that the own times of a tree are its total.
func addsUp(t *testing.T, name string, top *cct.Node) {
	t.Helper()
	sum := 0.0
	var walk func(node *cct.Node)
	walk = func(node *cct.Node) {
		sum += node.Self.Nanos
		for _, child := range node.Children {
			walk(child)
		}
	}
	walk(top)
	if total := top.Total.Nanos; total <= 0 || math.Abs(sum-total) > 1e-9*total {
		t.Errorf("%s: own times add up to %f ns, not to %f ns", name, sum, total)
	}
}

func contexts(node *cct.Node) int {
	sum := 1
	for _, child := range node.Children {
		sum += contexts(child)
	}
	return sum
}

// empty expects that nothing of Sonde's is inside the program.
func (p *program) empty() {
	p.t.Helper()
	jvm, err := process.Local.Inspect(p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	occupants, unreachable, err := session.Occupants(p.t.Context(), jvm, false)
	if err != nil || len(unreachable) > 0 || len(occupants) > 0 {
		p.t.Errorf("inside are still: %v, %v, %v", occupants, unreachable, err)
	}
}
