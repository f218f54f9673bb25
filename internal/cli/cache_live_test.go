package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestCacheServesTheSecond counts and profiles one program and then another process of
// it, twice each: only the first weaves anything, and all count the same calls.
func TestCacheServesTheSecond(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			c := cachedRuns{dir: filepath.Join(t.TempDir(), "cache")}
			first := live.Start(t, jdk, briefAttach, live.Calls)
			first.Run(1)
			counted, profiled := c.count(t, first), c.profile(t, first)
			if counted.Woven == 0 || counted.Cached != 0 || profiled.Woven == 0 {
				t.Errorf("the first: %+v, %+v", counted, profiled)
			}
			other := live.Start(t, jdk, briefAttach, live.Calls)
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

func (c cachedRuns) count(t *testing.T, p *live.Program) session.Weavings {
	t.Helper()
	before := p.Counts()
	counting := startSonde(t, append(countArgs(p.PID, everything...), "--json", "--cache", c.dir)...)
	p.Run(2)
	truth := p.Counts().Minus(before)
	c.end(t, counting)
	got := counting.result(t)
	if diff := withoutMissing(&got, truth).Diff(countsOf(&got)); len(diff) > 0 {
		t.Errorf("%s", strings.Join(diff, "\n"))
	}
	want := wovenText(got.Hooks.Woven, got.Hooks.Cached, true)
	if !strings.Contains(counting.stderr.String(), want) {
		t.Errorf("no %q in %s", want, counting.stderr.String())
	}
	return got.Hooks.Weavings
}

func (c cachedRuns) profile(t *testing.T, p *live.Program) session.Weavings {
	t.Helper()
	before := p.Counts()
	profiling := startSonde(t, "profile", strconv.Itoa(p.PID), "--root", "calls.Main.round", "--skip", "harness.**",
		"--scheme", "eager", "--json", "--cache", c.dir)
	p.Run(2)
	truth := p.Counts().Minus(before)
	c.end(t, profiling)
	got, err := document.ReadProfile(&profiling.out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := truth.Diff(profileCounts(got)); len(diff) > 0 {
		t.Errorf("%s", strings.Join(diff, "\n"))
	}
	return session.Weavings{Woven: got.Cost.Woven, Cached: got.Cost.Cached}
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

// TestLiveCacheIsWhereItIsSaid opens it as flags and the environment say.
func TestLiveCacheIsWhereItIsSaid(t *testing.T) {
	named, user := filepath.Join(t.TempDir(), "named"), t.TempDir()
	for _, tt := range []struct {
		name, variable, made string
		flags                cacheFlags
	}{
		{name: "no variable", made: filepath.Join(user, "sonde", "woven")},
		{name: "off", variable: cacheOff},
		{name: "a variable", variable: named, made: named},
		{name: "a flag", variable: cacheOff, made: named, flags: cacheFlags{cacheDirFlags: cacheDirFlags{dir: named}}},
		{name: "none", variable: named, flags: cacheFlags{none: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(cacheVariable, tt.variable)
			t.Setenv("XDG_CACHE_HOME", user)
			opened, end, err := tt.flags.openCache(streams{}, func(text string) { t.Error(text) })
			if err != nil || (opened != nil) != (tt.made != "") {
				t.Fatal(opened, err)
			}
			end()
			for _, dir := range []string{named, filepath.Join(user, "sonde")} {
				_, err := os.Stat(dir)
				if isThere := err == nil; isThere != strings.HasPrefix(tt.made, dir) {
					t.Errorf("%s: %v", dir, err)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestLiveCacheWrong is said before a JVM is touched; a cache that cannot be had is
// reported, and not used.
func TestLiveCacheWrong(t *testing.T) {
	for _, wrong := range []cacheFlags{
		{none: true, cacheDirFlags: cacheDirFlags{dir: "x"}}, {share: "all"}, {cacheDirFlags: cacheDirFlags{trust: []string{"nobody-of-that-name"}}},
	} {
		var bad *usageError
		if _, _, err := wrong.openCache(streams{}, nil); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var notes []string
	opened, end, err := (&cacheFlags{cacheDirFlags: cacheDirFlags{dir: file}}).openCache(streams{}, func(text string) { notes = append(notes, text) })
	if err != nil || opened == nil || len(notes) != 1 || strings.Contains(notes[0], "\n") {
		t.Fatal(opened, err, notes)
	}
	end()
}

// TestOptionsOfApply: flags of sonde apply, and of attach --weave, become options of the look, with what the
// environment says of the cache. Other flags do not.
func TestOptionsOfApply(t *testing.T) {
	for _, tt := range []struct {
		name, variable string
		args           []string
		want           map[string]any
	}{
		{"apply", "", nil, map[string]any{}},
		{"apply", "", []string{"--cache", "/d", "--cache-share", "group", "--cache-trust", "a,b", "--yes", "--duration", "1m", "--left"},
			map[string]any{"cache": "/d", "cache-share": "group", "cache-trust": []string{"a", "b"}, "duration": "1m0s", "left": json.RawMessage("true")}},
		{"apply", "/d", []string{"--no-cache", "--budget", "3%"}, map[string]any{"no-cache": json.RawMessage("true"), "budget": "3%"}},
		{"apply", cacheOff, nil, map[string]any{"no-cache": true}},
		{"live", "/d", []string{"--weave", "--pack", "p", "--interval", "2s", "--force"},
			map[string]any{"cache": "/d", "interval": "2s", "force": json.RawMessage("true")}},
	} {
		t.Setenv(cacheVariable, tt.variable)
		command := newApply(streams{})
		if tt.name == "live" {
			command = newPackLive(streams{})
		}
		if err := command.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		c := &applyCommand{flags: command.Flags(), set: &probeset.Set{}, title: "t"}
		tt.want[probesProperty], tt.want[titleFlag] = string(c.set.YAML()), "t"
		if have, err := c.options(); err != nil || !reflect.DeepEqual(have, tt.want) {
			t.Errorf("sonde %s %v: %v, %v; want %v", tt.name, tt.args, have, err, tt.want)
		}
	}
}
