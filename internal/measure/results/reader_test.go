package results

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

const probes = `version: 1
tags:
  - {name: tier, value: $1, at: x.Y.z}
  - {name: kind, value: $2, at: x.Y.z}
  - {name: tier, value: $1, at: x.Y.other}
probes:
  - name: paying
    methods: a.Order.pay
    group-by: kind
`

func writePack(t *testing.T, id uint32) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shop.pack")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	err = pack.Write(file, &pack.Content{
		Build: "a build", Engine: "an engine", Title: "shop.jar", Probes: []byte(probes),
		Names: []pack.Name{{ID: id, Class: "a/Order", Method: "pay", Descriptor: "(I)V", Probe: "paying", Groups: []string{"kind"}}},
	})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// measured is an arena of a process that does not run, by a pack of some path.
func measured(t *testing.T, target int, by string) string {
	t.Helper()
	f := arenatest.Make(t, filepath.Join(t.TempDir(), "shop.arena"), arena.Owner{Target: target, TargetStart: 1, Opened: time.Now(), Command: "pack " + by},
		arena.Method{ID: 70_000, Name: "a.Order.pay(I)V"})
	f.AddLabel(8193, "T1=b")
	thread := f.Thread(1)
	thread.Add(thread.Add(0, arenatest.Node{ID: 8193}), arenatest.Node{ID: 70_000, Calls: 3})
	return f.Path
}

func rows(t *testing.T, h *Reader) string {
	t.Helper()
	results, err := h.Results()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range results.Rows {
		texts = append(texts, r.Probe+" "+r.Class+"."+r.Name+r.Descriptor+" "+r.Label.String())
	}
	return strings.Join(texts, "\n")
}

// TestTheStatedPackIsUsed where it is there and is the one; else the arena is all.
func TestTheStatedPackIsUsed(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	right := writePack(t, 70_000)
	for by, want := range map[string]string{
		right: "paying a.Order.pay(I)V kind=b", writePack(t, 70_001): " a.Order.pay(I)V tag2=b", "/none": " a.Order.pay(I)V tag2=b",
		pipe: " a.Order.pay(I)V tag2=b", "shop.pack": " a.Order.pay(I)V tag2=b",
	} {
		h, err := Open(context.Background(), measured(t, os.Getpid(), by), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := rows(t, h); got != want || h.State != Ended || (h.Pack == right) != (by == right) {
			t.Errorf("by %s: %q, %+v", by, got, h)
		}
		h.Close()
	}
}

func TestThePackThatIsNamedMustBeTheOne(t *testing.T) {
	path := measured(t, 1, "/none")
	if _, err := Open(context.Background(), path, writePack(t, 70_001)); !errors.Is(err, ErrOtherNames) {
		t.Errorf("%v", err)
	}
	h, err := Open(context.Background(), path, writePack(t, 70_000))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := rows(t, h); got != "paying a.Order.pay(I)V kind=b" || h.Title != "shop.jar" || len(h.Set.Probes) != 1 {
		t.Errorf("%q, %+v", got, h)
	}
}

func TestAJVMWithoutAPack(t *testing.T) {
	for want, jvm := range map[string]*process.JVM{
		"process 7 uses no pack": {PID: 7},
		"process 7 was started with a pack, but the agent does not use it: the pack is damaged": {PID: 7, Pack: &process.Pack{Path: "/x", Problem: "the pack is damaged"}},
	} {
		if _, err := OfJVM(jvm, ""); !errors.Is(err, ErrNoArena) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// TestWhatANoticeNamesIsNotOpened where it is not what the JVM has in memory; a pack is
// read that the JVM's user could have, and no pipe waited for.
func TestWhatANoticeNamesIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, other := filepath.Join(dir, "pipe"), filepath.Join(dir, "other")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(other, make([]byte, arenatest.Length), 0o600)); err != nil {
		t.Fatal(err)
	}
	own := measured(t, os.Getpid(), "/none") // is mapped, as by a JVM
	jvm := &process.JVM{PID: os.Getpid(), UID: uint32(os.Geteuid())}
	for arena, want := range map[string]error{pipe: process.ErrNotPlain, "/dev/null": process.ErrNotPlain, other: process.ErrNotMapped, own: nil} {
		jvm.Pack = &process.Pack{Arena: arena, Path: pipe}
		h, err := OfJVM(jvm, "")
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", arena, err)
		}
		if err != nil {
			continue
		}
		if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "pipe: not a plain file") {
			t.Errorf("%q", h.Notes)
		}
		h.Close()
	}
}
