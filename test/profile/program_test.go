package profile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/test/live"
)

// A program is a JVM that runs behaviours on command, and counts.
type program struct {
	*jvmtest.Running
	t *testing.T
}

// start starts a program with behaviours, none of which has done anything yet.
func start(t *testing.T, jdk jvmtest.JDK, door live.Door, behaviours ...string) *program {
	t.Helper()
	sources := slices.Concat(glob(t, "../live/testdata/harness/*.java"), glob(t, "testdata/src/*/*.java"), wideHierarchy(t))
	release := "17"
	if jdk.Major >= 25 {
		sources, release = append(sources, glob(t, "testdata/src25/*/*.java")...), "25"
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", release}})
	fresh := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: glob(t, "testdata/fresh/*/*.java"), Classpath: []string{classes}, Flags: []string{"--release", release},
	})
	args := append(slices.Clone(door.Options), "-Dprofile.fresh="+fresh, "-cp", classes, "harness.Harness")
	return &program{jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(args, behaviours...)}), t}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources %s: %v", pattern, err)
	}
	return files
}

// The wide hierarchy.
const (
	wideClasses = 60
	wideHelpers = 6 // of each class
	wideUsed    = 4 // classes that the root calls
)

// wideHierarchy writes the source of a wide hierarchy.
func wideHierarchy(t *testing.T) []string {
	t.Helper()
	text, err := template.ParseFiles("testdata/wide.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "Main.java")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	shape := struct {
		Classes, Helpers []int
		Used             int
	}{upTo(wideClasses), upTo(wideHelpers), wideUsed}
	if err := text.Execute(file, shape); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

// turn runs a behaviour's rounds on each of so many threads at once.
func (p *program) turn(behaviour string, rounds, threads int) {
	p.t.Helper()
	p.done(fmt.Sprintf("turn %s %d %d", behaviour, rounds, threads))
}

// forget makes the program count from zero.
func (p *program) forget() {
	p.t.Helper()
	p.done("forget")
}

func (p *program) done(command string) {
	p.t.Helper()
	p.send(command)
	if line := p.Await(p.t, ""); line != "done" {
		p.t.Fatalf("the program answered %q to %q\nstderr: %s", line, command, p.Stderr())
	}
}

func (p *program) send(command string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, command); err != nil {
		p.t.Fatalf("sending %q to the program: %v\nstderr: %s", command, err, p.Stderr())
	}
}

// contexts is what the program counted.
func (p *program) contexts() contexts {
	p.t.Helper()
	p.send("contexts")
	counted := make(contexts)
	for {
		line := p.Await(p.t, "")
		if line == "end" {
			return counted
		}
		words := strings.Fields(line)
		var c count
		if len(words) < 4 || words[0] != "context" {
			p.t.Fatalf("the program answered %q\nstderr: %s", line, p.Stderr())
		}
		if _, err := fmt.Sscan(words[1]+" "+words[2], &c.entered, &c.threw); err != nil {
			p.t.Fatalf("the program answered %q: %v", line, err)
		}
		counted[strings.Join(words[3:], " ")] = c
	}
}

// ofTheTest are the classes that count and drive, which are no part of a program.
var ofTheTest = []string{"ledger.**", "harness.**"}

// profiled profiles a program while it works, from when its hooks are on until
// the work is done. The program must be at rest before and after.
func (p *program) profiled(options profile.Options, work func()) *cct.Profile {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), jvmtest.RunLimit/5)
	started, ended := make(chan struct{}), make(chan struct{})
	defer func() { cancel(); <-ended }() // however this ends, hooks are out for the next
	options.PID, options.Command, options.Skip = p.PID, "sonde test", ofTheTest
	options.Wait = time.Minute // so that no call goes on without its callees' hooks, however busy the machine is
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
		p.t.Fatalf("the profile ended before hooks were on: %v\nstderr: %s", err, p.Stderr())
	}
	if err != nil {
		p.t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
	return result
}

// doorFor alternates between the doors, so that both schemes and all JDKs meet
// each of them in half as many programs.
func doorFor(t *testing.T, jdk jvmtest.JDK, scheme profile.Scheme) live.Door {
	t.Helper()
	if (jdk.Major < 25) == (scheme == profile.Lazy) {
		return live.Attach
	}
	jar := filepath.Join(t.TempDir(), "sonde-agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return live.JavaAgent(jar)
}
