package suggest

import (
	"fmt"
	"slices"
	"testing"
)

// stack is a made-up path of classes, the leaf first.
func stack(weight float64, classes ...string) Path {
	p := Path{Weight: weight}
	for _, class := range classes {
		p.Methods = append(p.Methods, Method{class, "run", "()V"})
	}
	return p
}

func picked(l *look) (classes []string) {
	for _, c := range pick(l) {
		classes = append(classes, c.Class)
	}
	return classes
}

// TestWhatIsCounted: not the core of the JDK, nor what only carries calls; first where
// threads wait; last what is compiled into others or is the JDK's.
func TestWhatIsCounted(t *testing.T) {
	l := &look{inlining: make(inlining), queue: newQueue(), paths: []Path{
		stack(60, "shop/Hash", "java/util/HashMap", "shop/Small", "shop/Handler", "sun/net/httpserver/Exchange", "java/lang/invoke/X", "java/lang/Thread"),
		stack(30, "shop/Sort", "shop/Handler", "sun/net/httpserver/Exchange", "java/lang/Thread"),
		stack(10, "java/util/Timer", "shop/Clock", "java/lang/Thread"),
		stack(0.1, "shop/Leaf", "shop/Rare", "java/lang/Thread"),
	}}
	for name, inlined := range map[string]int{"shop/Small": 9, "shop/Hash": 9, "shop/Handler": 0} {
		l.inlining[Method{name, "run", "()V"}] = struct{ seen, inlined int }{10, inlined}
	}
	l.queue.dumps = 10
	l.queue.waits[Method{Class: "shop/Pool", Name: "take"}] = Waits{Blocked: 5}
	l.queue.waits[Method{Class: "shop/Seldom", Name: "take"}] = Waits{Files: 0.1}
	want := []string{"shop/Pool", "shop/Handler", "shop/Sort", "shop/Clock", "shop/Small", "sun/net/httpserver/Exchange"}
	if got := picked(l); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFewAreCounted: what is compiled into others is left alone where enough others stand
// above the same samples, and there is a bound.
func TestFewAreCounted(t *testing.T) {
	l := &look{inlining: make(inlining), queue: newQueue()}
	p := stack(1, "Leaf", "Inlined", "A", "B", "C")
	l.inlining[p.Methods[1]] = struct{ seen, inlined int }{10, 9}
	l.paths = []Path{p}
	if got := picked(l); slices.Contains(got, "Inlined") {
		t.Errorf("%v", got)
	}
	l.paths = nil
	for i := range 5 {
		classes := []string{"java/lang/Math"}
		for j := range outermost {
			classes = append(classes, fmt.Sprintf("shop/C%d%02d", i, j))
		}
		l.paths = append(l.paths, stack(1, classes...))
	}
	if got := len(picked(l)); got != mostClasses {
		t.Errorf("%d classes of %d, want %d", got, 5*outermost, mostClasses)
	}
}
