package jfr

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestTruncatedAnywhere cuts a recording at each byte: what is whole and what
// it names comes out, and something is said of the rest.
func TestTruncatedAnywhere(t *testing.T) {
	whole := append(syntheticChunk(false), syntheticChunk(true)...)
	first := len(syntheticChunk(false))
	before := 0
	for n := headerSize; n < len(whole); n++ {
		b := samplesOf(t, whole[:n])
		if len(b.Losses) == 0 && n != first {
			t.Fatalf("cut at %d of %d, nothing is said of it", n, len(whole))
		}
		if n >= first && len(b.Samples) < 3 {
			t.Fatalf("cut at %d, %d samples are left of the whole chunk before", n, len(b.Samples))
		}
		if len(b.Samples) < before {
			t.Fatalf("cut at %d, there are %d samples, with fewer bytes %d", n, len(b.Samples), before)
		}
		before = len(b.Samples)
	}
}

// TestDamageInTheMiddle spoils the size of an event: what is before it and what
// the header leads to behind it is read.
func TestDamageInTheMiddle(t *testing.T) {
	for _, size := range []byte{0, 0x7f} {
		data := syntheticChunk(false)
		second := headerSize + int(data[headerSize]&0x7f)
		copy(data[second:], []byte{size, size, size, size})
		b := samplesOf(t, data)
		if len(b.Samples) < 2 || len(b.Losses) == 0 || b.Losses[0].Defect != Corrupt || b.Losses[0].Offset < int64(second) {
			t.Errorf("size %d at %d: %d samples, %v; want two at least, and a place from there on", size, second, len(b.Samples), b.Losses)
		}
		if len(b.Samples[0].Stack.Frames) != 2 {
			t.Errorf("size %d: the first sample has lost its stack", size)
		}
	}
}

// TestCheckpointsThatLeadInCircles makes the way through the checkpoints lead
// to itself, where an earlier event is spoiled so that it is needed.
func TestCheckpointsThatLeadInCircles(t *testing.T) {
	for _, before := range []int64{0, 1, 1 << 40} {
		w := &writer{b: make([]byte, headerSize)}
		w.sample(10, 1)
		spoiled := len(w.b)
		w.sample(20, 1)
		metadata := int64(len(w.b))
		w.metadata(syntheticClasses)
		checkpoint := int64(len(w.b))
		w.values(before)
		w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
		clear(w.b[spoiled : spoiled+4])
		if b := samplesOf(t, w.b); len(b.Samples) != 1 || len(b.Samples[0].Stack.Frames) != 2 {
			t.Errorf("a checkpoint %d behind itself: %d samples, %v", before, len(b.Samples), b.Losses)
		}
	}
}

// TestTypesThatContainThemselves has no end to its values, and must have one to
// its reading.
func TestTypesThatContainThemselves(t *testing.T) {
	for name, extra := range map[string][]class{
		"itself": {{id: 90, name: "test.Self", fields: []field{{name: "self", typ: "test.Self"}}}},
		"a list of itself": {{id: 90, name: "test.Self", fields: []field{
			{name: "selves", typ: "test.Self", array: true},
		}}},
		"each other": {
			{id: 90, name: "test.Self", fields: []field{{name: "other", typ: "test.Other"}}},
			{id: 91, name: "test.Other", fields: []field{{name: "self", typ: "test.Self"}, {name: "n", typ: "int"}}},
		},
	} {
		w := &writer{b: make([]byte, headerSize)}
		w.sample(10, 1)
		w.event(92, func(w *writer) { w.b = append(w.b, make([]byte, 50)...) })
		metadata := int64(len(w.b))
		w.metadata(append(append(extra, class{id: 92, name: "test.Event", event: true,
			fields: []field{{name: "self", typ: "test.Self"}}}), syntheticClasses...))
		checkpoint := int64(len(w.b))
		w.values(0)
		w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
		b := samplesOf(t, w.b)
		if len(b.Samples) != 1 || len(b.Losses) != 1 || b.Losses[0].Defect != Unresolved {
			t.Errorf("%s: %d samples, %v; want one, and a word on the event", name, len(b.Samples), b.Losses)
		}
	}
}

