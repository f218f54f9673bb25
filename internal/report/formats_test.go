package report

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/record"
)

func TestFormatByName(t *testing.T) {
	for path, want := range map[string]Format{
		"a.html": HTML, "x/y.PB.GZ": PProf, "a.b.collapsed": Collapsed, "a.json": JSON, ".txt": Text,
	} {
		if got, err := FormatOf(path); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	var unknown *FormatError
	if err := WriteFile(filepath.Join(t.TempDir(), "a.svg"), shop(1)); !errors.As(err, &unknown) || !strings.Contains(err.Error(), ".html, .pb.gz, .collapsed, .json or .txt") {
		t.Errorf("an unknown end: %v", err)
	}
}

// TestWhatIsWrittenIsReadBack writes each format that can be read and compares.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	want := shop(1)
	for _, name := range []string{"a.json", "a.html"} {
		path := filepath.Join(t.TempDir(), name)
		if err := WriteFile(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: came back different", name)
		}
	}
}

func TestCollapsed(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, Collapsed, shop(1)); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.collapsed", out.Bytes())
}

func TestPProfIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pb.gz")
	want := shop(1)
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(want, got); slicesAnySure(d.Contexts) || len(d.Contexts) != 6 || len(d.Uncompared) != 1 || d.Before.Calls != d.After.Calls {
		t.Errorf("read back it differs: %+v", d.Contexts)
	}
}

func slicesAnySure(list []Change) bool {
	for _, c := range list {
		if rank(c) < 2 {
			return true
		}
	}
	return false
}

// TestGoToolPProf has the tool itself read the file: counts must be exact.
func TestGoToolPProf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.pb.gz")
	if err := WriteFile(path, shop(1)); err != nil {
		t.Fatal(err)
	}
	for index, rows := range map[string][]string{
		"calls": {" 1500000 82.64%", "method #77\n", " 300000 ", " 6000 ", " 90 "},
		"self":  {"1350ms 59.60%", "java.net.SocketInputStream.socketRead0\n"},
	} {
		command := exec.Command("go", "tool", "pprof", "-top", "-nodefraction=0", "-sample_index="+index, path)
		command.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go tool pprof: %v\n%s", err, out)
		}
		for _, row := range rows {
			if !strings.Contains(string(out), row) {
				t.Errorf("%s: %q is missing:\n%s", index, row, out)
			}
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"a.json": `{"a":1}`, "b.json": `[`, "c.json": `{"format":"sonde-profile","version":9}`,
		"d.json": `{"format":"sonde-profile","version":1,"merged":[{"parent":-1,"method":-1,"calls":0},{"parent":1,"method":0,"calls":0}]}`,
		"e.html": "<html>", "f.pb.gz": "no",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var version *record.VersionError
	if _, err := ReadFile(filepath.Join(dir, "c.json")); !errors.As(err, &version) {
		t.Error("a newer version is not named")
	}
	if _, err := ReadFile(filepath.Join(dir, "a.txt")); err == nil || !strings.Contains(err.Error(), ".json, .html or .pb.gz") {
		t.Errorf("text cannot be read back: %v", err)
	}
}

// TestDeepTreesAreWritten: recursion goes as deep as the arena keeps it.
func TestDeepTreesAreWritten(t *testing.T) {
	var n *cct.Node
	for range 4096 {
		n = &cct.Node{Method: 0, Calls: 1, Timed: 1, Self: sure(100), Children: nonNil(n)}
	}
	p := &cct.Profile{Methods: []cct.Method{{Class: "A", Name: "a", Descriptor: "()V"}}, Merged: &cct.Node{Method: -1, Children: nonNil(n)}}
	addUp(p.Merged)
	var out bytes.Buffer
	if err := Write(&out, JSON, p); err != nil {
		t.Fatal(err)
	}
	back, err := ReadJSON(&out)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("a deep tree came back different: %v", err)
	}
}

