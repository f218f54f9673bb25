package build

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const liveProbes = `
version: 1
tags:
  - name: heavy
    value: $1.weight
    at: goods.Store.sell
probes:
  - name: sell
    methods: goods.Store.sell
    when: $1.weight > 0 && $this.getStock() == 0
    level: time
  - name: below
    methods: ['goods.Store.weigh', 'goods.Item.getWeight']
    within: goods.Store.sell >> goods.Store.weigh
    level: count
    group-by: heavy
`

// TestWeavesWhatASessionWeaves: what a live session has woven is found beforehand, and is
// the same that is woven without it.
func TestWeavesWhatASessionWeaves(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	dir, _ := goods(t)
	set := read(t, liveProbes)
	place := cache.Options{Dir: filepath.Join(t.TempDir(), "cache")}
	kept := cache.Open(place, func(err error) { t.Error(err) })
	program := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", dir, "goods.Main"}})
	s, err := session.Open(t.Context(), program.PID, session.Settings{Command: "a test", Cache: kept})
	if err != nil {
		t.Fatal(err)
	}
	live := liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads})
	_, err = live.Apply(t.Context(), set)
	weavings := s.Weavings()
	if _, closing := s.Close(context.Background()); closing != nil {
		t.Error(closing)
	}
	live.Close()
	_ = s.Release()
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	again := cache.Open(place, func(err error) { t.Error(err) })
	defer func() { _ = again.Close(context.Background()) }()
	found, err := Plan(t.Context(), []string{dir}, set, Settings{Image: jdk.Image(), Cache: again})
	if err != nil {
		t.Fatal(err)
	}
	woven, err := Plan(t.Context(), []string{dir}, set, Settings{Image: jdk.Image()})
	if err != nil {
		t.Fatal(err)
	}
	if found.Woven.Woven != 0 || found.Woven.Cached == 0 || weavings.Woven < found.Woven.Cached || woven.Woven.Cached != 0 {
		t.Errorf("live %+v, then %+v, without a cache %+v", weavings, found.Woven, woven.Woven)
	}
	for i := range woven.Classes {
		a, b := &woven.Classes[i], &found.Classes[i]
		if a.Class != b.Class || !bytes.Equal(a.entry.Woven, b.entry.Woven) {
			t.Errorf("%s and %s are woven differently", a.Class, b.Class)
		}
	}
	if a, b := packed(t, found), packed(t, woven); !bytes.Equal(a, b) {
		t.Error("packs of woven and of kept classes differ")
	}
	names, records := woven.names()
	same(t, fmt.Sprint(len(names), len(records)), "3 0")
}

// TestPackedProgram: a program that is started with its pack counts what a session would
// count, and a class that differs is loaded as it is, and named.
func TestPackedProgram(t *testing.T) {
	dir, files := goods(t)
	p := plan(t, liveProbes, settings(t), dir)
	content, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[uint32]string)
	for _, n := range content.Names {
		names[n.ID] = n.Probe + " " + n.Method
	}
	scratch := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(scratch, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	jar, made := put("sonde-agent.jar", agent.AgentJar()), put("goods.pack", packed(t, p))
	put("changed/goods/Item.class", other(files["goods/Item"]))
	for _, jdk := range jvmtest.JDKs(t) {
		for _, tt := range []struct {
			classpath string
			calls     map[string]uint64
			left      []arena.Unwoven
		}{
			{dir, map[string]uint64{"sell sell": 1, "below getWeight": 1}, nil},
			{filepath.Join(scratch, "changed") + string(os.PathListSeparator) + dir, map[string]uint64{"sell sell": 1}, []arena.Unwoven{{Why: "differs", Class: "goods/Item"}}},
		} {
			file := filepath.Join(t.TempDir(), "arena")
			outcome := jvmtest.RunBriefly(t, jdk, "-javaagent:"+jar+"=pack="+made+",arena="+file, "-cp", tt.classpath, "goods.Main")
			same(t, outcome.Stdout, "ready\n")
			calls, account := measured(t, file, names)
			if !maps.Equal(calls, tt.calls) || fmt.Sprint(account.Left) != fmt.Sprint(tt.left) || int(account.Woven)+len(account.Left) != 2 {
				t.Errorf("jdk %d: %v, %+v; want %v, %v", jdk.Major, calls, account, tt.calls, tt.left)
			}
		}
	}
}

// measured reads an arena: calls by name, and what became of the classes.
func measured(t *testing.T, path string, names map[uint32]string) (map[string]uint64, arena.Account) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := arena.Open(file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]uint64)
	for id, totals := range sum.Methods {
		if name := names[id]; name != "" && totals.Calls > 0 {
			calls[name] += totals.Calls
		}
	}
	account, has, err := a.Account()
	if err != nil || !has {
		t.Fatal(has, err)
	}
	return calls, account
}
