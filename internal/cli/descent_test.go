package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/found"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// modelled is a program without a JVM: which methods call which, and where slow calls take longer.
type modelled struct {
	methods []string // by hook
	calls   map[string][]string
	slowIn  string
	hooked  map[string]bool
}

func refOf(method string) classfile.MethodRef {
	return classfile.MethodRef{Class: "a/Shop", Name: method, Descriptor: "()V"}
}

func (m *modelled) Roots() []classfile.MethodRef { return []classfile.MethodRef{refOf(m.methods[0])} }

func (m *modelled) MethodOf(spot uint32) (classfile.MethodRef, bool) {
	return refOf(m.methods[spot]), true
}

func (m *modelled) MethodsOf(spots []uint32) (methods []classfile.MethodRef) {
	for _, spot := range spots {
		methods = append(methods, refOf(m.methods[spot]))
	}
	return methods
}

func (m *modelled) IsOpen(method classfile.MethodRef) bool {
	return !slices.ContainsFunc(m.calls[method.Name], func(callee string) bool { return !m.hooked[callee] })
}

// raise puts hooks where liveprobes.Raise does.
func (m *modelled) raise(path, open []classfile.MethodRef, ahead int) {
	m.hooked = map[string]bool{m.methods[0]: true}
	var hook func(method string, left int)
	hook = func(method string, left int) {
		m.hooked[method] = true
		for _, callee := range m.calls[method] {
			if left > 0 {
				hook(callee, left-1)
			}
		}
	}
	for _, method := range path {
		hook(method.Name, 0)
	}
	for _, method := range open {
		hook(method.Name, ahead)
	}
}

// call returns a call of a method as hooks show it: what has none is own time of its caller.
func (m *modelled) call(method string, isSlow bool) *trace.Call {
	c := &trace.Call{Spot: uint32(slices.Index(m.methods, method)), Class: "a.Shop", Method: method, Descriptor: "()V"}
	var add func(method string)
	add = func(method string) {
		own := time.Millisecond
		if isSlow && method == m.slowIn {
			own += time.Second
		}
		c.Self += own
		c.Duration += own
		for _, callee := range m.calls[method] {
			if !m.hooked[callee] {
				add(callee)
				continue
			}
			child := m.call(callee, isSlow)
			child.Start = c.Duration
			c.Children = append(c.Children, child)
			c.Duration += child.Duration
		}
	}
	add(method)
	c.Measured = c.Duration
	return c
}

// TestDescent searches with and without the cause that an earlier search has found, as drill does, whose method has slow calls
// before anything else has a hook, and as a missed goal does, which puts hooks below its method at once.
func TestDescent(t *testing.T) {
	t.Parallel()
	calls := map[string][]string{"serve": {"price", "ship"}, "price": {"discount"}, "discount": {"history"}, "history": {"pause"}, "ship": {"pack"}, "pack": {"label"}}
	for name, test := range map[string]struct {
		found    string // by an earlier search; "" if nothing is known
		slowIn   string
		path     string
		steps    int
		compared string
	}{
		"nothing is known":          {"", "pause", "serve price discount history pause", 2, ""},
		"the same cause":            {"serve price discount history pause", "pause", "serve price discount history pause", 1, "the same method as on "},
		"the same, own time above":  {"serve price discount history pause", "discount", "serve price discount", 1, "it is not where it was on "},
		"the cause is further down": {"serve price discount", "pause", "serve price discount history pause", 2, "it is not where it was on "},
		"it is elsewhere":           {"serve ship pack label", "pause", "serve price discount history pause", 3, "it is not where it was on "},
		"it is the method itself":   {"serve ship pack label", "serve", "serve", 1, "it is not where it was on "},
	} {
		for _, isGoal := range []bool{false, true} {
			m := &modelled{methods: []string{"serve", "price", "ship", "discount", "history", "pause", "pack", "label"}, calls: calls, slowIn: test.slowIn}
			m.raise(nil, nil, 0)
			d := newDescent(m, 100*time.Millisecond)
			var way []classfile.MethodRef
			for _, method := range strings.Fields(test.found) {
				way = append(way, refOf(method))
			}
			if c, is := found.New("it sleeps", time.Second, way, func(string) string { return "1" }); is {
				d.recalled = &c
			}
			steps := 0
			raise := func(last classfile.MethodRef) {
				d.opened[last] = true
				way, ahead := d.takeWay()
				m.raise(m.MethodsOf(d.path), append(way, last), ahead)
				steps++
			}
			if isGoal {
				raise(refOf("serve"))
			}
			for {
				d.again()
				for i := range 60 {
					root := m.call("serve", i%2 == 0)
					d.add(&trace.Transaction{Root: root, Duration: root.Duration})
				}
				if d.root == nil {
					if !d.isEnoughToBegin() {
						t.Fatalf("%s: 60 calls are not enough", name)
					}
					d.slowestRoot()
				}
				choice := d.choose()
				if choice.Open == nil || steps > len(m.methods) {
					d.cause = d.tree.Explain(choice, nil, 0)
					break
				}
				raise(d.follow(choice))
			}
			var path []string
			for _, l := range d.levels {
				path = append(path, l.Method)
			}
			if got := strings.Join(path, " "); got != test.path || steps != test.steps || !d.cause.IsFound() {
				t.Errorf("%s, goal %t: got %s after %d steps, %s; want %s after %d", name, isGoal, got, steps, d.cause.Text, test.path, test.steps)
			}
			if got := d.compared(); !strings.HasPrefix(got, test.compared) || (got == "") != (test.compared == "") {
				t.Errorf("%s, goal %t: got %q, want %q", name, isGoal, got, test.compared)
			}
		}
	}
}
