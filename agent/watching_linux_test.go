package agent_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// calling is a condition that calls a method of the fixture with the first argument.
type calling struct{ method, callee string }

func (c calling) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{
		Class: "Tasks", Method: c.method, Descr: "(I)I", MaxStack: 2,
		Steps: []weave.Step{
			{Do: weave.DoArgument, Kind: 'I'},
			{Do: weave.DoConstant, Op: opcode.Invokestatic, Const: weave.Constant{
				Tag: classfile.TagMethodref, Text: "Tasks", Name: c.callee, Descr: "(I)I",
			}},
		},
	}, nil
}

// What threads keep of a context that was put into them by hooks of an earlier arena,
// or when positions meant other elements, does nothing.
func TestContextsOfBeforeAreForgotten(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		w := watchTasks(t)
		begin := func() *arena.Arena {
			a := g.mapWithRing(8 << 20)
			g.hookHandOff()
			g.hookAll(w, "Tasks")
			g.setWatches(w, 0)
			return a
		}
		check := func(a *arena.Arena, labels map[uint32]string) {
			t.Helper()
			got := taskTruth(t, a, labels)
			// Three threads, each of which is outside twice and inside once.
			want := map[string]uint64{"calls": 9, "inside": 3, "traced": 3, "tag:null": 6, "tag:two": 3}
			if !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
		begin()
		g.tell("hold", 1)
		g.ask(restore, nil)
		g.reply(restored)
		a := begin()
		g.tell("release", 1)
		check(a, make(map[uint32]string))
		g.ask(restore, nil)
		g.reply(restored)

		a = begin()
		g.tell("hold", 1)
		g.setWatches(w, 1)
		g.tell("release", 1)
		check(a, make(map[uint32]string))
		g.leave()
	})
}

// A condition may call what has hooks, even the method it is a condition of: that is
// not the program's doing. One that fails is counted.
func TestConditionsAreAskedInSilence(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		const silent, failing, plain = 90_000, 90_001, 90_002
		w := &watching{hooks: map[string][]*weave.Template{"Tasks.own(I)I": {
			boundTemplate(t, agent.WatchTemplate, calling{"own", "own"}).As(silent),
			boundTemplate(t, agent.WatchTemplate, calling{"own", "unclear"}).As(failing),
			boundTemplate(t, agent.WatchTemplate, nil).As(plain),
		}}}
		for _, id := range []uint32{silent, failing, plain} {
			w.entries = append(w.entries, arena.WatchEntry{Probe: arena.Probe{ID: id, Flags: arena.On | arena.Timed}})
		}
		a, _ := g.mapArenaOf(1 << 20)
		g.hookAll(w, "Tasks")
		g.setWatches(w, 0)
		const rounds = 50 // of each of the numbers 0 to 4
		g.tell("own", rounds)
		sum, err := a.Sum(0)
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[uint32][2]uint64{silent: {rounds, 3 * rounds}, failing: {rounds, rounds}, plain: {5 * rounds, 0}} {
			got := sum.Methods[id]
			if got == nil || got.Calls != want[0] || got.Undecided != want[1] {
				t.Errorf("%d: %+v, want %v", id, got, want)
			}
		}
		g.leave()
	})
}

