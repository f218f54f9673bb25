package profile_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

// partRounds is how many calls of the root are profiled.
const partRounds = 120

// TestParts profiles a program that computes, sleeps, waits for a lock and has the JDK work, with a hook
// in its root alone and without any. The parts must have the times that the program says.
func TestParts(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/parts/Parts.java"}})
		for j, timing := range []cct.Timing{cct.Exact, cct.Stacks} {
			if !jvmtest.Turn(t, jdk, j, 2) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d %s", jdk.Major, timing), func(t *testing.T) {
				t.Parallel()
				// Without all positions, compiled code that reads the clock counts for the next inlined method.
				p := &partsProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{
					Args: []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-cp", classes, "Parts"}})}
				p.after(20) // so that its code is compiled
				ctx, cancel := context.WithTimeout(t.Context(), jvmtest.RunLimit)
				started, ended := make(chan struct{}), make(chan struct{})
				defer func() { cancel(); <-ended }()
				var result *cct.Profile
				var err error
				go func() {
					defer close(ended)
					result, err = profile.Run(ctx, profile.Options{
						PID: p.PID, Roots: []string{"Parts.serve"}, Skip: []string{"Parts.*"}, Timing: timing, Stacks: true, Whole: true,
						Started: func() { close(started) },
					})
				}()
				select {
				case <-started:
				case <-ended:
					t.Fatal(err)
				}
				before := p.times()
				after := p.after(before.rounds + partRounds)
				cancel()
				<-ended
				if err != nil {
					t.Fatal(err)
				}
				p.compare(result, before, after)
			})
		}
	}
}

type partsProgram struct {
	t *testing.T
	*jvmtest.Running
}

// partTimes are the rounds of the program, and the nanoseconds that its parts took.
type partTimes struct {
	rounds                      int
	compute, nap, guarded, pack float64
}

func (p *partsProgram) times() (times partTimes) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, "times"); err != nil {
		p.t.Fatal(err)
	}
	line := p.Await(p.t, "")
	if _, err := fmt.Sscan(line, &times.rounds, &times.compute, &times.nap, &times.guarded, &times.pack); err != nil {
		p.t.Fatalf("the program said %q: %v", line, err)
	}
	return times
}

// after waits until the program has done so many rounds.
func (p *partsProgram) after(rounds int) (times partTimes) {
	for times.rounds < rounds {
		times = p.times()
	}
	return times
}

// compare compares the shares of the parts with those that the program measured. Intervals have a confidence of 95 %, so
// that a part may be twice as far from its share.
func (p *partsProgram) compare(result *cct.Profile, before, after partTimes) {
	t := p.t
	t.Helper()
	if len(result.Merged.Children) != 1 {
		t.Fatalf("%d roots, want one", len(result.Merged.Children))
	}
	root := result.Merged.Children[0]
	nodes := map[string]*cct.Node{}
	for _, c := range root.Children {
		nodes[result.Methods[c.Method].Name] = c
	}
	whole := after.compute - before.compute + after.nap - before.nap + after.guarded - before.guarded + after.pack - before.pack
	for _, part := range []struct {
		name string
		took float64
		wait string
	}{
		{"", after.compute - before.compute, ""},
		{"nap", after.nap - before.nap, "sleep"},
		{"guarded", after.guarded - before.guarded, "monitor"},
		{"pack", after.pack - before.pack, ""},
	} {
		// The root computes, and reads the clock.
		time, waits := root.Self, []cct.Wait(nil)
		for name, n := range nodes {
			if name != "nap" && name != "guarded" && name != "pack" {
				time = time.Plus(n.Total)
			}
		}
		if part.name != "" {
			n := nodes[part.name]
			if n == nil {
				t.Errorf("%s was not seen", part.name)
				continue
			}
			if !n.Sampled || n.Calls != 0 {
				t.Errorf("%s: sampled %t, %d calls; want it to be known from stacks alone", part.name, n.Sampled, n.Calls)
			}
			time, waits = n.Total, n.Waits
		}
		is, want := time.Nanos/root.Total.Nanos, part.took/whole
		if off := 2 * time.Uncertainty() / root.Total.Nanos; math.Abs(is-want) > off {
			t.Errorf("%q has %.1f %% of the time, the program says %.1f %%, and ± is %.1f %%", part.name, 100*is, 100*want, 50*off)
		}
		if part.wait != "" && (len(waits) == 0 || waits[0].For != part.wait || waits[0].Time.High < 0.5*time.Nanos) { // few samples on a busy machine
			t.Errorf("%s waits %v of %v, want mostly for %s", part.name, waits, time, part.wait)
		}
	}
	if timed := result.Timing == cct.Exact; timed != (root.Calls >= partRounds) {
		t.Errorf("%d calls of the root with timing %s", root.Calls, result.Timing)
	}
}
