package releases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// isMatrix reports whether everything is tested on every release; make test has a part of it.
func isMatrix() bool { return os.Getenv("SONDE_MATRIX") != "" }

var sondePath string

func TestMain(m *testing.M) {
	if err := os.Setenv("SONDE_SERVICE", "off"); err != nil {
		panic(err)
	}
	os.Exit(jvmtest.WithSonde(&sondePath, m.Run))
}

// shop compiles the program for the oldest JDK; the result is for all.
func shop(t *testing.T) string {
	t.Helper()
	return jvmtest.Compile(t, jvmtest.OneJDK(t)[0], jvmtest.Fixture{
		Sources: []string{filepath.Join("testdata", "app", "Shop.java")}, Flags: []string{"--release", "8"},
	})
}

// tell sends the program a command.
func tell(t *testing.T, p *jvmtest.Running, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, line); err != nil {
		t.Fatal(err)
	}
}

// What the program counts, for a number of orders divisible by 30.
type counts struct{ orders, ofBob, refused, steps int }

// ordered is how many orders the program takes while a command measures.
const ordered = 60

// order lets the program take orders.
func order(t *testing.T, p *jvmtest.Running, orders int) counts {
	t.Helper()
	tell(t, p, fmt.Sprint("orders ", orders))
	var c counts
	line := p.Await(t, "counted ")
	if _, err := fmt.Sscanf(line, "counted %d %d %d %d", &c.orders, &c.ofBob, &c.refused, &c.steps); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return c
}

// measure runs a command of sonde, lets the program take orders once the hooks are there, and ends the command. It returns the
// JSON objects that the command has written, and what the program has counted.
func measure(t *testing.T, p *jvmtest.Running, command string, args ...string) (objects []map[string]any, did counts) {
	t.Helper()
	before := order(t, p, 0)
	args = append([]string{command, strconv.Itoa(p.PID), "--json"}, args...)
	sonde := exec.CommandContext(t.Context(), sondePath, args...)
	var out bytes.Buffer
	sonde.Stdout = &out
	messages, err := sonde.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sonde.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(messages, &said))
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "hooks in ") {
	}
	after := order(t, p, ordered)
	if err := sonde.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if err := sonde.Wait(); err != nil {
		t.Fatalf("sonde %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		t.Fatalf("sonde %s wrote nothing\n%s", strings.Join(args, " "), said.String())
	}
	return objects, counts{after.orders - before.orders, after.ofBob - before.ofBob, after.refused - before.refused, after.steps - before.steps}
}

// list returns a list in an object, and the objects of the list.
func list(object map[string]any, name string) (objects []map[string]any) {
	elements, _ := object[name].([]any)
	for _, element := range elements {
		if object, ok := element.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// calls returns the calls of the methods of a result by their names, and tags or callers.
func calls(object map[string]any) map[string]int {
	found := map[string]int{}
	for _, m := range list(object, "methods") {
		name := fmt.Sprint(m["method"])
		for _, key := range []string{"tags", "callers"} {
			if m[key] != nil {
				name += fmt.Sprint(" ", m[key])
			}
		}
		if n, _ := m["calls"].(float64); n != 0 {
			found[name] += int(n)
		}
	}
	return found
}

func compare(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A capability is something that Sonde can do with a JVM.
type capability struct {
	name  string
	smoke int // the release on which make test has it; 0 for none, because other tests there have it on all
	check func(t *testing.T, p *jvmtest.Running)
}

// attached are the capabilities with a JVM that was started without Sonde, in the order in which they are tested: hot and walk
// let the program compute without end, so that its counts mean nothing afterwards.
var attached = []capability{
	{"count", 17, checkCount},
	{"context", 8, checkContext},
	{"monitor", 25, checkMonitor},
	{"profile", 26, checkProfile},
	{"trace", 21, checkTrace},
	{"limit", 8, checkLimit},
	{"hot", 0, checkHot},
	{"walk", 0, checkWalk}, // beside a pack
}

// packSmoke is the release on which make test has a pack.
const packSmoke = 11

// TestCapabilities tests everything on every release. In make test, each release has one capability.
func TestCapabilities(t *testing.T) {
	classes := shop(t)
	for _, jdk := range jvmtest.Releases(t, jvmtest.AllReleases...) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			if isMatrix() || jdk.Major != packSmoke {
				p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", jvmtest.Visible(t, jdk, classes), "app.Shop"}})
				checkAttached(t, p, func(c capability) bool { return isMatrix() || c.smoke == jdk.Major })
				if now := p.Stderr(); now != "" && jdk.Major < 21 { // later JDKs warn about agents
					t.Errorf("the program printed %s", now)
				}
			}
			if isMatrix() || jdk.Major == packSmoke {
				t.Run("pack", func(t *testing.T) { checkPack(t, jdk, classes) })
			}
		})
	}
}