// Calls are grouped by their chain of callers.
func TestRowsOfCallersAreLabels(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		const one, three, eight = 90_000, 90_001, 90_002
		spot := boundTemplate(t, agent.WatchTemplate, nil)
		w := &watching{hooks: map[string][]*weave.Template{
			"Tasks.last(LTasks$Context;)I": {spot.As(one), spot.As(three), spot.As(eight)},
		}}
		for id, length := range map[uint32]uint64{one: 1, three: 3, eight: 8} {
			w.entries = append(w.entries, arena.WatchEntry{
				Probe: arena.Probe{ID: id, Flags: arena.On | arena.Timed}, Words: [3]uint64{0, 0, length << 32},
			})
		}
		for range 2 {
			a := g.mapWithRing(1 << 20)
			g.hookAll(w, "Tasks")
			g.setWatches(w, 0)
			const rounds = 10
			g.tell("row", rounds)
			labels := make(map[uint32]string)
			for _, arrival := range g.arrivals(a, 0, 6) {
				labels[arrival.ID] = arrival.Text
			}
			got := make(map[uint32]map[string]uint64)
			eachNode(t, a, func(node arena.Node, above uint32) {
				if !arena.IsLabel(above) {
					return
				}
				if got[node.ID] == nil {
					got[node.ID] = make(map[string]uint64)
				}
				names := strings.ReplaceAll(labels[above], "(LTasks$Context;)I", "")
				got[node.ID][names] += node.Calls
				if node.Timed != node.Calls || node.Nanos == 0 {
					t.Errorf("%+v was to be timed", node)
				}
			})
			// Each of the five contexts calls second from first; three of them once more, and last.
			if want := (map[string]uint64{"CTasks.second": 8 * rounds, "CTasks.first": 3 * rounds}); !maps.Equal(got[one], want) {
				t.Errorf("%v, want %v", got[one], want)
			}
			for _, id := range []uint32{three, eight} {
				rows := slices.Sorted(maps.Keys(got[id]))
				if len(rows) != 2 || !strings.HasPrefix(rows[0], "CTasks.first\nTasks.") || !strings.HasPrefix(rows[1], "CTasks.second\nTasks.first\nTasks.") ||
					got[id][rows[0]] != 3*rounds || got[id][rows[1]] != 8*rounds {
					t.Errorf("%d: %v", id, got[id])
				}
			}
			if n := strings.Count(slices.Sorted(maps.Keys(got[three]))[1], "\n"); n != 2 {
				t.Errorf("three in a row are %d", n+1)
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
	})
}

// The spots of the fixture.
const verdictRoot, verdictInner, verdictCount, verdictThrown, verdictDeep, verdictTag = 70_000, 70_001, 70_002, 70_003, 70_004, 70_005

// verdictNames are the spots in texts.
var verdictNames = map[uint32]string{verdictRoot: "root", verdictInner: "inner"}

// code compiles a condition, or what is no condition, for Verdicts$Work.handle.
func (g *guest) code(text string, at condition.Moment, isValue bool) weave.Lowered {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.classes, "Verdicts$Work.class"))
	if err != nil {
		g.t.Fatal(err)
	}
	file, err := classfile.Parse(data)
	if err != nil {
		g.t.Fatal(err)
	}
	expr, err := expr.Parse(text)
	if err != nil {
		g.t.Fatal(err)
	}
	class := &condition.Class{File: file}
	for i := range file.Methods {
		if name, _, err := file.MemberName(&file.Methods[i]); err != nil || string(name) != "handle" {
			continue
		}
		scope := condition.Scope{Class: class, Method: &file.Methods[i], Moment: at, Lookup: func(name string) *condition.Class {
			if name == class.Name() {
				return class
			}
			return nil
		}}
		check := condition.Check
		if isValue {
			check = condition.CheckValue
		}
		checked, err := check(expr, scope)
		if err != nil {
			g.t.Fatal(err)
		}
		return checked
	}
	g.t.Fatal("no method handle")
	return nil
}

func (g *guest) watchVerdicts() *watching {
	handle, inner, deeper := "Verdicts$Work.handle(Ljava/lang/String;I)I", "Verdicts$Work.inner(I)I", "Verdicts$Work.deeper(I)I"
	codes := make([]weave.Lowered, 10)
	codes[0] = g.code("$2 != 7", condition.Entry, false)
	codes[1] = g.code("$return > 60 || $exception != null", condition.Exit, false)
	codes[2] = g.code("$1", condition.Entry, true)
	codes[4] = g.code("$2", condition.Entry, true)
	codes[6] = g.code("$return", condition.Exit, true)
	none := [4]bool{true, true, true, true}
	atEntry, atExit := none, none
	atEntry[0], atEntry[2], atExit[0] = false, false, false
	root := boundTemplate(g.t, agent.CaptureTemplate, codes...)
	late := func(text string) *weave.Template {
		return boundTemplate(g.t, agent.LateTemplate, nil, g.code(text, condition.Exit, false))
	}
	w := &watching{hooks: map[string][]*weave.Template{
		handle: {boundTemplate(g.t, agent.TagTemplate, codes[2]).As(verdictTag), late("$elapsed >= 0ns && $elapsed < 60s").As(verdictCount), late("$exception != null").As(verdictThrown), root.As(verdictRoot)},
		inner:  {boundTemplate(g.t, agent.WatchTemplate, nil).As(verdictInner)},
		deeper: {boundTemplate(g.t, agent.LateTemplate, nil, nil).As(verdictDeep)},
	}}
	entry := func(id uint32, flags arena.Flags, idle uint64) {
		probe := arena.Probe{ID: id, Flags: arena.On | arena.Flat | flags}
		w.entries = append(w.entries, arena.WatchEntry{Probe: probe, Words: [3]uint64{0, idle, arena.WatchPure}})
	}
	entry(verdictRoot, arena.Root|arena.Traced|arena.Late, arena.Idle(atEntry, atExit))
	entry(verdictInner, arena.Inside|arena.Traced, 0)
	entry(verdictCount, arena.Late, 0)
	entry(verdictThrown, arena.Late|arena.Timed, 0)
	entry(verdictDeep, arena.Late, 0)
	tag := arena.Probe{ID: verdictTag, Flags: arena.On}
	w.entries = append(w.entries, arena.WatchEntry{Probe: tag, Words: [3]uint64{2}})
	return w
}

