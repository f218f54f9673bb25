package profile_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

// A behaviour is one kind of call, in a program that counts.
type behaviour struct {
	name    string
	roots   []string // patterns; Main.root where none are given
	threads int      // on which it runs at once; 1 where none are given
	since   int      // the first JDK that has it
}

// behaviours are all but the wide hierarchy. None has run when its profile
// begins, so each loads classes inside its root.
var behaviours = []behaviour{
	{name: "kinds", threads: 3},   // static, special, virtual, interface; default methods, bridges, synchronized
	{name: "late"},                // overriding classes that load inside the root
	{name: "lambdas", threads: 2}, // lambdas and references, made inside the root and before
	{name: "callbacks"},           // what only the JDK calls: streams, comparators, keys of maps
	{name: "reflection"},          // Method.invoke and Constructor.newInstance, made inside the root and before
	{name: "handles"},             // method handles, made inside the root and before
	{name: "natives"},             // methods without a body, at their call sites
	{name: "constructors"},        // chains of super and this, exceptions behind super and through it
	{name: "initialisers"},        // static initialisers that first run inside the root
	{name: "recursion"},           // direct, mutual, deep, ended by exceptions
	{name: "exceptions"},          // through frames with hooks and without
	{name: "shapes"},              // inner, local, anonymous, enum, record; switches on strings and enums
	{name: "outside", threads: 2}, // the same methods on other threads, outside the root
	{name: "reroot", threads: 2},  // a root below itself
	{name: "roots", roots: []string{"roots.Main.firstRoot", "roots.Main.secondRoot"}},
	{name: "loaders"},             // one class, loaded by several loaders
	{name: "patterns", since: 25}, // switches on types and records
	{name: "virtuals", since: 25}, // virtual threads that change their carrier inside the root
}

const rounds = 5

// bySchemes runs a test on each JDK with each scheme, all at once.
func bySchemes(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, scheme profile.Scheme)) {
	t.Helper()
	for _, jdk := range jvmtest.JDKs(t) {
		for _, scheme := range []profile.Scheme{profile.Lazy, profile.Eager} {
			t.Run(fmt.Sprintf("jdk%d %s", jdk.Major, scheme), func(t *testing.T) {
				t.Parallel()
				test(t, jdk, scheme)
			})
		}
	}
}

// TestCountsAreExact: in each calling context below the root a profile has as
// many calls and exceptions as the program itself counted.
func TestCountsAreExact(t *testing.T) {
	bySchemes(t, func(t *testing.T, jdk jvmtest.JDK, scheme profile.Scheme) {
		var names []string
		some := slices.DeleteFunc(slices.Clone(behaviours), func(b behaviour) bool { return b.since > jdk.Major })
		for _, b := range some {
			names = append(names, b.name)
		}
		p := start(t, jdk, doorFor(t, jdk, scheme), names...)
		for _, b := range some {
			t.Run(b.name, func(t *testing.T) {
				b.profile(t, &program{p.Running, t}, scheme)
			})
		}
	})
}

func (b behaviour) profile(t *testing.T, p *program, scheme profile.Scheme) {
	options := profile.Options{Roots: b.roots, Scheme: scheme, Timing: cct.Exact, Whole: true}
	if options.Roots == nil {
		options.Roots = []string{b.name + ".Main.root"}
	}
	p.forget()
	result := p.profiled(options, func() { p.turn(b.name, rounds, max(b.threads, 1)) })
	truth := p.contexts()
	known := truth.methods()
	merged := contextsOf(result, result.Merged, known)
	for _, line := range truth.diff(merged) {
		t.Error(line)
	}
	byThread := make(contexts)
	for _, thread := range result.Threads {
		byThread.add(contextsOf(result, thread.Top, known))
	}
	if !maps.Equal(merged, byThread) {
		t.Errorf("over all threads there are %v, merged %v", byThread, merged)
	}
	sound(t, result)
	if t.Failed() {
		t.Logf("left alone: %v\nnotes: %q\nstderr: %s", result.LeftAlone, result.Notes, p.Stderr())
	}
}
