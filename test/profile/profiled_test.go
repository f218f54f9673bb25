package profile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/test/live"
)

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