// shop is a profile as a run of a small web shop may give it: two threads,
// recursion, exceptions, an overloaded and a native method, a call under way, tiny
// and counted calls, and one that was sampled but never drawn.
func shop(slowdown float64) *cct.Profile {
	p := &cct.Profile{
		Target: cct.Target{PID: 4711, Command: "shop.jar", JDK: "17.0.15"},
		Roots:  []string{"com.example.shop.Checkout.pay"},
		Began:  time.Date(2026, 11, 15, 8, 20, 11, 500_000_000, time.UTC), Took: 30 * time.Second,
		Scheme: "lazy", Why: "the root can reach 640 methods and entered 120",
		Timing: cct.Auto,
		Methods: []cct.Method{
			{Class: "com/example/shop/Checkout", Name: "pay", Descriptor: "(I)V"},
			{Class: "com/example/shop/Cart", Name: "total", Descriptor: "()J"},
			{Class: "com/example/shop/pricing/Tree", Name: "find", Descriptor: "(I)Ljava/lang/Object;"},
			{Class: "com/example/shop/pricing/Tree", Name: "find", Descriptor: "(Ljava/lang/String;I)Ljava/lang/Object;"},
			{Class: "java/net/SocketInputStream", Name: "socketRead0", Descriptor: "()I", Native: true},
			{Name: "method #77"},
			{Class: "com/example/shop/Odd<Name>;&", Name: "run", Descriptor: "()V"},
			{Class: "com/example/shop/pricing/Rate", Name: "of", Descriptor: "(I)J"},
		},
		Calibration: cct.Calibration{
			Inner: cct.Span{Median: 31.5, Low: 30.9, High: 33}, Outer: cct.Span{Median: 40, Low: 38, High: 44},
			Count: cct.Span{Median: 2, Low: 1.8, High: 2.4}, Overlap: 12, Times: 14,
		},
		Cost: cct.Cost{
			Hooks: 120, Classes: 31, Closure: 640, Rounds: 3, Pause: 41 * time.Millisecond, Compile: 2 * time.Second,
			Waited: 12 * time.Millisecond, Steady: 0.013, Budget: 0.02,
		},
		LeftAlone: []cct.LeftAlone{
			{Class: "com/example/shop/Odd", Reason: "its bytes are not known: no resource"},
			{Class: "com/example/shop/Even", Method: "run", Reason: "its bytes are not known: other loader"},
			{Class: "java/lang/Thread", Reason: "hooks use it"},
		},
		Quiet: []cct.Quiet{
			{Method: 1, On: 30 * time.Second, Reason: "1.2 M calls a second cost 1.4 %: thinned to one in 64"},
			{Method: 7, Reason: "3.1 M calls a second would cost 3.6 %: switched off, its time is with its callers"},
			{Method: 2, On: 12 * time.Second, Reason: "its hook was chosen during the run: what it took before is with its callers"},
		},
		Notes: []string{"the arena had room for all"},
	}
	p.Threads = []cct.Thread{
		{ID: 31, Name: "worker-1", Top: shopTree(slowdown, 1)},
		{ID: 32, Virtual: true, Top: shopTree(slowdown, 0.5)},
	}
	p.Merged = shopTree(slowdown, 1.5)
	return p
}

func shopTree(slowdown, size float64) *cct.Node {
	calls := func(n float64) uint64 { return uint64(n * size) }
	about := func(nanos, off float64) cct.Time {
		return cct.Time{Nanos: nanos * size, Low: nanos * size * (1 - off), High: nanos * size * (1 + off)}
	}
	exact := func(method int, n, nanos float64, children ...*cct.Node) *cct.Node {
		return &cct.Node{
			Method: method, Calls: calls(n), Timed: calls(n), Self: about(nanos, 0.01), Raw: int64(nanos * size * 1.1),
			Max: time.Millisecond, Children: children,
		}
	}
	read := exact(4, 4000, 900e6)
	deep := exact(3, 2000, 40e6*slowdown)
	deep.Late = true
	find := exact(2, 2000, 300e6, deep)
	find.Method = 3
	find.Children[0].Method = 2
	sampled := &cct.Node{Method: 1, Calls: calls(200_000), Timed: calls(3000), Self: about(250e6*slowdown, 0.05), Children: []*cct.Node{find}}
	counted := &cct.Node{Method: 5, Calls: calls(1_000_000)}
	unseen := &cct.Node{Method: 6, Calls: calls(60), Self: cct.Time{High: math.Inf(1)}}
	pay := exact(0, 2000, 20e6, read, sampled, counted, unseen)
	pay.Running, pay.Threw, pay.Missed, pay.Lost = 1, calls(12), 2, 3*time.Millisecond
	top := &cct.Node{Method: -1, Children: []*cct.Node{pay}}
	sumUp(top)
	return top
}

func sumUp(n *cct.Node) {
	n.Total = n.Self
	for _, c := range n.Children {
		sumUp(c)
		n.Total = n.Total.Plus(c.Total)
	}
	if math.IsInf(n.Total.High, 1) && n.Timed > 0 {
		n.Total.High = 1.1 * n.Total.Nanos
	}
}
