package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// An edge is a method called by another, both by name; the caller is "" where
// there is none that has a hook.
type edge struct{ caller, callee string }

// callers says from where alone methods are called, by what the names begin with.
var callers = map[string][]string{
	"calls/Main.round":                {""},
	"calls/Plain.work":                {"calls/Main.round"},
	"calls/Plain.outer":               {"calls/Plain.work"},
	"calls/Plain.middle":              {"calls/Plain.outer"},
	"calls/Plain.inner":               {"calls/Plain.middle"},
	"calls/Plain.privateOne":          {"calls/Plain.scaleInBase"},
	"calls/Plain.overridden":          {"calls/Plain.work", "calls/Plain$Sub.overridden"},
	"calls/Guarded.synchronizedTwice": {"calls/Guarded.work", "calls/Guarded.synchronizedTwice"},
	"recursion/Main.isOdd":            {"recursion/Main.isEven"},
	"recursion/Main.isEven":           {"recursion/Main.round", "recursion/Main.isOdd"},
	// Trees are not as deep as this goes: what is too deep begins at the root again.
	"recursion/Main.deep(":                          {"recursion/Main.deepOnes", "recursion/Main.deep(", ""},
	"recursion/Main.afterOverflow":                  {"recursion/Main.overflow"},
	"exceptions/Through.withoutHandler":             {"exceptions/Through.catchesFarUp", "exceptions/Through.withoutHandler"},
	"construction/Chains$Base.<init>(I)V":           {"construction/Chains$Middle.<init>", "construction/Chains$Base.<init>()V"},
	"construction/Chains$Middle.<init>":             {"construction/Chains$Leaf.<init>(IL"},
	"construction/Chains$Leaf.<init>(IL":            {"construction/Chains$Leaf.<init>(I)V"},
	"construction/Chains.argumentOfSuper":           {"construction/Chains$Leaf.<init>(I)V"},
	"construction/Chains$Leaf.calledByBase":         {"construction/Chains$Base.<init>(I)V"},
	"construction/fresh/Sound.<clinit>":             {"construction/Initialisers.work"},
	"construction/fresh/Failing.<clinit>":           {"construction/Initialisers.work"},
	"construction/fresh/Sound.step":                 {"construction/fresh/Sound.<clinit>"},
	"construction/Initialisers.calledFromInitialis": {"construction/fresh/Sound.<clinit>", "construction/fresh/Constants.made"},
	"threads/Main.bodyOfThread":                     {"threads/Main.lambda$round$"},
	"threads/Main.tinyCall":                         {"threads/Main.bodyOfThread", "threads/Main.taskOfPool"},
	"loading/fresh/Isolated.step":                   {"loading/fresh/Isolated.work"},
	"dynamic/Reflective.invokedByReflection":        {"dynamic/Reflective.byReflection"},
	"dynamic/Generated$Handler.invoke":              {"dynamic/$Proxy", "dynamic/Generated.work"},
}

// TestContextsAreWhoCalled shows that each method stands below its callers in the
// tree of calling contexts, and that the tree sums up to what is counted without.
func TestContextsAreWhoCalled(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		c := observe(t, p, arena.On, ofTheProgram...)
		p.Run(3)
		c.compare("by context")
		edges := c.edges()
		for prefix, allowed := range callers {
			found := false
			for e := range edges {
				if !strings.HasPrefix(e.callee, prefix) {
					continue
				}
				found = true
				if !slices.ContainsFunc(allowed, func(caller string) bool {
					return e.caller == caller || caller != "" && strings.HasPrefix(e.caller, caller)
				}) {
					t.Errorf("%s is called by %q, want one of %q", e.callee, e.caller, allowed)
				}
			}
			if !found {
				t.Errorf("%s is in no context", prefix)
			}
		}
		for e, calls := range map[edge]uint64{
			{"calls/Plain$Sub.overridden(J)J", "calls/Plain.overridden(J)J"}: 30,
			{"calls/Plain.work()J", "calls/Plain.overridden(J)J"}:            30,
			{"calls/Plain.middle(J)J", "calls/Plain.inner(J)J"}:              180,
			{"recursion/Main.round()J", "recursion/Main.isEven(I)Z"}:         3,
			{"recursion/Main.isOdd(I)Z", "recursion/Main.isEven(I)Z"}:        300,
		} {
			if edges[e] != calls {
				t.Errorf("%d calls from %s to %s, want %d", edges[e], e.caller, e.callee, calls)
			}
		}
	})
}

// edges are the calls between methods, summed over threads and contexts.
func (c *counting) edges() map[edge]uint64 {
	c.t.Helper()
	threads, err := c.Threads()
	if err != nil {
		c.t.Fatal(err)
	}
	names := c.names()
	edges := make(map[edge]uint64)
	for _, thread := range threads {
		callees := map[uint32]uint32{thread.Root: 0}
		for _, node := range thread.Nodes {
			callees[node.Ref] = node.ID
		}
		for _, node := range thread.Nodes {
			if node.ID == arena.AdjustmentID {
				continue // time that Sonde took, while a class was woven as it loaded
			}
			caller, known := callees[node.Parent]
			if !known || names[node.ID] == "" {
				c.t.Fatalf("a node of %q has a parent %d that is not in the tree", names[node.ID], node.Parent)
			}
			edges[edge{names[caller], names[node.ID]}] += node.Calls
		}
	}
	return edges
}

// names are the methods with hooks, by id.
func (c *counting) names() map[uint32]string {
	names := make(map[uint32]string)
	for _, m := range c.Methods() {
		names[m.ID] = nameOf(m)
	}
	return names
}

func hasPrefix(name, prefix string) bool { return strings.HasPrefix(name, prefix) }
