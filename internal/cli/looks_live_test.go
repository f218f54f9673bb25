package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A lookedProgram works on request, and counts its own calls.
type lookedProgram struct {
	*jvmtest.Running
	t     *testing.T
	sonde func(t *testing.T, args ...string) (code int, out, stderr string) // runs the program, to its end
	pid   string
	last  map[string]uint64 // what it had counted

	packed *packedShop // nil if it has no pack
}

// startLooked starts a program for looks of many kinds.
func startLooked(t *testing.T, jdk jvmtest.JDK) *lookedProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/looked/Looked.java"}})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-Xmx128m", "-cp", classes, "looked.Looked"}})
	p := &lookedProgram{Running: running, t: t, sonde: sonde, pid: strconv.Itoa(running.PID)}
	p.work(1)
	return p
}

// startPacked starts the same program with a pack, which measures from the beginning.
func startPacked(t *testing.T, jdk jvmtest.JDK) *lookedProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/looked/Looked.java"}})
	s := &packedShop{watchedShop: watchedShop{t: t}}
	s.start(jdk, classes, "looked.Looked", lookedProbesFile(t))
	p := &lookedProgram{Running: s.Running, t: t, sonde: sonde, pid: s.pid, packed: s}
	p.work(1)
	return p
}

// work makes the program work, and returns what it has counted meanwhile. It fails if the
// program has not done what was asked: hooks must not change what a program does.
func (p *lookedProgram) work(rounds int) map[string]uint64 {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, rounds); err != nil {
		p.t.Fatal(err)
	}
	now := make(map[string]uint64)
	for _, word := range strings.Fields(p.Await(p.t, "counts "))[1:] {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		now[name] = uint64(n)
	}
	since := make(map[string]uint64)
	for name, n := range now {
		since[name] = n - p.last[name]
	}
	isFirst := p.last == nil
	p.last = now
	const threads = 3
	done := uint64(threads * rounds)
	if !isFirst && (since["handle"] != 2*done || since["charge"] != 3*done || since["refund"] != done || since["refuse"] != 2*done ||
		since["charged"] != uint64(threads*rounds*(rounds+1)/2)) {
		p.t.Fatalf("%d rounds in %d threads have counted %v", rounds, threads, since)
	}
	return since
}

// A kindOfLook is a command that a test starts and ends while others run.
type kindOfLook struct {
	name  string
	args  []string // after the process number
	needs string   // what only one look at a time can have
	// want returns the calls that the look counts, of those that the program has counted.
	want func(own map[string]uint64) map[string]uint64
	// have returns the calls that a result has, and how many classes the session has woven.
	have func(t *testing.T, result string) (calls map[string]uint64, woven uint64)
}

const lookedProbes = `version: 1
tags:
  - name: tier
    value: $1.tier
    at: looked.Looked$Web.handle
probes:
  - name: charges
    methods: looked.Looked$Pay.charge
    within: looked.Looked$Web.handle >
    group-by: tier
  - name: dear
    methods: looked.Looked$Pay.charge
    when: $2 >= 3
    level: count
`

// What only one look at a time can have.
const (
	needsTree  = "recording call trees"
	needsRings = "tracing"
)

func lookedProbesFile(t *testing.T) string {
	t.Helper()
	probes := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(probes, []byte(lookedProbes), 0o600); err != nil {
		t.Fatal(err)
	}
	return probes
}