func checkAttached(t *testing.T, p *jvmtest.Running, isWanted func(capability) bool) {
	t.Helper()
	for _, c := range attached {
		if isWanted(c) {
			t.Run(c.name, func(t *testing.T) { c.check(t, p) })
		}
	}
	t.Run("undo", func(t *testing.T) { checkUndo(t, p) })
}

func checkCount(t *testing.T, p *jvmtest.Running) {
	results, did := measure(t, p, "count", "app.Shop.*")
	compare(t, "count", calls(results[0]), map[string]int{
		"order": did.orders, "lambda$order$0": did.orders, "price": did.orders, "step": did.steps,
		"tax": 2 * (did.orders - did.refused), "rate": did.orders - did.refused,
	})
}

func checkContext(t *testing.T, p *jvmtest.Running) {
	results, did := measure(t, p, "count", "app.Shop.price", "--when", `$1 == "bob"`, "--within", "app.Shop.order", "--timing", "none")
	compare(t, "with a condition and a sequence over threads", calls(results[0]), map[string]int{"price": did.ofBob})

	results, did = measure(t, p, "count", "app.Shop.price", "--when", "$exception != null")
	compare(t, "with a condition at the exit", calls(results[0]), map[string]int{"price": did.refused})

	results, did = measure(t, p, "count", "app.Shop.price", "--tag", "who=$1 at app.Shop.order", "--by-tag", "who")
	compare(t, "by a tag over threads", calls(results[0]), map[string]int{
		"price map[who:ann]": did.orders / 3, "price map[who:bob]": did.ofBob, "price map[who:eve]": did.orders / 3,
	})

	// A caller is found by a stack walk, which must skip reflection and distinguish overloads.
	for _, tt := range []struct {
		caller, method string
		isCalled       bool
	}{{"app.Shop.order >", "app.Shop.tax(int)", true}, {"app.Shop.tax(double) >", "app.Shop.rate", true}, {"app.Shop.tax(int) >", "app.Shop.rate", false}} {
		results, did = measure(t, p, "count", tt.method, "--within", tt.caller)
		want := map[string]int{}
		if name, _, _ := strings.Cut(strings.TrimPrefix(tt.method, "app.Shop."), "("); tt.isCalled {
			want[name] = did.orders - did.refused
		}
		compare(t, tt.caller+" "+tt.method, calls(results[0]), want)
	}

	results, did = measure(t, p, "count", "app.Shop.rate", "--context", "2")
	compare(t, "by callers", calls(results[0]), map[string]int{
		"rate [app.Shop.tax(D)D app.Shop.tax(I)D]": did.orders - did.refused,
	})
}

func checkMonitor(t *testing.T, p *jvmtest.Running) {
	results, did := measure(t, p, "monitor", "app.Shop.price")
	rows := list(results[len(results)-1], "rows")
	if len(rows) != 1 || rows[0]["calls"] != float64(did.orders) || rows[0]["errors"] != float64(did.refused) {
		t.Errorf("monitor: got %v, want one row with %d calls and %d errors", rows, did.orders, did.refused)
	}
}

func checkProfile(t *testing.T, p *jvmtest.Running) {
	results, did := measure(t, p, "profile", "--root", "app.Shop.price", "--timing", "exact", "--whole")
	methods, tree := list(results[0], "methods"), map[string]int{}
	for _, node := range list(results[0], "merged") {
		method, _ := node["method"].(float64)
		if n, _ := node["calls"].(float64); method >= 0 && n > 0 { // sampled stacks add nodes without calls
			tree[fmt.Sprint(methods[int(method)]["name"])] += int(n)
		}
	}
	compare(t, "profile", tree, map[string]int{"price": did.orders, "step": did.steps})
}

func checkTrace(t *testing.T, p *jvmtest.Running) {
	results, _ := measure(t, p, "trace", "app.Shop.order", "--limit", "1000", "--show", "none", "--budget", "100%")
	handed := 0
	for _, transaction := range results {
		for _, part := range list(transaction, "parts") {
			if part["method"] == "lambda$order$0" {
				handed++
			}
		}
	}
	if handed != ordered {
		t.Errorf("trace: %d transactions with a part in another thread, want %d", handed, ordered)
	}
}

