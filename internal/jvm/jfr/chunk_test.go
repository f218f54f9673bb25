package jfr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// samplesOf reads the samples of a chunk as a Follower finds it in a repository.
func samplesOf(t *testing.T, data []byte) Batch {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "chunk.jfr"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Follow(os.DirFS(dir))
	defer f.Close()
	b, err := f.Poll()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSamplesOfAChunk(t *testing.T) {
	b := samplesOf(t, syntheticChunk())
	if len(b.Samples) != 3 || len(b.Losses) != 0 {
		t.Fatalf("%d samples, losses %v; want 3 and none", len(b.Samples), b.Losses)
	}
	s := b.Samples[1]
	if want := time.Unix(0, testNanos+2000); !s.At.Equal(want) {
		t.Errorf("taken at %v, want %v", s.At, want)
	}
	if s.State != "STATE_RUNNABLE" || s.Thread.Name != "thread-1" || s.Thread.OSID != 100 || s.Thread.JavaID != 1 {
		t.Errorf("state %q thread %+v", s.State, *s.Thread)
	}
	if !s.Stack.Truncated || len(s.Stack.Frames) != 2 {
		t.Fatalf("stack %+v", s.Stack)
	}
	f := s.Stack.Frames[1]
	want := Method{Class: "shop/Cart", Name: "sum", Descriptor: "()V", Modifiers: 9}
	if *f.Method != want || f.Line != 11 || f.BCI != 1 || f.Kind != Compiled {
		t.Errorf("frame %+v of %+v", f, *f.Method)
	}
	if b.Samples[0].Stack != b.Samples[2].Stack || b.Samples[0].Thread != s.Thread {
		t.Errorf("samples with the same stack and thread do not share them")
	}
}

func TestVirtualThreadsAreOne(t *testing.T) {
	w := &writer{b: make([]byte, headerSize)}
	w.sampleOf(2, 10, 1)
	metadata := int64(len(w.b))
	w.metadata(syntheticClasses)
	checkpoint := int64(len(w.b))
	w.values(0)
	w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
	b := samplesOf(t, w.b)
	if len(b.Samples) != 1 || b.Samples[0].Thread != VirtualThreads {
		t.Errorf("samples %+v, want one of %+v", b.Samples, VirtualThreads)
	}
}

func TestFramesOfAsyncProfiler(t *testing.T) {
	for _, tt := range []struct {
		frameType, class, descriptor string
		want                         FrameKind
	}{
		{"C1 compiled", "shop/Cart", "()V", C1},
		{"Native", "java/lang/Thread", "()V", Native},
		{"Native", "libc.so.6", "()L;", Library},
		{"C++", "libjvm.so", "()L;", VM},
		{"C++", "libfast.so", "()L;", Library},
		{"Kernel", "kernel", "()L;", Kernel},
	} {
		w := &writer{b: make([]byte, headerSize), class: tt.class, descriptor: tt.descriptor, frameType: tt.frameType}
		w.sample(10, 1)
		metadata := int64(len(w.b))
		w.metadata(syntheticClasses)
		checkpoint := int64(len(w.b))
		w.values(0)
		w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
		if f := samplesOf(t, w.b).Samples[0].Stack.Frames[0]; f.Kind != tt.want || f.Method.Class != tt.class {
			t.Errorf("%s of %s%s: got a frame %q of %s, want %q", tt.frameType, tt.class, tt.descriptor, f.Kind, f.Method.Class, tt.want)
		}
	}
}

// render writes a value as text, to compare.
func render(v value) string {
	switch v.realKind() {
	case kindNull:
		return "null"
	case kindString:
		return fmt.Sprintf("%q", v.text())
	case kindStruct:
		var fields []string
		for f, field := range v.members() {
			fields = append(fields, f.name+"="+render(field))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case kindArray:
		var elements []string
		for e := range v.elements() {
			elements = append(elements, render(e))
		}
		return "[" + strings.Join(elements, " ") + "]"
	}
	return fmt.Sprint(v.int())
}

// TestEveryKindOfValue shows floating point numbers as 0: they are skipped.
func TestEveryKindOfValue(t *testing.T) {
	want := map[string]string{
		"boolean": "1", "byte": "-2", "short": "-3", "char": "223", "int": "-7", "long": "-4611686018427387904",
		"texts":  `[null "" "pooled" "größer €" "a😀" "zé"]`,
		"points": "[{x=0 y=0} {x=1 y=0}]", "point": "{x=-3 y=0}", "symbols": `["add" null]`,
	}
	shown := 0
	_, err := readChunks(syntheticChunk(), func(e event) {
		if e.typ.name != "test.Everything" {
			return
		}
		shown++
		if err := e.check(); err != nil {
			t.Error(err)
		}
		got := map[string]string{}
		for f, v := range e.fields() {
			got[f.name] = render(v)
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("field %s is %s, want %s", name, got[name], text)
			}
		}
	})
	if err != nil || shown != 1 {
		t.Errorf("%d events shown, error %v; want 1", shown, err)
	}
}

func TestParseHeaderRefusesOtherFormats(t *testing.T) {
	refused := func(data []byte, want Defect) {
		t.Helper()
		_, err := parseHeader(data)
		var loss Loss
		if !errors.As(err, &loss) || loss.Defect != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, data := range []string{"", "FLR", strings.Repeat("x", 200)} {
		refused([]byte(data), Corrupt)
	}
	for _, version := range [][2]byte{{0, 9}, {1, 0}, {3, 0}} {
		data := syntheticChunk()
		data[5], data[7] = version[0], version[1]
		refused(data, OtherVersion)
	}
	uncompressed := syntheticChunk()
	uncompressed[67] = 0
	refused(uncompressed, OtherVersion)
}

func otherVersion(chunk []byte) []byte {
	c := bytes.Clone(chunk)
	c[5] = 1
	return c
}

// benchSize is the size of the recordings to read, reached by repeating one.
const benchSize = 64 << 20

// BenchmarkSamples prints the MB/s of reading the samples of a recording with every event on.
func BenchmarkSamples(b *testing.B) {
	eachRecording(b, func(b *testing.B, data []byte) {
		found, err := readChunks(data, nil)
		if err != nil || len(found.Samples) == 0 {
			b.Fatalf("%d samples, error %v", len(found.Samples), err)
		}
	})
}

// eachRecording runs a benchmark on a recording of each JDK.
func eachRecording(b *testing.B, read func(b *testing.B, data []byte)) {
	for _, jdk := range jvmtest.Installed() {
		b.Run(fmt.Sprintf("jdk%d", jdk.Major), func(b *testing.B) {
			data, err := os.ReadFile(record(b, jdk, 2000))
			if err != nil {
				b.Fatal(err)
			}
			data = bytes.Repeat(data, 1+benchSize/len(data))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				read(b, data)
			}
			// The wall clock would include other work of the machine.
			spent := processorTime(b) - before
			b.ReportMetric(float64(len(data))*float64(b.N)/1e6/spent.Seconds(), "MB/cpu-s")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestTruncatedAnywhere cuts a chunk at each byte: complete samples are read, and the rest is
// reported.
func TestTruncatedAnywhere(t *testing.T) {
	whole := syntheticChunk()
	before := 0
	for n := headerSize; n < len(whole); n++ {
		b := samplesOf(t, whole[:n])
		if len(b.Losses) == 0 {
			t.Fatalf("cut at %d of %d, no loss is reported", n, len(whole))
		}
		for _, l := range b.Losses {
			if strings.Contains(l.Error(), "\n") {
				t.Errorf("a loss of more than a line: %q", l.Error())
			}
		}
		if len(b.Samples) < before {
			t.Fatalf("cut at %d, there are %d samples, with fewer bytes %d", n, len(b.Samples), before)
		}
		before = len(b.Samples)
	}
	if b := samplesOf(t, whole); len(b.Samples) != 3 || len(b.Losses) != 0 {
		t.Errorf("the whole chunk has %d samples and losses %v, want 3 and none", len(b.Samples), b.Losses)
	}
}

// TestDamageInTheMiddle overwrites the size of an event: the events before it are read, and
// the next flush is.
func TestDamageInTheMiddle(t *testing.T) {
	for _, size := range []byte{0, 0x7f} {
		dir := t.TempDir()
		c := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
		c.w.sample(10, 1)
		c.flush(2)
		f := Follow(os.DirFS(dir))
		defer f.Close()
		wantTicks(t, f, "of the first flush", 10)
		c.w.sample(20, 1)
		damaged := len(c.w.b)
		c.w.sample(30, 1)
		c.flush(3)
		copy(c.w.b[damaged:], []byte{size, size, size, size})
		c.save()
		b, err := f.Poll()
		if err != nil || len(b.Samples) != 1 || len(b.Losses) == 0 || b.Losses[0].Defect != Corrupt || b.Losses[0].Offset < int64(damaged) {
			t.Errorf("size %d at %d: %d samples, %v, %v; want one, and the rest lost", size, damaged, len(b.Samples), b.Losses, err)
		}
		c.w.sample(40, 1)
		c.flush(stateFinished)
		wantTicks(t, f, "of the flush after the damage", 40)
	}
}

// TestTypesThatContainThemselves checks that reading values without an end does end.
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

// TestSamplesWithoutTheirStack checks that such samples are returned.
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

// readAll reads every field of every event.
func readAll(data []byte) (events int) {
	_, _ = readChunks(data, func(e event) {
		events++
		_ = e.check()
		for _, v := range e.fields() {
			touch(v, 3)
		}
	})
	return events
}

func touch(v value, depth int) {
	_, _ = v.int(), v.text()
	if depth == 0 {
		return
	}
	for _, field := range v.members() {
		touch(field, depth-1)
	}
	for e := range v.elements() {
		touch(e, depth-1)
	}
}

// FuzzRead checks that reading any data ends without a panic and with no more events than
// there are bytes.
func FuzzRead(f *testing.F) {
	chunk := syntheticChunk()
	f.Add(chunk)
	f.Add(append(bytes.Clone(chunk), chunk...))
	f.Add(chunk[:len(chunk)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := readAll(data); n > len(data) {
			t.Errorf("%d events in %d bytes", n, len(data))
		}
	})
}

// FuzzMetadata reads chunks with a valid header and any other bytes.
func FuzzMetadata(f *testing.F) {
	chunk := syntheticChunk()
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