func kindsOfLooks(t *testing.T) []kindOfLook {
	t.Helper()
	probes := lookedProbesFile(t)
	const web, pay, book, desk = "looked.Looked$Web.handle", "looked.Looked$Pay.charge", "looked.Looked$Book.*", "looked.Looked$Desk.refund"
	// Each method by its own name, with the name of the program's counter.
	methods := func(own map[string]uint64, names ...string) map[string]uint64 {
		calls := make(map[string]uint64)
		for _, name := range names {
			calls[name] = own[name]
		}
		return calls
	}
	return []kindOfLook{
		{
			"apply", []string{"-f", probes}, "",
			func(own map[string]uint64) map[string]uint64 {
				return map[string]uint64{"charges tier=gold": own["handled_gold"], "charges tier=iron": own["handled_iron"], "dear": own["dear"]}
			}, appliedCalls,
		},
		{
			"monitor", []string{web, pay, book}, "",
			func(own map[string]uint64) map[string]uint64 {
				return map[string]uint64{web: own["handle"], pay: own["charge"], book: own["audit"] + own["refuse"], book + " threw": own["refuse"]}
			}, monitoredCalls,
		},
		{
			"count", []string{web, pay, book, desk}, "",
			func(own map[string]uint64) map[string]uint64 {
				return methods(own, "handle", "charge", "audit", "refuse", "refund")
			}, countedCalls,
		},
		{
			"count", []string{pay, book, "--timing", "none"}, "",
			func(own map[string]uint64) map[string]uint64 { return methods(own, "charge", "audit", "refuse") }, countedCalls,
		},
		{
			"count", []string{pay, "--when", `$1.tier == "gold"`}, "",
			func(own map[string]uint64) map[string]uint64 { return map[string]uint64{"charge": own["gold"]} }, countedCalls,
		},
		{
			"count", []string{"looked.Looked$Pay.*", "--when", "$2 >= 3", "--timing", "none"}, "",
			func(own map[string]uint64) map[string]uint64 { return map[string]uint64{"charge": own["dear"]} }, countedCalls,
		},
		{
			"trace", []string{web, "--levels", "2", "--limit", "10000"}, needsRings,
			func(own map[string]uint64) map[string]uint64 {
				return map[string]uint64{"handle": own["handle"], "refuse": own["refuse"], "lost": 0}
			}, tracedCalls,
		},
		{
			"profile", []string{"--root", web, "--skip", "looked.Looked.count", "--scheme", "eager", "--whole"}, needsTree,
			func(own map[string]uint64) map[string]uint64 {
				return map[string]uint64{"handle": own["handle"], "charge": own["handle"], "audit": own["audit"], "refuse": own["refuse"]}
			}, profiledCalls,
		},
	}
}

func appliedCalls(t *testing.T, result string) (map[string]uint64, uint64) {
	t.Helper()
	d, calls := parse[document.Applied](t, result), make(map[string]uint64)
	for _, row := range d.Probes {
		calls[strings.TrimSpace(row.Name+" "+row.Label)] += row.Calls
	}
	calls["dropped"] = d.Dropped + d.ContextsLost
	return calls, weavings(d.Weavings)
}

func weavings(w session.Weavings) uint64 { return uint64(w.Woven + w.Cached) }

func monitoredCalls(t *testing.T, result string) (map[string]uint64, uint64) {
	t.Helper()
	d, calls := parse[document.Monitor](t, result), make(map[string]uint64)
	for _, row := range d.Rows {
		calls[row.Pattern] += row.Calls
		calls[row.Pattern+" threw"] += row.Errors
	}
	calls["dropped"] = d.Lost
	return calls, weavings(d.Hooks.Weavings)
}

func countedCalls(t *testing.T, result string) (map[string]uint64, uint64) {
	t.Helper()
	d, calls := parse[document.Count](t, result), make(map[string]uint64)
	for _, row := range d.Methods {
		if row.Method != "<init>" { // of Pay.*
			calls[row.Method] += row.Calls
		}
	}
	calls["dropped"] = d.Dropped
	return calls, weavings(d.Hooks.Weavings)
}

func tracedCalls(t *testing.T, result string) (map[string]uint64, uint64) {
	t.Helper()
	d, calls := parse[document.Trace](t, result), make(map[string]uint64)
	for _, one := range d.Transactions {
		calls["handle"]++
		calls["refuse"] += one.Errors
		calls["lost"] += one.Lost
	}
	calls["lost"] += d.Losses.Dropped + d.Losses.Beyond + d.Losses.NotChosen
	return calls, uint64(d.Woven + d.Cached)
}

func profiledCalls(t *testing.T, result string) (map[string]uint64, uint64) {
	t.Helper()
	d, err := document.ReadProfile(strings.NewReader(result))
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]uint64)
	for name, count := range profileCounts(d) {
		_, name, _ := strings.Cut(name, ".")
		name, _, _ = strings.Cut(name, "(")
		calls[name] += uint64(count.Entered)
	}
	return calls, uint64(d.Cost.Woven + d.Cost.Cached)
}

// withoutZeros removes what was not called: some results have no rows for that.
func withoutZeros(calls map[string]uint64) map[string]uint64 {
	maps.DeleteFunc(calls, func(_ string, n uint64) bool { return n == 0 })
	return calls
}

// A runningLook is a look of a test.
type runningLook struct {
	*kindOfLook
	number string
	want   map[string]uint64 // calls, by the program's own counts
}

// startLook starts a look in the background. The error is the line of a command that fails.
func (p *lookedProgram) startLook(kind *kindOfLook) (look *runningLook, refused string) {
	p.t.Helper()
	code, out, stderr := p.sonde(p.t, append([]string{kind.name, p.pid, "--background", "--json"}, kind.args...)...)
	if code != exitOK {
		return nil, stderr
	}
	return &runningLook{kind, strconv.Itoa(parse[service.Description](p.t, out).Number), make(map[string]uint64)}, ""
}

