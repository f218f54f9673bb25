package build

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

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
	program := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", dir, "goods.Main"}})
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
	same(t, fmt.Sprint(len(woven.names())), "3")
}
