package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestCacheServesTheSecond counts and profiles one program and then another process of
// it, twice each: only the first weaves anything, and all count the same calls.
func TestCacheServesTheSecond(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			c := cachedRuns{dir: filepath.Join(t.TempDir(), "cache")}
			first := live.Start(t, jdk, live.Attach, live.Calls)
			first.Run(1)
			counted, profiled := c.count(t, first), c.profile(t, first)
			if counted.Woven == 0 || counted.Cached != 0 || profiled.Woven == 0 {
				t.Errorf("the first: %+v, %+v", counted, profiled)
			}
			other := live.Start(t, jdk, live.Attach, live.Calls)
			other.Run(1)
			for _, p := range []*live.Program{first, other} {
				if again := c.count(t, p); again.Woven != 0 || again.Cached != counted.Woven {
					t.Errorf("counting again: %+v, want %d from the cache", again, counted.Woven)
				}
				if again := c.profile(t, p); again.Woven != 0 || again.Cached == 0 {
					t.Errorf("profiling again: %+v", again)
				}
			}
			code, out, stderr := sonde(t, "cache", "verify", "--cache", c.dir)
			if code != exitOK {
				t.Errorf("exit code %d: %s%s", code, out, stderr)
			}
		})
	}
}

// cachedRuns are commands with a cache of their own.
type cachedRuns struct{ dir string }

func (c cachedRuns) count(t *testing.T, p *live.Program) wovenJSON {
	t.Helper()
	before := p.Counts()
	counting := startSonde(t, append(countArgs(p.PID, everything...), "--json", "--cache", c.dir)...)
	p.Run(2)
	truth := p.Counts().Minus(before)
	c.end(t, counting)
	got := counting.result(t)
	if diff := got.without(truth).Diff(got.counts()); len(diff) > 0 {
		t.Errorf("%s", strings.Join(diff, "\n"))
	}
	want := wovenText(got.Hooks.Woven, got.Hooks.Cached, true)
	if !strings.Contains(counting.stderr.String(), want) {
		t.Errorf("no %q in %s", want, counting.stderr.String())
	}
	return got.Hooks.wovenJSON
}

func (c cachedRuns) profile(t *testing.T, p *live.Program) wovenJSON {
	t.Helper()
	before := p.Counts()
	profiling := startSonde(t, "profile", strconv.Itoa(p.PID), "--root", "calls.Main.round", "--skip", "harness.**",
		"--scheme", "eager", "--json", "--cache", c.dir)
	p.Run(2)
	truth := p.Counts().Minus(before)
	c.end(t, profiling)
	got, err := report.ReadJSON(&profiling.out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := truth.Diff(profileCounts(got)); len(diff) > 0 {
		t.Errorf("%s", strings.Join(diff, "\n"))
	}
	return wovenJSON{got.Cost.Woven, got.Cost.Cached}
}

// end ends a command by Ctrl-C.
func (cachedRuns) end(t *testing.T, r *runningSonde) {
	t.Helper()
	r.signal(t, syscall.SIGINT)
	if code := r.end(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, r.stderr.String())
	}
	if strings.Contains(r.stderr.String(), "the cache takes more than") {
		t.Skip("NOT SHOWN: the disk was so slow that the cache was done without")
	}
}