// endLook ends a look and returns its result.
func (p *lookedProgram) endLook(l *runningLook) string {
	p.t.Helper()
	code, out, stderr := p.sonde(p.t, "end", l.number, "--json")
	if code != exitOK {
		p.t.Errorf("sonde end %s, of %s %v: exit code %d: %s%s", l.number, l.name, l.args, code, out, stderr)
	}
	return out
}

// nothingRuns expects that no look of the program runs, and that nothing is left in it.
func (p *lookedProgram) nothingRuns() {
	p.t.Helper()
	if p.packed != nil {
		p.onlyThePack()
		return
	}
	code, out, stderr := p.sonde(p.t, "status", p.pid, "--json")
	got := parse[struct {
		document.Status
		service.List
	}](p.t, out)
	if code != exitOK || got.Inside || len(got.Occupants)+len(got.Looks) > 0 {
		p.t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if _, out, _ := p.sonde(p.t, "status", p.pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
		p.t.Errorf("%s", out)
	}
	p.work(3)
}

// onlyThePack expects that the pack alone is left, and has counted all calls of the program.
func (p *lookedProgram) onlyThePack() {
	p.t.Helper()
	p.work(3)
	code, out, stderr := p.sonde(p.t, "status", p.pid, "--json")
	if got := parse[service.Status](p.t, out); code != exitOK || len(got.Occupants) != 1 || got.Occupants[0].Pack != p.packed.pack || len(got.Looks) > 0 {
		p.t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	_, have := p.packed.reported(p.pid)
	want := map[string]uint64{"charges gold": p.last["handled_gold"], "charges iron": p.last["handled_iron"], "dear": p.last["dear"]}
	if !maps.Equal(have, want) {
		p.t.Errorf("the pack has counted %v, want %v", have, want)
	}
	p.sonde(p.t, "undo", p.pid)
	p.packed = nil
	p.nothingRuns()
}

// TestLooksInAnyOrder starts and ends looks of all kinds in random order in one JVM, some at the
// same time. Each must
// count exactly the calls of its own time. A look that needs what only one look can have is
// refused while another has it. The number of classes that a session has woven stays in bounds:
// a look weaves at most as many as it does when it is the only one, once when it starts, and
// once when it ends before others.
func TestLooksInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		for i, start := range []func(*testing.T, jvmtest.JDK) *lookedProgram{startLooked, startPacked} {
			if !jvmtest.Turn(t, jdk, i, 2) {
				continue
			}
			inAnyOrder(t, jdk, start)
		}
	}
}

func inAnyOrder(t *testing.T, jdk jvmtest.JDK, start func(*testing.T, jvmtest.JDK) *lookedProgram) {
	t.Helper()
	t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
		t.Parallel()
		o := &lookOrder{lookedProgram: start(t, jdk), kinds: kindsOfLooks(t), plans: make(map[*kindOfLook]uint64), random: rand.New(rand.NewPCG(2, uint64(jdk.Major)))}
		for i := range o.kinds { // each alone
			o.change(nil, []int{i})
			o.meanwhile()
			o.change([]int{0}, nil)
		}
		o.most, o.mostAllowed = 0, 0
		for range jvmtest.Times(12, 200) {
			o.step()
		}
		o.refuseAll()
		for len(o.looks) > 0 {
			o.change([]int{o.random.IntN(len(o.looks))}, nil)
			o.meanwhile()
		}
		o.nothingRuns()
		t.Logf("%d looks ended, %d were refused; the sessions have woven at most %d of %d classes", o.ended, o.refused, o.most, o.mostAllowed)
	})
}

// A lookOrder starts and ends looks in one program.
type lookOrder struct {
	*lookedProgram
	kinds   []kindOfLook
	plans   map[*kindOfLook]uint64 // how many classes a look weaves if it is the only one
	random  *rand.Rand
	looks   []*runningLook
	allowed uint64 // classes that the session may have woven so far

	ended, refused    int
	most, mostAllowed uint64
}

// step starts or ends looks, up to three at the same time. Then the program works.
func (o *lookOrder) step() {
	o.t.Helper()
	const together = 5
	var ending, starting []int // the looks that end; the kinds that start
	for _, i := range o.random.Perm(len(o.kinds))[:1+o.random.IntN(3)] {
		kind := &o.kinds[i]
		at := slices.IndexFunc(o.looks, func(l *runningLook) bool { return l.kindOfLook == kind })
		switch {
		case at >= 0 && kind.needs != "" && o.random.IntN(2) == 0:
			o.refuse(kind, o.looks[at])
		case at >= 0:
			ending = append(ending, at)
		case len(o.looks)+len(starting) < together:
			starting = append(starting, i)
		case len(ending) == 0:
			ending = append(ending, o.random.IntN(len(o.looks)))
		}
	}
	o.change(ending, starting)
	o.meanwhile()
}

