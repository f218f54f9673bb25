package agent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
		if isStage && !isAbstract || slices.Contains([]string{"FutureTask", "ForkJoinTask", "ThreadPoolExecutor", "java/lang/ThreadBuilders"}, simple) {
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
			for _, way := range []string{"plain", "pool", "stages", "fork", "periodic", "refused", "callerruns", "virtual", "throwing", "shared"} {
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
