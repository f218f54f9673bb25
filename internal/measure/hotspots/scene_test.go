package hotspots

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A scene makes samples of stacks written as "outer>inner", each of its own
// pointers as two chunks of a recording have them.
type scene struct {
	samples []jfr.Sample
}

var began = time.Unix(1000, 0)

const period = 20 * time.Millisecond

func method(name string) *jfr.Method {
	class, member, _ := strings.Cut(name, ".")
	return &jfr.Method{Class: class, Name: member, Descriptor: "()V"}
}

func thread(id int64) *jfr.Thread {
	return &jfr.Thread{JavaID: id, OSID: 100 + id, Name: "thread " + string(rune('0'+id))}
}

// add takes n samples of a stack, a period apart.
func (s *scene) add(n int, id int64, source jfr.Source, kind jfr.FrameKind, stack string) {
	names := strings.Split(stack, ">")
	for i := range n {
		frames := make([]jfr.Frame, 0, len(names))
		for depth := len(names) - 1; depth >= 0; depth-- {
			frames = append(frames, jfr.Frame{Method: method(names[depth]), Line: 10 + i%2*(depth+1), Kind: kind})
		}
		s.samples = append(s.samples, jfr.Sample{
			At: began.Add(time.Duration(i+1) * period), Source: source, Thread: thread(id), Stack: &jfr.Stack{Frames: frames},
		})
	}
}

// table is what a window of ten seconds makes of the scene, with the processor
// time of threads in it.
func (s *scene) table(used map[int64]time.Duration) *Table {
	w := NewWindow(10 * time.Second)
	var before, after map[int64]time.Duration
	if used != nil {
		before, after = map[int64]time.Duration{}, map[int64]time.Duration{}
		for id, time := range used {
			before[id+100], after[id+100] = 7*period, 7*period+time
		}
	}
	w.Add(began, nil, period, before)
	w.Add(began.Add(10*time.Second), s.samples, period, after)
	return w.Table(began.Add(10 * time.Second))
}

func find(t *Table, name string) Method {
	for _, m := range t.Methods {
		if m.Class+"."+m.Name == name {
			return m
		}
	}
	return Method{}
}
