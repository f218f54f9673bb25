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
	f := Follow(dir)
	defer f.Close()
	b, err := f.Poll()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSamplesOfAChunk(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		b := samplesOf(t, syntheticChunk(fixed))
		if len(b.Samples) != 3 || len(b.Losses) != 0 {
			t.Fatalf("fixed %v: %d samples, losses %v; want 3 and none", fixed, len(b.Samples), b.Losses)
		}
		s := b.Samples[1]
		if want := time.Unix(0, testNanos+2000); !s.At.Equal(want) {
			t.Errorf("fixed %v: taken at %v, want %v", fixed, s.At, want)
		}
		if s.State != "STATE_RUNNABLE" || s.Thread.Name != "thread-1" || s.Thread.OSID != 100 || s.Thread.JavaID != 1 {
			t.Errorf("fixed %v: state %q thread %+v", fixed, s.State, *s.Thread)
		}
		if !s.Stack.Truncated || len(s.Stack.Frames) != 2 {
			t.Fatalf("fixed %v: stack %+v", fixed, s.Stack)
		}
		f := s.Stack.Frames[1]
		want := Method{Class: "shop/Cart", Name: "sum", Descriptor: "()V", Modifiers: 9}
		if *f.Method != want || f.Line != 11 || f.BCI != 1 || f.Kind != Compiled {
			t.Errorf("fixed %v: frame %+v of %+v", fixed, f, *f.Method)
		}
		if b.Samples[0].Stack != b.Samples[2].Stack || b.Samples[0].Thread != s.Thread {
			t.Errorf("fixed %v: samples with the same stack and thread do not share them", fixed)
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
	case kindFloat, kindDouble:
		return fmt.Sprint(v.float())
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

func TestEveryKindOfValue(t *testing.T) {
	want := map[string]string{
		"boolean": "1", "byte": "-2", "short": "-3", "char": "223", "int": "-7", "long": "-4611686018427387904",
		"float": "1.5", "double": "-2.25",
		"texts":  `[null "" "pooled" "größer €" "a😀" "zé"]`,
		"points": "[{x=0 y=0} {x=1 y=0.5}]", "point": "{x=-3 y=3}", "symbols": `["add" null]`,
	}
	for _, fixed := range []bool{false, true} {
		shown := 0
		_, err := readChunks(syntheticChunk(fixed), func(e event) {
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
				if want := time.Unix(0, testNanos+500); f.name == "startTime" && !v.time().Equal(want) {
					t.Errorf("begins at %v, want %v", v.time(), want)
				}
			}
			for name, text := range want {
				if got[name] != text {
					t.Errorf("fixed %v: field %s is %s, want %s", fixed, name, got[name], text)
				}
			}
		})
		if err != nil || shown != 1 {
			t.Errorf("fixed %v: %d events shown, error %v; want 1", fixed, shown, err)
		}
	}
}

func TestParseHeaderRefusesOtherFormats(t *testing.T) {
	for _, data := range []string{"", "FLR", strings.Repeat("x", 200)} {
		if _, err := parseHeader([]byte(data)); !errors.Is(err, ErrNoRecording) {
			t.Errorf("%d bytes of something else: %v, want %v", len(data), err, ErrNoRecording)
		}
	}
	for _, version := range [][2]byte{{0, 9}, {1, 0}, {3, 0}} {
		data := syntheticChunk(false)
		data[5], data[7] = version[0], version[1]
		_, err := parseHeader(data)
		var refused *VersionError
		if !errors.As(err, &refused) || refused.Major != uint16(version[0]) || refused.Minor != uint16(version[1]) {
			t.Errorf("version %v: %v, want a VersionError with it", version, err)
		}
	}
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
	for _, fixed := range []bool{false, true} {
		whole := syntheticChunk(fixed)
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
}

// TestDamageInTheMiddle overwrites the size of an event: the events before it, and those that
// the header leads to after it, are read.
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

// TestCheckpointsThatLeadInCircles links a checkpoint to itself, with a damaged event before
// it so that the links are needed.
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
	_, _, _, _, _ = v.int(), v.float(), v.text(), v.time(), v.duration()
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

// FuzzMetadata reads chunks with a valid header and any other bytes.
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
