package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
	expr, err := condition.Parse(text)
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

// isLabelled tells whether a label was announced as that of the tag's value.
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

		// At the end of a stack exits go missing; what comes then is told as before.
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
