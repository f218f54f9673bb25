package drill

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// sampled returns a result of samples, each for 10 ms if it says nothing else.
func sampled(samples ...jfr.Sample) (r *Result, last classfile.MethodRef) {
	s := NewStacks(func(m classfile.MethodRef) bool {
		return m.Class == "a/Shop" && (m.Name == "handle" || m.Name == "other")
	})
	s.Add(samples, 10*ms)
	r = &Result{Methods: []string{"a.Shop.*"}, Took: time.Second, Unhooked: &Unhooked{Why: "agents are forbidden"}}
	return r, s.Describe(r)
}

func TestStacksLeadToAWait(t *testing.T) {
	sleeping := jfr.Sample{Wait: jfr.Sleeping, Stack: stack("java.lang.Thread.sleep0", "java.lang.Thread.sleep", "a.Bank.pause", "java.util.ArrayList.forEach", "a.Shop.pay", "a.Shop.handle", "a.Server.run")}
	all := slices.Repeat([]jfr.Sample{sleeping}, 7)
	all = append(all,
		jfr.Sample{Stack: stack("java.util.HashMap.get", "a.Shop.load", "a.Shop.handle", "a.Server.run")},
		jfr.Sample{Stack: stack("a.Shop.pay", "a.Shop.handle", "a.Server.run"), Period: 20 * ms},
		jfr.Sample{Stack: stack("a.Shop.other")},
		jfr.Sample{Stack: stack("a.Server.run")},
		jfr.Sample{},
	)
	r, last := sampled(all...)
	var path []string
	for _, l := range r.Path {
		path = append(path, l.Name())
	}
	if got, want := strings.Join(path, " "), "a.Shop.handle a.Shop.pay a.Bank.pause"; got != want {
		t.Errorf("path: got %s, want %s", got, want)
	}
	if r.Unhooked.Samples != 9 || r.Unhooked.Threads != 0.1 || r.Path[1].Samples != 8 || format.Percent(r.Path[1].Share.Part) != "90 %" || r.Path[1].Slow != 0 {
		t.Errorf("got %+v, %+v, want 9 samples of 100 ms in one second, 8 of them and 90 %% of the time in pay", r.Unhooked, r.Path[1])
	}
	if others := r.Path[0].Beside(); len(others) != 1 || others[0].Method != "load" || math.Abs(others[0].Share.Part-0.1) > 0.001 {
		t.Errorf("got %+v, want load with 10 %% beside the path", others)
	}
	if c := r.Cause; c.Kind != Sleeps || format.Percent(c.Share) != "70 %" || c.Text != "a.Bank.pause sleeps in java.lang.Thread.sleep" || last.QualifiedName() != "a.Bank.pause" {
		t.Errorf("got %+v in %v, want the sleep of pause with 70 %%", c, last)
	}
	want := []string{
		"without hooks: samples show where the time below a.Shop.handle goes; slow calls are not distinguished from normal calls",
		"the JVM got no hooks: agents are forbidden",
		"9 samples in 1.00 s: on average 0.1 threads executed a.Shop.handle",
		"where it goes: a.Bank.pause sleeps in java.lang.Thread.sleep (70 % of the time below a.Shop.handle)",
	}
	if got := r.Summary(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Doubts(); len(got) != 1 || got[0] != "only 9 samples: the shares are rough" {
		t.Errorf("got %q, want that there are few samples", got)
	}
}

func TestStacksThatAreSpread(t *testing.T) {
	r, _ := sampled(
		jfr.Sample{Stack: stack("a.Shop.one", "a.Shop.handle")}, jfr.Sample{Stack: stack("a.Shop.two", "a.Shop.handle")},
		jfr.Sample{Stack: stack("a.Shop.three", "a.Shop.handle")}, jfr.Sample{Stack: stack("a.Shop.four", "a.Shop.handle")},
	)
	if c := r.Cause; c.Kind != Divided || c.Text != "several callees of a.Shop.handle have a part of the time, and none has most of it" {
		t.Errorf("got %+v, want several callees", c)
	}
}

func TestStacksWithoutTheMethod(t *testing.T) {
	broken := stack("a.Server.run")
	broken.Broken = true
	s := NewStacks(func(classfile.MethodRef) bool { return false })
	s.Add([]jfr.Sample{{Stack: broken}, {Stack: stack("a.Server.run")}}, ms)
	r := &Result{Methods: []string{"a.Shop.handle"}, Took: time.Second, Unhooked: &Unhooked{}}
	if s.Describe(r); r.Cause != nil || s.Lost() != 1 || s.IsEnough(time.Hour) {
		t.Errorf("got %+v, %d lost, want nothing and one stack that is not complete", r.Cause, s.Lost())
	}
	if got := r.Summary(); got[2] != "no sample shows a.Shop.handle in 1.00 s" || r.Doubts() != nil {
		t.Errorf("got %q, %q, want that no sample shows it", got, r.Doubts())
	}
}