// told are the records since they were read last, in few words. All must be under the
// tag's present value.
func told(t *testing.T, a *arena.Arena, tag string) (texts []string) {
	t.Helper()
	rings, err := a.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range rings {
		if err := ring.Read(func(r arena.Record) {
			text := fmt.Sprint(verdictNames[r.ID], " ", r.Depth)
			switch {
			case r.Kind == arena.ValueRecord && r.Null:
				text += fmt.Sprint(" ", r.Index, " null")
			case r.Kind == arena.ValueRecord:
				text += fmt.Sprint(" ", r.Index, " ", r.Text)
			case r.Threw:
				text += " threw"
			}
			texts = append(texts, text)
			if is := isLabelled(t, a, r.Label, tag); r.Kind == arena.CallRecord && !is {
				t.Errorf("%s has the label %d, which is not of %s", text, r.Label, tag)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	return texts
}

// isLabelled reports whether a label was reported with the tag's value.
func isLabelled(t *testing.T, a *arena.Arena, label uint32, value string) bool {
	t.Helper()
	arrivals, err := a.Arrivals(0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(arrivals, func(arrival arena.Arrival) bool {
		return arrival.ID == label && strings.HasPrefix(arrival.Text, "T2") && strings.HasSuffix(arrival.Text, value)
	})
}

// TestVerdictsDecideWhatIsKept has calls judged by conditions that templates ask at
// the entry and at the exit.
func TestVerdictsDecideWhatIsKept(t *testing.T) {
	everyProgram(t, "Verdicts", func(t *testing.T, g *guest) {
		a := g.mapWithRing(4 << 20)
		w := g.watchVerdicts()
		g.hookAll(w, "Verdicts$Work")
		g.setWatches(w, 1)
		for _, step := range []struct {
			name   string
			number int
			says   string
			want   []string
		}{
			{"small", 3, "60", nil},
			{"seven", 7, "140", nil},
			{"large", 4, "80", []string{"root 0 0 large", "root 0 2 4", "inner 1", "inner 1", "root 0 0 80", "root 0"}},
			{"nobody", 5, "100", []string{"root 0 0 null", "root 0 2 5", "inner 1", "inner 1", "root 0 0 100", "root 0"}},
			{"wrong", -1, "-1", []string{"root 0 0 wrong", "root 0 2 -1", "root 0 threw"}},
		} {
			if got := g.tell(step.name, step.number); got != step.name+" "+step.says {
				t.Error(got)
			}
			tag := "=" + step.name
			if step.name == "nobody" {
				tag = ""
			}
			if got := told(t, a, tag); !slices.Equal(got, step.want) {
				t.Errorf("%s %d: %q, want %q", step.name, step.number, got, step.want)
			}
		}
		sum, err := a.Sum(0)
		if err != nil {
			t.Fatal(err)
		}
		calls := make(map[uint32]uint64)
		for id, totals := range sum.Methods {
			calls[id] = totals.Calls
		}
		// A transaction that was not kept has counted what was called in it.
		if calls[verdictRoot] != 3 || calls[verdictInner] != 6 || calls[verdictCount] != 5 || calls[verdictThrown] != 1 {
			t.Errorf("calls %v", calls)
		}
		if thrown := sum.Methods[verdictThrown]; thrown.Timed != 1 || thrown.Threw != 1 || thrown.Nanos == 0 {
			t.Errorf("%+v", thrown)
		}

		// With a full stack exits are missed; later calls are reported as before.
		if got := g.tell("overflow", 0); got != "overflow 100" {
			t.Error(got)
		}
		if got := told(t, a, ""); len(got) < 6 || got[len(got)-1] != "root 0" || !slices.Contains(got, "root 0 0 after") {
			t.Errorf("%q", got)
		}
		g.leave()
		isGone(t, g.target)
	})
}

// The spots of the fixture: of what is watched, by its tag, below its anchor, and
// inside a transaction; of the anchor as that one's root.
const taskGrouped, taskBelow, taskTraced, taskRoot, taskAnchor, taskTag = 70_000, 70_001, 70_002, 70_003, 70_004, 70_005

// firstArgument is the value of an expression that is the method's first argument.
type firstArgument struct{ class, method, descriptor string }

func (a firstArgument) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{
		Class: a.class, Method: a.method, Descr: a.descriptor, MaxStack: 1, Text: true,
		Steps: []weave.Step{{Do: weave.DoArgument, Kind: 'A'}},
	}, nil
}

func watchTasks(t *testing.T) *watching {
	spot := boundTemplate(t, agent.WatchTemplate, nil)
	const tagged = "(Ljava/lang/String;Ljava/lang/Runnable;)V"
	tag := boundTemplate(t, agent.TagTemplate, firstArgument{"Tasks", "tagged", tagged})
	w := &watching{
		hooks: map[string][]*weave.Template{
			"Tasks.p(LTasks$Context;)I":           {spot.As(taskGrouped), spot.As(taskBelow), spot.As(taskTraced)},
			"Tasks.within(Ljava/lang/Runnable;)V": {spot.As(taskRoot), compileTemplate(t, agent.AnchorTemplate).As(taskAnchor)},
			"Tasks.tagged" + tagged:               {tag.As(taskTag)},
		},
		anchors: map[string]uint32{"Tasks.within(Ljava/lang/Runnable;)V": 1},
	}
	entry := func(id uint32, flags arena.Flags, words ...uint64) {
		e := arena.WatchEntry{Probe: arena.Probe{ID: id, Flags: arena.On | flags}}
		copy(e.Words[:], words)
		w.entries = append(w.entries, e)
	}
	entry(taskGrouped, arena.Flat, 0, 0, 1<<3)
	entry(taskBelow, arena.Flat|arena.Timed, 1)
	entry(taskTraced, arena.Flat|arena.Inside|arena.Traced)
	entry(taskRoot, arena.Flat|arena.Root|arena.Traced)
	entry(taskAnchor, 0, 1<<32)
	entry(taskTag, 0, 3)
	return w
}

// handOffTemplate is what a method of the JDK gets.
func handOffTemplate(m weave.MethodInfo) func() ([]byte, string) {
	class := strings.TrimPrefix(m.Class, "java/util/concurrent/")
	switch {
	case class == "FutureTask" && m.Name == "<init>", class == "ForkJoinTask" && m.Name == "<init>":
		return agent.CarryTemplate
	case class == "FutureTask" && m.Name+m.Descriptor == "run()V", class == "ForkJoinTask" && m.Name == "doExec",
		strings.HasPrefix(class, "CompletableFuture$Async") && m.Name+m.Descriptor == "run()V":
		return agent.ResumeTemplate
	case class == "FutureTask" && m.Name == "runAndReset":
		return agent.AgainTemplate
	case strings.HasPrefix(class, "CompletableFuture$") && m.Name == "tryFire":
		return agent.FireTemplate
	case class == "java/lang/ThreadBuilders" && m.Name == "newVirtualThread":
		return agent.MadeTemplate
	case class == "java/lang/Thread" && m.Name == "start":
		return agent.StartTemplate
	case class != "ThreadPoolExecutor":
	case m.Name == "execute":
		return agent.SubmitTemplate
	case m.Name == "reject":
		return agent.WithdrawTemplate
	case m.Name == "runWorker":
		return agent.WorkTemplate
	case m.Name == "getTask":
		return agent.NextTemplate
	}
	return nil
}

// hookHandOff weaves the JDK's methods through which tasks go, all at once.
func (g *guest) hookHandOff() {
	g.t.Helper()
	compiled := make(map[string]*weave.Template)
	var handles []uint32
	for name, loaded := range g.list() {
		class := strings.ReplaceAll(name, ".", "/")
		simple := strings.TrimPrefix(class, "java/util/concurrent/")
		isStage := strings.HasPrefix(simple, "CompletableFuture$Uni") || strings.HasPrefix(simple, "CompletableFuture$Bi") ||
			strings.HasPrefix(simple, "CompletableFuture$Or") || strings.HasPrefix(simple, "CompletableFuture$Async")
		isAbstract := strings.HasSuffix(simple, "Completion") || strings.HasSuffix(simple, "Task") && simple != "FutureTask" && simple != "ForkJoinTask"
		if isStage && !isAbstract || slices.Contains([]string{"FutureTask", "ForkJoinTask", "ThreadPoolExecutor", "java/lang/ThreadBuilders", "java/lang/Thread"}, simple) {
			handles = append(handles, loaded[0].handle)
		}
	}
	g.ask(install, numbers(handles...))
	for range handles {
		question := g.receive(transform)
		question.take(8)
		class := question.text()
		result, err := g.weaver.Weave(question.bytes(), func(m weave.MethodInfo) []*weave.Template {
			source := handOffTemplate(m)
			if source == nil {
				return nil
			}
			_, name := source()
			if compiled[name] == nil {
				compiled[name] = compileTemplate(g.t, source)
			}
			return []*weave.Template{compiled[name]}
		})
		if err != nil || result.Bytes == nil {
			g.t.Fatalf("%s: %+v, %v", class, result, err)
		}
		g.send(woven, question.request, append(text(string(result.Bytes)), text("")...))
	}
	answer := g.reply(installed)
	if answer.u64() == 0 || answer.u32() != 0 {
		g.t.Fatal("not woven")
	}
	if why := answer.text(); why != "" {
		g.t.Fatal(why)
	}
}

// taskTruth is what hooks say of the fixture's calls, as the fixture says it.
func taskTruth(t *testing.T, a *arena.Arena, labels map[uint32]string) map[string]uint64 {
	t.Helper()
	arrivals, err := a.Arrivals(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, arrival := range arrivals {
		if arena.IsLabel(arrival.ID) {
			labels[arrival.ID] = arrival.Text
		}
	}
	found := make(map[string]uint64)
	eachNode(t, a, func(node arena.Node, above uint32) {
		switch node.ID {
		case taskGrouped:
			tag, known := map[string]string{"T": "null", "T3": "null", "T3=one": "one", "T3=two": "two"}[labels[above]]
			if !known && node.Calls != 0 {
				t.Errorf("%d is the label %q", above, labels[above])
			}
			found["tag:"+tag] += node.Calls
			found["calls"] += node.Calls
		case taskBelow:
			found["inside"] += node.Calls
		case taskTraced:
			found["traced"] += node.Calls
		}
	})
	return found
}

// eachNode visits what threads have counted, with the id of what is above it: a method's, or
// a label's.
func eachNode(t *testing.T, a *arena.Arena, visit func(node arena.Node, above uint32)) {
	t.Helper()
	threads, err := a.Threads()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		ids := make(map[uint32]uint32)
		for _, node := range thread.Nodes {
			ids[node.Ref] = node.ID
		}
		for _, node := range thread.Nodes {
			visit(node, ids[node.Parent])
		}
	}
}

// drain makes room for more transactions.
func drain(t *testing.T, a *arena.Arena) {
	t.Helper()
	rings, err := a.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range rings {
		if err := ring.Read(func(arena.Record) {}); err != nil {
			t.Fatal(err)
		}
	}
}

// Work that goes to other threads is in the context it was made in, and in no other;
// hooks agree with the program on every call.
func TestTasksCarryTheirContext(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		w := watchTasks(t)
		for round := range 2 {
			a := g.mapWithRing(64 << 20)
			if err := a.SetRings(1<<15, 0); err != nil { // there are many threads
				t.Fatal(err)
			}
			labels := make(map[uint32]string)
			g.hookHandOff()
			g.hookAll(w, "Tasks")
			g.setWatches(w, 0)
			before, unclear := make(map[string]uint64), uint64(0)
			for _, way := range []string{"plain", "pool", "stages", "fork", "periodic", "refused", "callerruns", "virtual", "throwing", "threads", "shared"} {
				const rounds = 4
				told := make(map[string]uint64)
				for _, word := range strings.Fields(strings.TrimPrefix(g.tell(way, rounds), way)) {
					key, _, _ := strings.Cut(word, "=")
					var n uint64
					if _, err := fmt.Sscanf(word[len(key)+1:], "%d", &n); err != nil {
						t.Fatal(err)
					}
					told[key] = n
					if key == "inside" {
						told["traced"] = n
					}
				}
				now := taskTruth(t, a, labels)
				drain(t, a)
				got := make(map[string]uint64)
				for key, n := range now {
					if n != before[key] {
						got[key] = n - before[key]
					}
				}
				before = now
				if !maps.Equal(got, told) {
					t.Errorf("round %d, %s:\nhooks say    %v\nprogram says %v", round, way, got, told)
				}
				ambiguous, lost := a.ContextLosses()
				if lost != 0 || ambiguous != unclear && way != "shared" {
					t.Errorf("%s: %d ambiguous, %d lost", way, ambiguous, lost)
				}
				if way == "shared" && ambiguous == 0 {
					t.Error("nothing is ambiguous")
				}
				unclear = ambiguous
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
		if objects := jcmd(t, g.target, "GC.class_histogram"); !strings.Contains(objects, "java.lang.String") || strings.Contains(objects, "SondeHooks") {
			t.Error("hooks have left objects behind")
		}
	})
}

// The sequences of the fixture, as it has them: elements, and after each how the next
// is reached, directly (/) or somewhere below (*). The last is of another method.
var pathSequences = []string{"A*", "A/", "A*B*", "A/B*", "A*B/C/", "A*A/", "P*", "L/", "A/A/A*", "A/L*", "D/"}

// The fixture's elements.
var pathElements = map[string]byte{
	"Paths.a(LPaths$Walk;)V": 'A', "Paths.deeper(LPaths$Walk;)V": 'A', "Paths.b(LPaths$Walk;)V": 'B', "Paths.c(LPaths$Walk;)V": 'C',
	"Paths.p(LPaths$Walk;)V": 'P', "Paths$Bridged.call(LPaths$Walk;)V": 'L', "Paths.d(LPaths$Walk;)V": 'D',
}

const pathSpotID, pathAnchorID = 70_000, 80_000

// A watching is what a test has watched.
type watching struct {
	entries []arena.WatchEntry
	hooks   map[string][]*weave.Template // by member, outermost first
	anchors map[string]uint32
	bridges []string
}

// watchPaths lays the sequences out, each element with a position of its own.
func watchPaths(t *testing.T) *watching {
	w := &watching{hooks: make(map[string][]*weave.Template), anchors: make(map[string]uint32), bridges: []string{
		"Paths$Bridged.call(Ljava/lang/Object;)V", "Paths$Told.call(Ljava/lang/Object;)V",
	}}
	spot, anchor := boundTemplate(t, agent.WatchTemplate, nil), compileTemplate(t, agent.AnchorTemplate)
	var first, below, direct [256]uint64
	next := 0
	for i, sequence := range pathSequences {
		for at := 0; at < len(sequence); at += 2 {
			bit := uint64(1) << next
			switch {
			case at == 0:
				first[sequence[at]] |= bit
			case sequence[at-1] == '*':
				below[sequence[at]] |= bit
			default:
				direct[sequence[at]] |= bit
			}
			next++
		}
		needed := uint64(1) << (next - 1)
		if strings.HasSuffix(sequence, "/") {
			needed <<= 32
		}
		member := "Paths.p(LPaths$Walk;)V"
		if sequence == "D/" {
			member = "Paths$Told.call(LPaths$Walk;)V"
		}
		w.entries = append(w.entries, arena.WatchEntry{
			Probe: arena.Probe{ID: uint32(pathSpotID + i), Flags: arena.On | arena.Flat}, Words: [3]uint64{needed},
		})
		w.hooks[member] = append(w.hooks[member], spot.As(int32(pathSpotID+i)))
	}
	id := pathAnchorID
	for member, element := range pathElements {
		w.entries = append(w.entries, arena.WatchEntry{
			Probe: arena.Probe{ID: uint32(id), Flags: arena.On},
			Words: [3]uint64{below[element] | first[element]<<32, direct[element]},
		})
		w.anchors[member] = uint32(first[element] | below[element] | direct[element])
		w.hooks[member] = append(w.hooks[member], anchor.As(int32(id)))
		id++
	}
	return w
}

func boundTemplate(t *testing.T, source func() ([]byte, string), code ...weave.Lowered) *weave.Template {
	t.Helper()
	bound, err := compileTemplate(t, source).Bind(code...)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// hookAll weaves what is watched into classes.
func (g *guest) hookAll(w *watching, classes ...string) {
	g.t.Helper()
	for _, class := range classes {
		g.ask(install, numbers(g.list()[strings.ReplaceAll(class, "/", ".")][0].handle))
		question := g.receive(transform)
		question.take(8) // class and loader
		question.text()
		result, err := g.weaver.Weave(question.bytes(), func(m weave.MethodInfo) []*weave.Template {
			return w.hooks[m.Class+"."+m.Name+m.Descriptor]
		})
		if err != nil || result.Bytes == nil {
			g.t.Fatalf("%s: %+v, %v", class, result, err)
		}
		g.send(woven, question.request, append(text(string(result.Bytes)), text("")...))
		if answer := g.reply(installed); answer.u64() == 0 || answer.u32() != 0 {
			g.t.Fatalf("%s is not woven", class)
		}
	}
}

// setWatches switches what is watched on.
func (g *guest) setWatches(w *watching, fresh byte) {
	g.t.Helper()
	table, err := arena.WatchTable(w.entries)
	if err != nil {
		g.t.Fatal(err)
	}
	body := binary.BigEndian.AppendUint32([]byte{fresh, 0}, uint32(len(table)))
	for _, word := range table {
		body = binary.BigEndian.AppendUint64(body, word)
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.anchors)))
	for member, positions := range w.anchors {
		body = binary.BigEndian.AppendUint32(append(body, text(member)...), positions)
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.bridges)))
	for _, bridge := range w.bridges {
		body = append(body, text(bridge)...)
	}
	g.ask(watches, body)
	g.reply(done)
}

// spotCalls are the calls counted for spots, less those of before.
func spotCalls(t *testing.T, a *arena.Arena, first, count int, before []uint64) (calls []uint64) {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		n := uint64(0)
		if totals := sum.Methods[uint32(first+i)]; totals != nil {
			n = totals.Calls
		}
		if before != nil {
			n -= before[i]
		}
		calls = append(calls, n)
	}
	return calls
}

