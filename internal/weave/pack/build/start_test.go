package build

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
			outcome := jvmtest.Run(t, jdk, "-javaagent:"+jar+"=pack="+made+",arena="+file, "-cp", tt.classpath, "goods.Main")
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
