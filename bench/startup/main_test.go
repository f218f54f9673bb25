package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatPacksCostIsJudgedWithinRounds(t *testing.T) {
	// The second round is slow for all.
	ways := []*way{
		started(plain, nil, 1000, 2000, 1010),
		started(packed, &account{Classes: 2, Methods: 7}, 1040, 2040, 1050),
		started(byASM, &account{Classes: 2, Methods: 7}, 1200, 2200, 1210),
	}
	r, err := newReport(application{}, choice{}, ways)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Bars) != 4 || slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met }) {
		t.Errorf("bars %+v, want four that are met", r.Bars)
	}
	if share := r.Bars[2].Share; share != 0.2 {
		t.Errorf("the pack costs %g of what ASM does, want 0.2", share)
	}

	ways[2].starts = ways[0].starts
	if r, err = newReport(application{}, choice{}, ways); err != nil || r.Bars[2].Met {
		t.Errorf("a share of nothing is met: %+v, %v", r.Bars[2], err)
	}
}

func TestBothMustWeaveTheSame(t *testing.T) {
	ways := []*way{
		started(plain, nil, 1000),
		started(packed, &account{Classes: 2, Methods: 7}, 1000),
		started(byASM, &account{Classes: 2, Methods: 6}, 1000),
	}
	if _, err := newReport(application{}, choice{}, ways); err == nil {
		t.Error("6 methods are taken for 7")
	}
	ways[1].accounts = append(ways[1].accounts, account{Classes: 1})
	if _, err := newReport(application{}, choice{}, ways[:2]); err == nil {
		t.Error("starts that wove different classes are taken for the same")
	}
}

func started(key string, woven *account, millis ...time.Duration) *way {
	w := &way{key: key}
	for _, m := range millis {
		w.starts = append(w.starts, start{wall: m * time.Millisecond, cpu: m * time.Millisecond})
		if woven != nil {
			w.accounts = append(w.accounts, *woven)
		}
	}
	return w
}

func TestLoadedClassesAreThoseTheJVMNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "classes")
	log := `[0.021s][info][class,load] java.lang.Object source: shared objects file
[0.398s][info][class,load] org.acme.A$B source: file:/a b.jar
[0.399s][info][gc] Using G1
`
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := loadedClasses(path)
	if err != nil || len(names) != 2 || !names["java/lang/Object"] || !names["org/acme/A$B"] {
		t.Errorf("%v, %v", names, err)
	}
}

func TestAccountOfASMIsItsLastLine(t *testing.T) {
	got, err := accountOfASM("", start{errors: "WARNING: of something\nasm-agent 3 40 500\n"})
	if want := (account{Classes: 3, Methods: 40, Calls: 500}); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "asm-agent failed: a/B: why\nasm-agent 3 40 500\n"} {
		if _, err := accountOfASM("", start{errors: bad}); err == nil {
			t.Errorf("%q is taken for an account", bad)
		}
	}
}

func TestShortMethodsAreLeftOut(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "agent", "dist", "watch.class"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := weavable(data, 0)
	if err != nil || all.methods == 0 || all.names != nil {
		t.Fatalf("%+v, %v; want methods of any name", all, err)
	}
	long, err := weavable(data, 1)
	if err != nil || long.methods != all.methods || len(long.names) == 0 {
		t.Errorf("of a byte at least: %+v, %v; want %d methods by name", long, err, all.methods)
	}
	if none, err := weavable(data, 1<<16); err != nil || none.methods != 0 || none.names != nil {
		t.Errorf("of more bytes than code can have: %+v, %v", none, err)
	}
}

func TestBothAgentsAreToldTheSameMethods(t *testing.T) {
	c := choice{classes: []chosen{{name: "a/All", methods: 3}, {name: "b/Some", names: []string{"f", "g"}, methods: 4}}}
	path, err := c.writeList(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(path)
	if want := "a/All 3\nb/Some 4 f g\n"; err != nil || string(list) != want {
		t.Errorf("ASM's agent reads %q, %v; want %q", list, err, want)
	}
	probes := strings.Fields(c.probes())
	for _, want := range []string{"a.All.*", "b.Some.f", "b.Some.g"} {
		if !slices.Contains(probes, want) {
			t.Errorf("the pack's probes lack %s: %s", want, probes)
		}
	}
}
