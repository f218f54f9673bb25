package profile_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

// handedRounds is how many calls of the root are profiled.
const handedRounds = 60

// handedWays are the methods that run on other threads, in the order of their times, and the method that hands them over.
var handedWays = []struct{ name, from string }{
	{"pooled", "serve"}, {"executed", "serve"}, {"forked", "serve"}, {"supplied", "serve"}, {"applied", "serve"}, {"started", "serve"},
	{"relayed", "serve"}, {"last", "relayed"}, {"virtual", "serve"},
}

// TestHandedWork profiles a program that hands work over in all ways. Each piece must be below the call that handed it over,
// with the calls that the program makes and the time that it says; other work of the same threads must not.
func TestHandedWork(t *testing.T) {
	for _, jdk := range jvmtest.NewestJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/handed/Handed.java"}})
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classes, "Handed"}})
			work := func(rounds int) (times []float64) {
				if _, err := fmt.Fprintln(p.Stdin, rounds); err != nil {
					t.Fatal(err)
				}
				for word := range strings.FieldsSeq(p.Await(t, "done ")) {
					if nanos, err := strconv.ParseFloat(word, 64); err == nil {
						times = append(times, nanos)
					}
				}
				return times
			}
			work(20) // so that its code is compiled
			ctx, cancel := context.WithTimeout(t.Context(), jvmtest.RunLimit)
			started, ended := make(chan struct{}), make(chan struct{})
			defer func() { cancel(); <-ended }()
			var result *cct.Profile
			var err error
			go func() {
				defer close(ended)
				result, err = profile.Run(ctx, profile.Options{
					PID: p.PID, Roots: []string{"Handed.serve"}, Timing: cct.Exact, Scheme: profile.Eager, Whole: true, HandOff: true, Stacks: true,
					Started: func() { close(started) },
				})
			}()
			select {
			case <-started:
			case <-ended:
				t.Fatal(err)
			}
			times := work(handedRounds)
			cancel()
			<-ended
			if err != nil {
				t.Fatal(err)
			}
			compareHanded(t, result, times, jdk.Major >= 21)
		})
	}
}

// compareHanded compares a tree with the least and the greatest times of the root and of each way.
func compareHanded(t *testing.T, result *cct.Profile, times []float64, hasVirtual bool) {
	t.Helper()
	for _, note := range result.Notes {
		t.Log(note)
	}
	if want := 2 * (len(handedWays) + 1); len(result.Merged.Children) != 1 || len(times) != want {
		t.Fatalf("%d roots and %d times, want 1 and %d", len(result.Merged.Children), len(times), want)
	}
	root := result.Merged.Children[0]
	nodes := map[string]*cct.Node{"serve": root}
	for n := range root.All() {
		for _, c := range n.Children {
			if name := result.Methods[c.Method].Name; c.Handed {
				nodes[name+" of "+result.Methods[n.Method].Name] = c
			}
		}
	}
	check := func(name string, times []float64) {
		n := nodes[name]
		if n == nil {
			t.Errorf("there is no %s", name)
			return
		}
		delete(nodes, name)
		if n.Calls != handedRounds || n.Timed != handedRounds {
			t.Errorf("%s has %d calls, %d of them timed, want %d", name, n.Calls, n.Timed, handedRounds)
		}
		off := n.Total.Uncertainty()
		for below := range n.All() { // time that Sonde took
			if !below.Handed || below == n {
				off += float64(below.Lost)
			}
		}
		if n.Total.Nanos < times[0]-off || n.Total.Nanos > times[1]+off {
			t.Errorf("%s took %.0f µs ± %.0f, the program says %.0f to %.0f", name, n.Total.Nanos/1e3, off/1e3, times[0]/1e3, times[1]/1e3)
		}
	}
	check("serve", times)
	for i, way := range handedWays {
		if way.name != "virtual" || hasVirtual {
			check(way.name+" of "+way.from, times[2*(i+1):])
		}
	}
	for name, want := range map[string]uint64{"looped of serve": handedRounds, "looped of looped": 3 * handedRounds} {
		if n := nodes[name]; n == nil || n.Calls != want {
			t.Errorf("%s is %+v, want %d calls", name, n, want)
		}
		delete(nodes, name)
	}
	for name := range nodes {
		t.Errorf("%s was not expected", name)
	}
	if !slices.ContainsFunc(root.Waits, func(w cct.Wait) bool { return w.For == "park" }) {
		t.Errorf("the root waits %v, want it to park", root.Waits)
	}
	isPooled := func(n *cct.Node) bool { return n.Handed && result.Methods[n.Method].Name == "pooled" }
	if !slices.ContainsFunc(result.Threads, func(thread cct.Thread) bool { return slices.ContainsFunc(thread.Top.Children, isPooled) }) {
		t.Errorf("no thread has the work that was handed to it")
	}
}
