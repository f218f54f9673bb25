package profile_test

import (
	"math"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// tolerance is what sums of nanoseconds may differ by, as a part of them, for
// they are added up in another order.
const tolerance = 1e-6

// sound demands what holds of every exact profile of a program at rest.
func sound(t *testing.T, p *cct.Profile) {
	t.Helper()
	for _, root := range p.Merged.Children {
		if sum := selfBelow(root); !near(sum, root.Total.Nanos) {
			t.Errorf("self times of %s and all below it are %g ns, its total %g ns", label(p, root), sum, root.Total.Nanos)
		}
	}
	everyNode(p.Merged, func(node *cct.Node) {
		if node.Method < 0 {
			return
		}
		switch {
		case node.Missed != 0 || node.Late:
			t.Errorf("%s: hooks came too late for some calls: %d missed, late: %v", label(p, node), node.Missed, node.Late)
		case node.Running != 0:
			t.Errorf("%s: %d calls run, the program is at rest", label(p, node), node.Running)
		case node.Timed != node.Calls && p.Methods[node.Method].Name != "<init>":
			// No handler stands around a call of super: what ends there is not timed.
			t.Errorf("%s: %d of %d calls were timed", label(p, node), node.Timed, node.Calls)
		}
		for _, time := range []cct.Time{node.Self, node.Total} {
			if !(time.Low <= time.Nanos && time.Nanos <= time.High) {
				t.Errorf("%s: %g ns are not within %g and %g", label(p, node), time.Nanos, time.Low, time.High)
			}
		}
	})
}

func everyNode(node *cct.Node, visit func(*cct.Node)) {
	visit(node)
	for _, child := range node.Children {
		everyNode(child, visit)
	}
}

func selfBelow(node *cct.Node) float64 {
	var sum float64
	everyNode(node, func(n *cct.Node) { sum += n.Self.Nanos })
	return sum
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

func label(p *cct.Profile, node *cct.Node) string { return nameOf(p.Methods[node.Method]) }
