package overhead

import (
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

func samplesOf(class string, kinds map[jfr.FrameKind]int) (all []paceSample) {
	now := time.Now()
	for kind, n := range kinds {
		stack := &jfr.Stack{Frames: []jfr.Frame{{Kind: kind, Method: &jfr.Method{Class: class, Name: "m", Descriptor: "()V"}}}}
		for range n {
			all = append(all, paceSample{at: now, kind: kind, stack: stack})
		}
	}
	return all
}

func TestPace(t *testing.T) {
	isHooked := func(m classfile.MethodRef) bool { return m.Class == "Hooked" }
	fast := map[jfr.FrameKind]int{jfr.C2: 390, jfr.C1: 8, jfr.Interpreted: 2}
	slow := map[jfr.FrameKind]int{jfr.C2: 20, jfr.C1: 200, jfr.Interpreted: 180}
	firstTier := map[jfr.FrameKind]int{jfr.C2: 200, jfr.C1: 198, jfr.Interpreted: 2}
	for name, tt := range map[string]struct {
		before, after []paceSample
		by            string
		former        bool
	}{
		"as before":                        {samplesOf("Other", fast), samplesOf("Other", fast), ByProgram, true},
		"interpreted":                      {samplesOf("Other", fast), samplesOf("Other", slow), ByProgram, false},
		"in code of the first compiler":    {samplesOf("Other", fast), samplesOf("Other", firstTier), ByProgram, false},
		"it was slow before":               {samplesOf("Other", slow), samplesOf("Other", slow), ByProgram, true},
		"faster than before":               {samplesOf("Other", slow), samplesOf("Other", fast), ByProgram, true},
		"hooked methods are still slow":    {append(samplesOf("Hooked", fast), samplesOf("Other", fast)...), append(samplesOf("Hooked", slow), samplesOf("Other", fast)...), ByHooked, false},
		"only other methods are slow":      {append(samplesOf("Hooked", fast), samplesOf("Other", fast)...), append(samplesOf("Hooked", fast), samplesOf("Other", slow)...), ByHooked, true},
		"hooked methods are hardly called": {samplesOf("Other", fast), append(samplesOf("Hooked", map[jfr.FrameKind]int{jfr.Interpreted: 3}), samplesOf("Other", fast)...), ByProgram, true},
		"an idle program":                  {nil, samplesOf("Other", map[jfr.FrameKind]int{jfr.Interpreted: 9}), ByCompilers, false},
	} {
		p := &Pace{before: tt.before, after: tt.after}
		got := p.compare(isHooked)
		former := got.Now != nil && got.Now.isFormer(*got.Before)
		if got.By != tt.by || former != tt.former {
			t.Errorf("%s: by %s, as before: %v; want by %s, %v (%+v)", name, got.By, former, tt.by, tt.former, got)
		}
	}
}

// The longer ago the change, the longer a program must have run as before.
func TestOneFastWindowOfASlowProgram(t *testing.T) {
	now := time.Now()
	var after []paceSample
	for ago := 5 * time.Second; ago > 0; ago -= 5 * time.Millisecond {
		kind := jfr.C2
		if ago > time.Second && ago/(5*time.Millisecond)%4 == 0 {
			kind = jfr.C1
		}
		after = append(after, paceSample{at: now.Add(-ago), kind: kind, stack: &jfr.Stack{}})
	}
	before := samplesOf("Other", map[jfr.FrameKind]int{jfr.C2: 390, jfr.C1: 10})
	for _, tt := range []struct {
		changed time.Duration // ago
		former  bool
	}{{3 * time.Second, true}, {20 * time.Second, false}, {time.Hour, false}} {
		p := &Pace{before: before, after: after, changed: now.Add(-tt.changed)}
		if got := p.compare(func(classfile.MethodRef) bool { return false }); got.Now.isFormer(*got.Before) != tt.former {
			t.Errorf("%v after the change: as before: %v, want %v (%+v)", tt.changed, !tt.former, tt.former, *got.Now)
		}
	}
}

func TestKindOfSample(t *testing.T) {
	frame := func(kind jfr.FrameKind) jfr.Frame { return jfr.Frame{Kind: kind, Method: &jfr.Method{Class: "a"}} }
	hook := jfr.Frame{Kind: jfr.C2, Method: &jfr.Method{Class: "java/lang/SondeHooksTree"}}
	program, gc := &jfr.Thread{Name: "main"}, &jfr.Thread{Name: "GC Thread#0"}
	for _, tt := range []struct {
		thread *jfr.Thread
		frames []jfr.Frame
		want   jfr.FrameKind
	}{
		{program, []jfr.Frame{frame(jfr.Inlined), frame(jfr.Inlined), frame(jfr.C1), frame(jfr.C2)}, jfr.C1},
		{program, []jfr.Frame{frame(jfr.Library), frame(jfr.Native), frame(jfr.Interpreted)}, jfr.Interpreted},
		{program, []jfr.Frame{frame(jfr.Native), hook, frame(jfr.Interpreted)}, jfr.Interpreted},
		{program, []jfr.Frame{frame(jfr.VM)}, jfr.UnknownKind},
		{program, nil, jfr.UnknownKind},
		{gc, []jfr.Frame{frame(jfr.C2)}, jfr.UnknownKind},
	} {
		if got := kindOf(jfr.Sample{Thread: tt.thread, Stack: &jfr.Stack{Frames: tt.frames}}); got != tt.want {
			t.Errorf("%v in %s: %q, want %q", tt.frames, tt.thread.Name, got, tt.want)
		}
	}
}

func TestInHook(t *testing.T) {
	frame := func(kind jfr.FrameKind, class string) jfr.Frame {
		return jfr.Frame{Kind: kind, Method: &jfr.Method{Class: class}}
	}
	for _, tt := range []struct {
		name   string
		frames []jfr.Frame
		want   bool
	}{
		{"the program", []jfr.Frame{frame(jfr.C2, "a"), frame(jfr.C2, "b")}, false},
		{"a hook", []jfr.Frame{frame(jfr.C2, "java/lang/SondeHooks_1"), frame(jfr.C2, "a")}, true},
		{"a method of the JDK that a hook calls", []jfr.Frame{frame(jfr.C1, "java/lang/String"), frame(jfr.Interpreted, "java/lang/SondeHooksTexts"), frame(jfr.C2, "a")}, true},
		{"a hook inlined into the program", []jfr.Frame{frame(jfr.Inlined, "java/lang/SondeHooks"), frame(jfr.C2, "a")}, false},
	} {
		if got := slices.ContainsFunc(tt.frames, isHook); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