// change ends looks and starts others, all at the same time.
func (o *lookOrder) change(ending, starting []int) {
	o.t.Helper()
	slices.Sort(ending)
	ending = slices.Compact(ending)
	started, refusals, results := make([]*runningLook, len(starting)), make([]string, len(starting)), make([]string, len(ending))
	var changing sync.WaitGroup
	for i, at := range starting {
		changing.Go(func() { started[i], refusals[i] = o.startLook(&o.kinds[at]) })
	}
	for i, at := range ending {
		changing.Go(func() { results[i] = o.endLook(o.looks[at]) })
	}
	changing.Wait()
	before := o.running()
	if len(o.looks) == 0 {
		o.allowed = 0 // a new session
	}
	for i, l := range started {
		kind := &o.kinds[starting[i]]
		if l == nil {
			o.t.Fatalf("sonde %s %v, with %s: %s", kind.name, kind.args, before, refusals[i])
		}
		o.allowed += o.plans[kind]
	}
	for _, at := range ending {
		o.allowed += o.plans[o.looks[at].kindOfLook]
	}
	for i, at := range ending {
		o.judge(o.looks[at], results[i], before)
	}
	for _, at := range slices.Backward(ending) {
		o.looks = slices.Delete(o.looks, at, at+1)
	}
	o.looks = append(o.looks, started...)
}

// meanwhile makes the program work while looks are running.
func (o *lookOrder) meanwhile() {
	o.t.Helper()
	own := o.work(1 + o.random.IntN(8))
	for _, l := range o.looks {
		for name, n := range l.kindOfLook.want(own) {
			l.want[name] += n
		}
	}
}

func (o *lookOrder) running() string {
	var names []string
	for _, l := range o.looks {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// refuse expects that a look is refused because another one has what it needs.
func (o *lookOrder) refuse(kind *kindOfLook, other *runningLook) {
	o.t.Helper()
	l, why := o.startLook(kind)
	want := fmt.Sprintf(" is already %s in this JVM, and only one command at a time can do this: end that command first\n", kind.needs)
	last := why[strings.LastIndex(strings.TrimSuffix(why, "\n"), "\n")+1:]
	if l != nil || !strings.HasPrefix(last, "sonde: sonde "+other.name) || !strings.HasSuffix(last, want) || strings.Count(why, "sonde: ") != 1 {
		o.t.Fatalf("sonde %s %v, with %s, says: %s", kind.name, kind.args, o.running(), why)
	}
	o.refused++
	o.allowed += 2 * o.plans[kind]
}

// refuseAll starts what only one look can do, if it is not running, and expects that another one
// is refused.
func (o *lookOrder) refuseAll() {
	o.t.Helper()
	for i := range o.kinds {
		kind := &o.kinds[i]
		if kind.needs == "" {
			continue
		}
		at := slices.IndexFunc(o.looks, func(l *runningLook) bool { return l.needs == kind.needs })
		if at < 0 {
			at = len(o.looks)
			o.change(nil, []int{i})
		}
		o.refuse(kind, o.looks[at])
		if kind.needs == needsTree { // before it samples
			o.refuse(&kindOfLook{name: "walk", args: []string{"--sampling", "10m"}, needs: needsTree}, o.looks[at])
		}
		o.meanwhile()
	}
}

// judge compares the result of a look with the program's own counts.
func (o *lookOrder) judge(l *runningLook, result, before string) {
	o.t.Helper()
	if o.t.Failed() {
		o.t.FailNow()
	}
	have, woven := l.have(o.t, result)
	if !maps.Equal(withoutZeros(have), withoutZeros(l.want)) {
		o.t.Fatalf("%s %v has counted %v, want %v; with %s", l.name, l.args, have, l.want, before)
	}
	if _, isKnown := o.plans[l.kindOfLook]; !isKnown {
		o.plans[l.kindOfLook], o.allowed = woven, woven
	}
	if woven > o.allowed {
		o.t.Errorf("at the end of %s %v, %d classes have been woven in the session; by the plans of its looks, %d at most", l.name, l.args, woven, o.allowed)
	}
	if woven > o.most {
		o.most, o.mostAllowed = woven, o.allowed
	}
	o.ended++
}