// Hooks agree with the program itself, which keeps its own stack, on every call.
func TestPathsAreThoseOfTheStack(t *testing.T) {
	everyProgram(t, "Paths", func(t *testing.T, g *guest) {
		w := watchPaths(t)
		for round := range 2 {
			a, _ := g.mapArenaOf(8 << 20)
			g.hookAll(w, "Paths", "Paths$Bridged", "Paths$Told")
			if round > 0 {
				w.bridges = nil // these JDKs mark them in the frame
			}
			g.setWatches(w, 0)
			before := make([]uint64, len(pathSequences))
			for _, do := range []string{"walk 1", "walk 2", "threads 60", "overflow 1", "walk 3"} {
				what, number, _ := strings.Cut(do, " ")
				n, _ := strconv.Atoi(number)
				told := strings.TrimPrefix(g.tell(what, n), what+" ")
				got := spotCalls(t, a, pathSpotID, len(pathSequences), before)
				if have := strings.Trim(fmt.Sprint(got), "[]"); have != told {
					t.Errorf("round %d, %s: of %v\nhooks say   %s\nprogram says %s", round, do, pathSequences, have, told)
				}
				for i := range got {
					before[i] += got[i]
					if got[i] == 0 && what == "walk" {
						t.Errorf("%s never held", pathSequences[i])
					}
				}
			}
			if _, lost := a.ContextLosses(); lost != 0 {
				t.Errorf("%d contexts lost", lost)
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
	})
}
