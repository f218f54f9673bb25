package jfr

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func samplesOf(t *testing.T, data []byte) Batch {
	t.Helper()
	b, err := ReadSamples(bytes.NewReader(data), int64(len(data)))
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

// render writes a value as a text, to compare.
func render(v Value) string {
	switch v.Kind() {
	case Null:
		return "null"
	case String:
		return fmt.Sprintf("%q", v.Text())
	case Float, Double:
		return fmt.Sprint(v.Float())
	case Struct:
		var fields []string
		for f, field := range v.Fields() {
			fields = append(fields, f.Name+"="+render(field))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case Array:
		var elements []string
		for e := range v.Elements() {
			elements = append(elements, render(e))
		}
		return "[" + strings.Join(elements, " ") + "]"
	}
	return fmt.Sprint(v.Int())
}

func TestEveryKindOfValue(t *testing.T) {
	want := map[string]string{
		"boolean": "1", "byte": "-2", "short": "-3", "char": "223", "int": "-7", "long": "-4611686018427387904",
		"float": "1.5", "double": "-2.25",
		"texts":  `[null "" "pooled" "größer €" "a😀" "zé"]`,
		"points": "[{x=0 y=0} {x=1 y=0.5}]", "point": "{x=-3 y=3}", "symbols": `["add" null]`,
	}
	for _, fixed := range []bool{false, true} {
		data := syntheticChunk(fixed)
		shown := 0
		_, err := Read(bytes.NewReader(data), int64(len(data)), Visitor{
			Wants: func(t *Type) bool { return t.Name == "test.Everything" },
			Event: func(e *Event) bool {
				shown++
				if err := e.Check(); err != nil {
					t.Error(err)
				}
				if want := time.Unix(0, testNanos+500); !e.Start().Equal(want) {
					t.Errorf("begins at %v, want %v", e.Start(), want)
				}
				for name, text := range want {
					if got := render(e.Field(name)); got != text {
						t.Errorf("fixed %v: field %s is %s, want %s", fixed, name, got, text)
					}
				}
				return true
			},
		})
		if err != nil || shown != 1 {
			t.Errorf("fixed %v: %d events shown, error %v; want 1", fixed, shown, err)
		}
	}
}

func TestWhatIsNoRecording(t *testing.T) {
	for _, data := range []string{"", "FLR", strings.Repeat("x", 200)} {
		if _, err := ReadSamples(strings.NewReader(data), int64(len(data))); !errors.Is(err, ErrNoRecording) {
			t.Errorf("%d bytes of something else: %v, want %v", len(data), err, ErrNoRecording)
		}
	}
	for _, version := range [][2]byte{{0, 9}, {1, 0}, {3, 0}} {
		data := syntheticChunk(false)
		data[5], data[7] = version[0], version[1]
		_, err := ReadSamples(bytes.NewReader(data), int64(len(data)))
		var refused *VersionError
		if !errors.As(err, &refused) || refused.Major != uint16(version[0]) || refused.Minor != uint16(version[1]) {
			t.Errorf("version %v: %v, want a VersionError that names it", version, err)
		}
	}
}

func TestSeveralChunksInAFile(t *testing.T) {
	chunk := syntheticChunk(false)
	garbage := []byte("garbage between chunks")
	for _, c := range []struct {
		name    string
		data    []byte
		samples int
		losses  []Defect
	}{
		{"two", bytes.Repeat(chunk, 2), 6, nil},
		{"garbage between", bytes.Join([][]byte{chunk, chunk}, garbage), 6, []Defect{Corrupt}},
		{"garbage after", append(bytes.Clone(chunk), garbage...), 3, []Defect{Corrupt}},
		{"another version between", bytes.Join([][]byte{chunk, otherVersion(chunk), chunk}, nil), 6, []Defect{OtherVersion}},
		{"never finished", bytes.Join([][]byte{unsized(chunk), chunk}, nil), 3, []Defect{Unfinished}},
		{"the first says it is longer", bytes.Join([][]byte{lengthened(chunk, 1000), chunk}, nil), 6, []Defect{Truncated}},
		{"written after the last flush", bytes.Join([][]byte{flushed(chunk), []byte("tail"), chunk}, nil), 6, []Defect{Unfinished}},
	} {
		b := samplesOf(t, c.data)
		var defects []Defect
		for _, l := range b.Losses {
			defects = append(defects, l.Defect)
			if strings.Contains(l.Error(), "\n") {
				t.Errorf("%s: a loss of more than a line: %q", c.name, l.Error())
			}
		}
		if len(b.Samples) != c.samples || fmt.Sprint(defects) != fmt.Sprint(c.losses) {
			t.Errorf("%s: %d samples, %v; want %d, %v", c.name, len(b.Samples), b.Losses, c.samples, c.losses)
		}
	}
}

func otherVersion(chunk []byte) []byte {
	c := bytes.Clone(chunk)
	c[5] = 1
	return c
}

// unsized is as JDK 11 has a chunk that it writes.
func unsized(chunk []byte) []byte {
	c := bytes.Clone(chunk)
	clear(c[8:32])
	return c
}

func lengthened(chunk []byte, by int) []byte {
	c := bytes.Clone(chunk)
	size := len(c) + by
	c[14], c[15] = byte(size>>8), byte(size)
	return c
}

func flushed(chunk []byte) []byte {
	c := bytes.Clone(chunk)
	c[64] = 7
	return c
}
