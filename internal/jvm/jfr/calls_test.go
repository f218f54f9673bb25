package jfr

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

const (
	idTrace = 100 + iota
	idTiming
)

// tracedClasses are the types of chunks with traced calls.
var tracedClasses = append(slices.Clone(syntheticClasses),
	class{id: idTrace, name: "jdk.MethodTrace", event: true, fields: []field{
		{name: "startTime", typ: "long", timestamp: true}, {name: "duration", typ: "long"}, {name: "eventThread", typ: "java.lang.Thread", pooled: true},
		{name: "stackTrace", typ: "jdk.types.StackTrace", pooled: true}, {name: "method", typ: "jdk.types.Method", pooled: true},
	}},
	class{id: idTiming, name: "jdk.MethodTiming", event: true, fields: []field{
		{name: "startTime", typ: "long", timestamp: true}, {name: "method", typ: "jdk.types.Method", pooled: true}, {name: "invocations", typ: "long"},
		{name: "minimum", typ: "long"}, {name: "average", typ: "long"}, {name: "maximum", typ: "long"},
	}},
)

func (w *writer) call(start, took, thread, method int64) {
	w.event(idTrace, func(w *writer) {
		for _, v := range []int64{testTicks + start, took, thread, 0, method} {
			w.long(v)
		}
	})
}

func (w *writer) timing(at, method, calls, mean int64) {
	w.event(idTiming, func(w *writer) {
		for _, v := range []int64{testTicks + at, method, calls, 1, mean, 1 << 40} {
			w.long(v)
		}
	})
}

func spellCalls(b Batch) (all []string) {
	for _, c := range b.Calls {
		all = append(all, fmt.Sprintf("%s thread %d from %v for %v", c.Method.Name, c.Thread.JavaID, c.Start.Sub(time.Unix(0, testNanos)), c.Took))
	}
	for _, t := range b.Timings {
		all = append(all, fmt.Sprintf("%s at %v: %d, mean %v", t.Method.Name, t.At.Sub(time.Unix(0, testNanos)), t.Calls, t.Mean))
	}
	return all
}

func TestTracedCalls(t *testing.T) {
	w := &writer{b: make([]byte, headerSize)}
	w.call(20, 10, 1, 1)
	w.call(10, 40, 2, 2) // a virtual thread
	w.timing(60, 1, 300, 7)
	w.timing(60, 2, 0, -1<<63) // the JVM has no mean
	w.call(10, 40, 1, 9)       // a method that the chunk does not hold
	metadata := int64(len(w.b))
	w.metadata(tracedClasses)
	checkpoint := int64(len(w.b))
	w.values(0)
	w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
	b := samplesOf(t, w.b)
	want := []string{
		"add thread 1 from 2µs for 1µs", "sum thread 2 from 1µs for 4µs",
		"add at 6µs: 300, mean 700ns", "sum at 6µs: 0, mean 0s",
	}
	if got := spellCalls(b); !slices.Equal(got, want) || len(b.Losses) != 1 {
		t.Errorf("got %q, losses %v, want %q and one loss", got, b.Losses, want)
	}
}

// TestTracedCallsKeepTheirOrder reads a call whose method comes with the next flush: calls after it wait for it.
func TestTracedCallsKeepTheirOrder(t *testing.T) {
	dir := t.TempDir()
	c := startChunk(t, dir, "a.jfr")
	f := Follow(os.DirFS(dir))
	defer f.Close()
	c.metadata = int64(len(c.w.b))
	c.w.metadata(tracedClasses)
	c.w.call(20, 10, 1, 1)
	c.w.call(10, 40, 1, 2)
	c.w.header(int64(len(c.w.b)), 0, c.metadata, 1)
	c.save()
	if b, err := f.Poll(); err != nil || len(b.Calls) > 0 {
		t.Fatalf("got %q, %v, want nothing before the methods are known", spellCalls(b), err)
	}
	c.w.call(60, 10, 1, 1)
	c.flush(2)
	b, err := f.Poll()
	want := []string{"add thread 1 from 2µs for 1µs", "sum thread 1 from 1µs for 4µs", "add thread 1 from 6µs for 1µs"}
	if got := spellCalls(b); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
