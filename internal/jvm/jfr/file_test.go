package jfr

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readBytes reads a file with these bytes.
func readBytes(t testing.TB, data []byte) (*Recording, []Sample, error) {
	t.Helper()
	var samples []Sample
	r, err := read(t.Context(), bytes.NewReader(data), int64(len(data)), "saved.jfr", true, func(more []Sample) { samples = append(samples, more...) })
	return r, samples, err
}

func TestFilesOfSeveralChunks(t *testing.T) {
	chunk := syntheticChunk()
	unfinished := bytes.Clone(chunk)
	copy(unfinished[8:], make([]byte, 8)) // the JVM was killed before it wrote the size
	noOffset := bytes.Clone(chunk)
	copy(noOffset[24:], make([]byte, 8))
	join := func(chunks ...[]byte) []byte { return bytes.Join(chunks, nil) }
	for _, test := range []struct {
		name    string
		data    []byte
		samples int
		lost    string
	}{
		{"one chunk", chunk, 3, ""},
		{"three chunks", join(chunk, chunk, chunk), 9, ""},
		{"the last is unfinished", join(chunk, unfinished), 6, ""},
		{"metadata that the header does not name", noOffset, 3, ""},
		{"the last is cut, without the stacks", join(chunk, chunk[:len(chunk)-9]), 6, "before its chunk"},
		{"other bytes at the end", join(chunk, []byte("what is this")), 3, "does not begin with FLR"},
		{"another version at the end", join(chunk, otherVersion(chunk)), 3, "version 1"},
		{"a chunk without events", join(chunk, chunk[:headerSize]), 3, "before its chunk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, samples, err := readBytes(t, test.data)
			if err != nil || len(samples) != test.samples {
				t.Fatalf("%d samples, error %v, want %d samples", len(samples), err, test.samples)
			}
			lost := ""
			for _, l := range r.Losses {
				lost += l.Error()
			}
			if !strings.Contains(lost, test.lost) || test.lost == "" && lost != "" {
				t.Errorf("lost: %q, want %q", lost, test.lost)
			}
			if s := samples[0]; s.Thread.Name != "thread-1" || len(s.Stack.Frames) != 2 {
				t.Errorf("sample %+v, want one of thread-1 with two frames", s)
			}
		})
	}
}

func TestFilesThatAreNoRecordings(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "text": strings.Repeat("text ", 100), "version": string(otherVersion(syntheticChunk()))} {
		r, _, err := readBytes(t, []byte(data))
		if name == "empty" {
			if err != nil || !r.From.IsZero() {
				t.Errorf("an empty file: %+v, %v", r, err)
			}
			continue
		}
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an error of one line", name, err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe.jfr")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(t.Context(), pipe, false, nil); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestProcessorTimeOfThreads(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	for _, test := range []struct {
		name string
		load load
		want time.Duration
	}{
		{"all the time", load{used: 10 * time.Second, covered: 20 * time.Second, first: at(0), last: at(20)}, 12500 * time.Millisecond},
		{"it ended early", load{used: 3 * time.Second, covered: 5 * time.Second, first: at(0), last: at(5)}, 3 * time.Second},
		{"it began late", load{used: 3 * time.Second, covered: 5 * time.Second, first: at(20), last: at(25)}, 3 * time.Second},
		{"nothing is known", load{}, 0},
	} {
		if got := test.load.whole(at(0), at(25), 10*time.Second); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestChunksThatExhaustMemory reads chunks that claim more than a JVM writes.
func TestChunksThatExhaustMemory(t *testing.T) {
	// Each method has the same long name, and each stack all methods.
	const methods, stacks = 5_000, 20
	long := strings.Repeat("x", maxText-1)
	w := &writer{b: make([]byte, headerSize)}
	for key := range int64(stacks) {
		w.sample(10, key+1)
	}
	metadata := int64(len(w.b))
	w.metadata(syntheticClasses)
	checkpoint := int64(len(w.b))
	w.checkpoint(0, 3, func(w *writer) {
		w.poolOf(idSymbol, 1)
		w.long(1)
		w.text(long)
		w.poolOf(idMethod, methods)
		for key := range int64(methods) {
			w.long(key + 1)
			w.long(1)
			w.long(1)
			w.long(1)
			w.int(9)
			w.byte(0)
		}
		w.poolOf(idStack, stacks)
		for key := range int64(stacks) {
			w.long(key + 1)
			w.byte(0)
			w.int(methods)
			for method := range int64(methods) {
				w.long(method + 1)
				w.int(1)
				w.int(1)
				w.long(1)
			}
		}
	})
	w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
	made, known := 0, map[*Method]bool{}
	r, err := read(t.Context(), bytes.NewReader(w.b), int64(len(w.b)), "", false, func(samples []Sample) {
		for _, s := range samples {
			for _, f := range s.Stack.Frames {
				if made += frameBytes; !known[f.Method] {
					known[f.Method] = true
					made += len(f.Method.Name)
				}
			}
		}
	})
	if err != nil || made > maxMade || len(r.Losses) == 0 {
		t.Errorf("%d bytes were made, losses %v, error %v; want at most %d bytes, and losses", made, r.Losses, err, maxMade)
	}
}

// FuzzFile checks that reading any file ends without a panic, and with no more samples than the file
// has bytes.
func FuzzFile(f *testing.F) {
	chunk := syntheticChunk()
	f.Add(chunk)
	f.Add(append(bytes.Clone(chunk), chunk...))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, samples, err := readBytes(t, data)
		if err == nil && (len(samples) > len(data) || len(r.Losses) > maxLosses) {
			t.Errorf("%d samples and %d losses in %d bytes", len(samples), len(r.Losses), len(data))
		}
	})
}
