package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

var updateReport = flag.Bool("update-report", false, "write the goldens of sonde report again")

const (
	reportPay, reportCharge, reportIdle = uint32(70_000), uint32(70_001), uint32(70_002)
	nobody                              = 999_999_999 // is no process
)

var reportNames = []pack.Name{
	{ID: reportPay, Class: "a/Order", Method: "pay", Descriptor: "(I)V", Probe: "paying", Sequence: "x.Y.z >", Groups: []string{"tier"}},
	{ID: reportCharge, Class: "a/Pay", Method: "charge", Descriptor: "()V", Probe: "charging"},
	{ID: reportIdle, Class: "a/Pay", Method: "refund", Descriptor: "()V", Probe: "charging"},
}

const reportProbes = `version: 1
probes:
  - name: paying
    methods: a.Order.pay
    within: x.Y.z >
    group-by: tier
  - name: charging
    methods: a.Pay.*
tags:
  - name: tier
    at: x.Y.z
    value: $1
`

// madePack is a pack of nothing but its probes.
func madePack(t *testing.T, change func(*pack.Content)) string {
	t.Helper()
	content := &pack.Content{
		Build: agent.AgentBuild(), Engine: cache.Engine(), Title: "shop.jar", Probes: []byte(reportProbes), Names: reportNames,
		Left: []pack.Left{{Class: "a/Order", Method: "huge()V", Reason: "it would be too large"}},
	}
	if change != nil {
		change(content)
	}
	path := filepath.Join(t.TempDir(), "shop.pack")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pack.Write(file, content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// madeArena is what a JVM with that pack has left that was killed in a call.
func madeArena(t *testing.T, path string, target int) *arenatest.File {
	t.Helper()
	var methods []arena.Method
	for _, n := range reportNames {
		methods = append(methods, arena.Method{ID: n.ID, Name: strings.ReplaceAll(n.Class, "/", ".") + "." + n.Method + n.Descriptor})
	}
	f := arenatest.Make(t, path, arena.Owner{Target: target, TargetStart: 1, Opened: time.Now().Add(-time.Hour), Command: "pack /x/shop.pack"}, methods...)
	f.AddLabel(8193, "T0=gold")
	first := f.Thread(1)
	pay := first.Add(first.Add(0, arenatest.Node{ID: 8193}), arenatest.Node{
		ID: reportPay, Calls: 1001, Timed: 1000, Nanos: 2e9, Self: 15e8, Max: 30e6, Threw: 3, Distribute: []uint64{2e6, 2e6, 30e6},
	})
	first.Add(first.Add(0, arenatest.Node{ID: 8194}), arenatest.Node{ID: reportPay, Calls: 2, Timed: 2, Nanos: 5e6, Self: 5e6, Max: 4e6})
	first.Add(0, arenatest.Node{ID: reportCharge, Calls: 1000, Timed: 10, Nanos: 5e6, Self: 5e6, Max: 1e6})
	first.Enter(pay, 1)
	f.SetDropped(7)
	f.Account(12, 2, 1, 0, "differs a/Changed\ndiffers a/Other\x1b[31m\nblind b/Isolated\n")
	return f
}

var agoText = regexp.MustCompile(`since    .* ago\)`)

func TestReportTable(t *testing.T) {
	dir := t.TempDir()
	f := madeArena(t, filepath.Join(dir, "shop.arena"), nobody)
	packed := madePack(t, nil)
	for golden, args := range map[string][]string{
		"alone.txt":   {"report", f.Path},
		"packed.txt":  {"report", f.Path, "--pack", packed},
		"sorted.txt":  {"report", f.Path, "--pack", packed, "--sort", "name", "--top", "1"},
		"packed.json": {"report", f.Path, "--pack", packed, "--json"},
	} {
		code, out, stderr := runHere(context.Background(), args...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit code %d, %s", golden, code, stderr)
		}
		if strings.HasSuffix(golden, ".json") {
			checkDocuments(t, out)
			out = indented(t, out)
		}
		out = strings.NewReplacer(dir, "DIR", filepath.Dir(packed), "PACKS").Replace(out)
		out = agoText.ReplaceAllString(out, "since    SOME TIME ago")
		compareGolden(t, filepath.Join("testdata", "report", golden), out, *updateReport)
	}
}

// indented is JSON for people, with its times left out.
func indented(t *testing.T, text string) string {
	t.Helper()
	value := parse[map[string]any](t, text)
	delete(value, "since")
	lines, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(lines) + "\n"
}

func compareGolden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestReportOfWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	good := madeArena(t, filepath.Join(dir, "good.arena"), nobody)
	bad := madeArena(t, filepath.Join(dir, "bad.arena"), nobody)
	bad.Spoil("blocks", 1<<31)
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no arena"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short.arena")
	whole, err := os.ReadFile(good.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(short, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(dir, "trace.json")
	if err := os.WriteFile(trace, []byte(`{"format":"sonde-trace"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	other := madePack(t, func(c *pack.Content) {
		c.Names = append(c.Names, pack.Name{ID: 80_000, Class: "a/B", Method: "c", Descriptor: "()V"})
	})
	for _, tt := range []struct{ args, want string }{
		{filepath.Join(dir, "none"), "no such file"},
		{text, "name the file that was given with arena="},
		{filepath.Join(dir, "none.json"), "no such file"},
		{trace, "trace.json is not an arena: sonde report reads the arenas of packs; sonde convert and sonde hot read results from files"},
		{other, "is a pack, not its measurements"},
		{dir, "name the file that was given with arena="},
		{short, "or cut short: it has 524288 of 1048576 bytes"},
		{bad.Path, "the arena is damaged"},
		{good.Path + " --pack " + text, "it is not a Sonde pack"},
		{good.Path + " --pack " + other, "name the pack that the program was started with"},
		{strconv.Itoa(nobody), "is not running, and has left no arena in /tmp"},
		{"1", "not a JVM"},
	} {
		code, out, stderr := runHere(context.Background(), append([]string{"report"}, strings.Fields(tt.args)...)...)
		if code != exitError || out != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("sonde report %s: exit code %d, %s%s", tt.args, code, out, stderr)
		}
	}
}

// TestReportOfAProcessThatHasEnded finds the newest arena it left, by its number.
func TestReportOfAProcessThatHasEnded(t *testing.T) {
	pid := strconv.Itoa(nobody - os.Getpid())
	for _, name := range []string{"/tmp/sonde-" + pid + "-0123456789abcdef.arena", "/tmp/sonde-" + pid + "-not.txt"} {
		number, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(name) })
		madeArena(t, name, number)
	}
	code, out, stderr := runHere(context.Background(), "report", pid)
	if code != exitOK || !strings.Contains(out, "arena    /tmp/sonde-"+pid+"-0123456789abcdef.arena") || !strings.Contains(out, "process  "+pid+", has exited") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
}

func TestRemedies(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/x/a.arena", Err: fs.ErrNotExist}
	for _, tt := range []struct {
		err  error
		pack string
		want string
	}{
		{fmt.Errorf("the arena of process 7: %w", missing), "", "restart the program with arena=FILE in a directory that is not cleaned automatically"},
		{fmt.Errorf("the arena of process 7: %w", fs.ErrPermission), "", "run sonde as the user of process 7, or as root"},
		{fmt.Errorf("/x: %w", arena.ErrNotArena), "", "only the Sonde that made the pack can read this arena"},
		{missing, missing.Path, missing.Error()},
		{&results.NoArenaError{PID: 7}, "", (&results.NoArenaError{PID: 7}).Error()},
	} {
		if got := insideRemedy(tt.err, 7, tt.pack); !strings.HasSuffix(got.Error(), tt.want) || !errors.Is(got, tt.err) {
			t.Errorf("%v", got)
		}
	}
	if insideRemedy(nil, 7, "") != nil || fileRemedy(nil, "") != nil {
		t.Error("a remedy for nothing")
	}
}