// TestSamplesWithoutTheirStack come out all the same.
func TestSamplesWithoutTheirStack(t *testing.T) {
	w := &writer{b: make([]byte, headerSize)}
	w.sample(10, 55)
	w.sample(20, 0) // it never had one
	metadata := int64(len(w.b))
	w.metadata(syntheticClasses)
	checkpoint := int64(len(w.b))
	w.values(0)
	w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
	b := samplesOf(t, w.b)
	if len(b.Samples) != 2 || len(b.Losses) != 1 || b.Losses[0].Defect != Unresolved || b.Losses[0].Count != 1 {
		t.Fatalf("%d samples, %v; want 2, one of them unresolved", len(b.Samples), b.Losses)
	}
	for _, s := range b.Samples {
		if s.Stack == nil || len(s.Stack.Frames) != 0 || s.Thread.Name != "thread-1" {
			t.Errorf("sample %+v, want its thread and a stack without frames", s)
		}
	}
}

func TestTheJVMsOwnLosses(t *testing.T) {
	w := &writer{b: make([]byte, headerSize)}
	w.event(idLost, func(w *writer) {
		w.long(testTicks)
		w.long(4096)
		w.long(8192)
	})
	metadata := int64(len(w.b))
	w.metadata(syntheticClasses)
	w.header(int64(len(w.b)), 0, metadata, stateFinished)
	b := samplesOf(t, w.b)
	if len(b.Losses) != 1 || b.Losses[0].Defect != LostByJVM || b.Losses[0].Count != 4096 {
		t.Errorf("losses %v, want the one of the JVM of 4096 bytes", b.Losses)
	}
}

// readAll touches everything there is in a recording.
func readAll(data []byte) (events int) {
	_, _ = Read(bytes.NewReader(data), int64(len(data)), Visitor{Event: func(e *Event) bool {
		events++
		_ = e.Check()
		e.Start()
		e.Thread()
		e.Stack()
		for _, v := range e.Fields() {
			touch(v, 3)
		}
		return true
	}})
	_, _ = ReadSamples(bytes.NewReader(data), int64(len(data)))
	return events
}

func touch(v Value, depth int) {
	_, _, _, _, _ = v.Int(), v.Float(), v.Text(), v.Time(), v.Duration()
	if depth == 0 {
		return
	}
	for _, field := range v.Fields() {
		touch(field, depth-1)
	}
	for e := range v.Elements() {
		touch(e, depth-1)
	}
}

// FuzzRead holds that whatever a recording is, reading it ends, without a panic
// and with no more events than there are bytes.
func FuzzRead(f *testing.F) {
	for _, fixed := range []bool{false, true} {
		chunk := syntheticChunk(fixed)
		f.Add(chunk)
		f.Add(append(bytes.Clone(chunk), chunk...))
		f.Add(chunk[:len(chunk)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := readAll(data); n > len(data) {
			t.Errorf("%d events in %d bytes", n, len(data))
		}
	})
}

// FuzzMetadata keeps the header right, and lets the rest of a chunk be anything.
func FuzzMetadata(f *testing.F) {
	chunk := syntheticChunk(false)
	metadata := binary.BigEndian.Uint64(chunk[24:])
	f.Add(chunk[headerSize:metadata], chunk[metadata:])
	f.Add([]byte{}, chunk[metadata:])
	f.Fuzz(func(_ *testing.T, before, from []byte) {
		w := writer{b: make([]byte, headerSize)}
		w.b = append(append(w.b, before...), from...)
		w.header(int64(len(w.b)), 0, int64(headerSize+len(before)), stateFinished)
		readAll(w.b)
	})
}