// checkLimit checks that a probe ends after an exact number of calls, which eight threads make.
func checkLimit(t *testing.T, p *jvmtest.Running) {
	const most = 30
	file := filepath.Join(t.TempDir(), "probes.yaml")
	probes := fmt.Sprintf("version: 1\nprobes:\n  - name: rate\n    methods: app.Shop.rate\n    calls: %d\n", most)
	if err := os.WriteFile(file, []byte(probes), 0o600); err != nil {
		t.Fatal(err)
	}
	tell(t, p, "rush")
	out := sonde(t, "apply", strconv.Itoa(p.PID), "-f", file, "--yes", "--json")
	order(t, p, 0) // ends the rush
	var last map[string]any
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		last = nil
		if err := decoder.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	if rows := list(last, "probes"); len(rows) != 1 || rows[0]["calls"] != float64(most) || rows[0]["ended"] != "calls" {
		t.Errorf("got %v, want a probe that has ended after %d calls", rows, most)
	}
}

func checkHot(t *testing.T, p *jvmtest.Running) {
	tell(t, p, "load")
	if hot := string(sonde(t, "hot", strconv.Itoa(p.PID), "--duration", "1s", "--json")); !strings.Contains(hot, `"step"`) {
		t.Errorf("hot: no method step in %s", hot)
	}
}

// checkWalk looks for the cause of the program's load.
func checkWalk(t *testing.T, p *jvmtest.Running) {
	tell(t, p, "load")
	walk := sonde(t, "walk", strconv.Itoa(p.PID), "--own", "app", "--sampling", "1s", "--json")
	var walked map[string]any
	if err := json.Unmarshal(walk, &walked); err != nil {
		t.Fatal(err)
	}
	methods := list(walked, "methods")
	var causes []string
	for _, spot := range list(walked, "spots") {
		if cause, ok := spot["cause"].(map[string]any); ok {
			causes = append(causes, fmt.Sprint(methods[int(cause["method"].(float64))]["name"]))
		}
	}
	if !slices.Contains(causes, "often") {
		t.Errorf("walk: the causes are %v, want often: %s", causes, walk)
	}
}

func checkUndo(t *testing.T, p *jvmtest.Running) {
	if out := string(sonde(t, "undo", strconv.Itoa(p.PID))); !strings.Contains(out, "no hooks") {
		t.Errorf("undo: %s", out)
	}
}

// checkPack starts the program with a pack, and looks for the cause of its load beside the pack.
func checkPack(t *testing.T, jdk jvmtest.JDK, classes string) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(classes)); err != nil {
		t.Fatal(err)
	}
	const probes = "version: 1\nprobes:\n  - name: shop\n    methods: [app.Shop.order, app.Shop.price]\n"
	if err := os.WriteFile(filepath.Join(folder, "probes.yaml"), []byte(probes), 0o600); err != nil {
		t.Fatal(err)
	}
	sonde(t, "agent-jar", "-o", filepath.Join(folder, "agent.jar"))
	sonde(t, "pack", filepath.Join(folder, "app"), "--probes", filepath.Join(folder, "probes.yaml"), "-o", filepath.Join(folder, "shop.pack"))
	inside := jvmtest.Visible(t, jdk, folder)
	option := fmt.Sprintf("-javaagent:%[1]s/agent.jar=pack=%[1]s/shop.pack,arena=%[1]s", inside)
	p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{option, "-cp", inside, "app.Shop"}})
	did := order(t, p, 30)
	arenas, err := filepath.Glob(filepath.Join(jdk.Root, inside, "*.arena"))
	if err != nil || len(arenas) != 1 {
		t.Fatalf("arenas %v, %v", arenas, err)
	}
	var report map[string]any
	if err := json.Unmarshal(sonde(t, "report", arenas[0], "--json"), &report); err != nil {
		t.Fatal(err)
	}
	compare(t, "pack", calls(report), map[string]int{"order": did.orders, "price": did.orders})
	checkWalk(t, p)
	sonde(t, "undo", strconv.Itoa(p.PID))
	if status := string(sonde(t, "status", strconv.Itoa(p.PID))); !strings.Contains(status, "waits for a command") {
		t.Errorf("status after undo: %s", status)
	}
}

// sonde runs a command to its end, and returns its output.
func sonde(t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), sondePath, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("sonde %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return out
}
