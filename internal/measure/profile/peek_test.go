package profile

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// TestAPeekGoesOnWhereDumpsAreSlow checks when sampling ends, by what was seen.
func TestAPeekGoesOnWhereDumpsAreSlow(t *testing.T) {
	for _, c := range []struct {
		seen int
		took time.Duration
		over bool
	}{
		{0, time.Second, false},
		{enoughSeen, time.Second, true},
		{fewSeen, time.Second, false},
		{promising - 1, usualPeek, true},
		{promising, usualPeek, false},
		{fewSeen, usualPeek, false},
		{enoughSeen, usualPeek, true},
		{promising, maxPeek, true},
	} {
		if over := (&peek{seen: c.seen}).isOver(c.took); over != c.over {
			t.Errorf("with %d stacks seen in %v it is over: %v", c.seen, c.took, over)
		}
	}
}

// TestAPeekFindsWorkOfOtherThreads has a root that makes a task, a task that somebody else makes, and a lambda.
func TestAPeekFindsWorkOfOtherThreads(t *testing.T) {
	r, err := newRun(Options{Roots: []string{"app.Main.serve"}, HandOff: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, calls := range map[string]string{"serve": "task", "task": "", "other": ""} {
		class := "app/" + map[string]string{"serve": "Main", "task": "Task", "other": "Other"}[name]
		b := classtest.NewBuilder(61, class)
		body := classtest.NewAssembler()
		if calls != "" {
			body = body.Op("invokestatic", b.Method("app/Task", calls, "()V"))
		}
		b.AddMethod(9, name, "()V", body.Op("return").Code(b, 1, 0))
		if _, err := r.graph.Add(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	root := r.graph.Find(r.patterns.Match)
	p := &r.peek
	p.run, p.below, p.apart, p.roots = r, make(map[classfile.MethodRef]int), make(map[classfile.MethodRef]int), map[classfile.MethodRef]bool{root[0]: true}
	frame := func(class, name string) jfr.Frame {
		return jfr.Frame{Method: &jfr.Method{Class: class, Name: name, Descriptor: "()V"}, Kind: jfr.Compiled}
	}
	pool := jfr.Frame{Kind: jfr.Kernel}
	for _, task := range []jfr.Frame{frame("app/Task", "task"), frame("app/Other", "other")} {
		p.count([]jfr.Frame{task, frame("app/Main$$Lambda.0x1", "run"), pool}, true)
	}
	p.count([]jfr.Frame{frame("app/Task", "task"), frame("app/Main", "serve"), pool}, true)
	if got := p.handed(root); len(got) != 1 || got[0].Name != "task" || p.seen != 1 {
		t.Errorf("the root hands over %v, and was seen %d times; want task and 1", got, p.seen)
	}
}

// TestFewStacksMakeAClassLookHotter compares classes on the same part of few and many
// stacks.
func TestFewStacksMakeAClassLookHotter(t *testing.T) {
	heat := func(stacks, hit int) float64 {
		p := &peek{}
		for i := range stacks {
			stack := map[string]bool{"Other": true}
			if i < hit {
				stack["Hot"] = true
			}
			p.running = append(p.running, stack)
		}
		return p.heat(map[string]bool{"Hot": true})
	}
	for _, c := range []struct{ stacks, hit int }{{20, 0}, {200, 0}, {20, 2}, {200, 20}, {20, 20}} {
		got, seen := heat(c.stacks, c.hit), float64(c.hit)/float64(c.stacks)
		if got < seen || got > 1 {
			t.Errorf("seen on %d of %d stacks, its heat is %.3f", c.hit, c.stacks, got)
		}
	}
	if heat(20, 0) <= heat(200, 0) || heat(20, 2) <= heat(200, 20) {
		t.Error("few stacks count as much as many")
	}
	if many := heat(2000, 200); many > 0.11 {
		t.Errorf("on 200 of 2000 stacks, its heat is %.3f", many)
	}
}
