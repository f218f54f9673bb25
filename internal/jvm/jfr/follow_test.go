package jfr

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A written is a chunk in a repository, written flush by flush as the JVM does.
type written struct {
	t          *testing.T
	path       string
	w          writer
	metadata   int64
	checkpoint int64
}

func startChunk(t *testing.T, dir, name string) *written {
	t.Helper()
	c := &written{t: t, path: filepath.Join(dir, name), w: writer{b: make([]byte, headerSize)}}
	c.w.header(headerSize, 0, 0, 1)
	c.save()
	return c
}

// save writes the file in place, as those who have it open must see it.
func (c *written) save() {
	c.t.Helper()
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(c.w.b, 0); err != nil {
		c.t.Fatal(err)
	}
}

// flush adds values, and metadata the first time, and says so in the header.
func (c *written) flush(state byte) {
	c.t.Helper()
	if c.metadata == 0 {
		c.metadata = int64(len(c.w.b))
		c.w.metadata(syntheticClasses)
	}
	at := int64(len(c.w.b))
	c.w.values(c.checkpoint - at)
	c.checkpoint = at
	c.w.header(int64(len(c.w.b)), c.checkpoint, c.metadata, state)
	c.save()
}

func pollTicks(t *testing.T, f *Follower) (ticks []int64) {
	t.Helper()
	b, err := f.Poll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range b.Losses {
		t.Error(l)
	}
	for _, s := range b.Samples {
		ticks = append(ticks, (s.At.UnixNano()-testNanos)/100)
		if len(s.Stack.Frames) != 2 {
			t.Errorf("the sample at %d has no stack", ticks[len(ticks)-1])
		}
	}
	return ticks
}

func wantTicks(t *testing.T, f *Follower, when string, want ...int64) {
	t.Helper()
	got := pollTicks(t, f)
	if len(got) != len(want) {
		t.Fatalf("%s: samples at %v, want %v", when, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: samples at %v, want %v", when, got, want)
		}
	}
}

func TestFollowingAChunkFlushByFlush(t *testing.T) {
	dir := t.TempDir()
	f := Follow(os.DirFS(dir))
	defer f.Close()
	wantTicks(t, f, "in an empty repository")
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	wantTicks(t, f, "of a chunk without events")
	c.w.sample(10, 1)
	c.flush(2)
	c.w.sample(20, 2) // written, but not flushed
	c.save()
	wantTicks(t, f, "of the first flush", 10)
	wantTicks(t, f, "of nothing new")
	c.flush(stateRewritten)
	wantTicks(t, f, "while the header is rewritten")
	c.flush(3)
	wantTicks(t, f, "of the second flush", 20)

	next := startChunk(t, dir, "2026_01_01_00_00_01.jfr")
	next.w.sample(40, 1)
	next.flush(2)
	c.w.sample(30, 1)
	c.flush(stateFinished)
	wantTicks(t, f, "of the rest of one chunk and the first of the next", 30, 40)
	c.w.sample(35, 1)
	c.save()
	next.w.sample(50, 1)
	next.flush(stateFinished)
	wantTicks(t, f, "of the last flush", 50)
}

func TestFollowingWhatIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repository")
	f := Follow(os.DirFS(dir))
	defer f.Close()
	if _, err := f.Poll(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("polling a repository that is not there: %v, want %v", err, fs.ErrNotExist)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr.part")
	c.w.sample(10, 1)
	c.flush(2)
	wantTicks(t, f, "of the first flush", 10)
	final := filepath.Join(dir, "2026_01_01_00_00_00.jfr")
	if err := os.Rename(c.path, final); err != nil {
		t.Fatal(err)
	}
	c.path = final
	c.w.sample(20, 1)
	c.flush(stateFinished)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantTicks(t, f, "of a file that is open and gone", 20)
	wantTicks(t, f, "of a repository that is gone")
}

func TestFollowingSince(t *testing.T) {
	dir := t.TempDir()
	old := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	old.w.sample(10, 1)
	old.flush(stateFinished)
	c := startChunk(t, dir, "2026_01_01_00_00_01.jfr")
	c.w.sample(20, 1)
	c.w.sample(30, 1)
	c.flush(2)
	f := Follow(os.DirFS(dir))
	defer f.Close()
	f.Since(time.Unix(0, testNanos+30*100))
	wantTicks(t, f, "since the third", 30)
}

// TestFollowingStacksThatComeLate holds a sample back until its stack is there.
func TestFollowingStacksThatComeLate(t *testing.T) {
	dir := t.TempDir()
	c := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	c.w.sample(10, 1)
	c.metadata = int64(len(c.w.b))
	c.w.metadata(syntheticClasses)
	c.w.header(int64(len(c.w.b)), 0, c.metadata, 2)
	c.save()
	f := Follow(os.DirFS(dir))
	defer f.Close()
	wantTicks(t, f, "whose stack is not there yet")
	c.flush(3)
	wantTicks(t, f, "whose stack is there now", 10)
}

func TestFollowingOtherVersions(t *testing.T) {
	dir := t.TempDir()
	old := otherVersion(syntheticChunk())
	if err := os.WriteFile(filepath.Join(dir, "2026_01_01_00_00_00.jfr"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hs_err.jfr"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Follow(os.DirFS(dir))
	defer f.Close()
	b, err := f.Poll()
	if err != nil || len(b.Losses) != 2 || b.Losses[0].Defect != OtherVersion || b.Losses[1].Defect != Corrupt {
		t.Errorf("losses %v, error %v; want one of another version and one that is no recording", b.Losses, err)
	}
	if b, err = f.Poll(); err != nil || len(b.Losses) != 0 {
		t.Errorf("said again: %v, error %v", b.Losses, err)
	}
}

// TestFollowingHostileFiles: what a header declares is not allocated, and few files are open.
func TestFollowingHostileFiles(t *testing.T) {
	dir := t.TempDir()
	large := startChunk(t, dir, "2026_01_01_00_00_00.jfr")
	large.w.header(1<<40, headerSize, headerSize, 2)
	large.save()
	if err := os.Truncate(large.path, 1<<40); err != nil {
		t.Fatal(err)
	}
	for i := range 5 * mostOpen {
		startChunk(t, dir, fmt.Sprintf("2026_01_01_00_00_%02d.jfr", i+1))
	}
	f := Follow(os.DirFS(dir))
	defer f.Close()
	b, err := f.Poll()
	if err != nil || len(b.Losses) != 1 || b.Losses[0].Defect != TooLarge {
		t.Errorf("losses %v, error %v; want one that is too large", b.Losses, err)
	}
	open := 0
	for _, file := range f.files {
		if file.open != nil {
			open++
		}
	}
	if open != mostOpen {
		t.Errorf("%d files are open, want %d", open, mostOpen)
	}
}

// TestHostileEventsTakeLittle: small events, of which there can be as many as bytes, take memory in step with the bytes.
func TestHostileEventsTakeLittle(t *testing.T) {
	const length = 4 << 20
	classes := []class{{id: idLong, name: "long"}, {id: idSample, name: "jdk.ExecutionSample", event: true, fields: []field{{name: "x", typ: "long"}}}}
	events := func(id byte) []byte { return bytes.Repeat([]byte{3, id, 0}, length/3) }
	elements := func() []byte {
		w := &writer{}
		w.event(metadataEvent, func(w *writer) {
			for range 3 {
				w.long(0)
			}
			w.int(1)
			w.text("x")
			w.int(0) // the root: its name, no attributes, children
			w.int(0)
			w.int(length / 3)
			w.b = append(w.b, make([]byte, length)...)
		})
		return w.b
	}
	attributes := func() []byte {
		const texts = 1 << 19
		w := &writer{}
		w.event(metadataEvent, func(w *writer) {
			for range 3 {
				w.long(0)
			}
			w.int(texts)
			for i := range texts {
				w.text(strconv.Itoa(i))
			}
			w.int(0)
			w.int(texts * 4)
			for range 4 {
				for i := range int32(texts) {
					w.int(i)
					w.int(0)
				}
			}
			w.int(0)
		})
		return w.b
	}
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"metadata": {events(metadataEvent), "it ends too early"}, "checkpoints": {events(checkpointEvent), "it ends too early"},
		"samples":  {events(idSample), "samples are more than are read at once"},
		"elements": {elements(), "elements and attributes"}, "attributes": {attributes(), "elements and attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			c := startChunk(t, t.TempDir(), "2026_01_01_00_00_00.jfr")
			c.metadata = int64(len(c.w.b))
			c.w.metadata(classes)
			c.w.b = append(c.w.b, tt.data...)
			c.w.header(int64(len(c.w.b)), 0, c.metadata, 2)
			c.save()
			f := Follow(os.DirFS(filepath.Dir(c.path)))
			defer f.Close()
			b, err := f.Poll()
			if err != nil || len(b.Losses) == 0 || len(b.Losses) > maxLosses || len(b.Samples) > maxSamples {
				t.Fatalf("%d samples, %d losses, %v; want at most %d, and from 1 to %d", len(b.Samples), len(b.Losses), err, maxSamples, maxLosses)
			}
			if got := b.Losses[0].Detail; !strings.Contains(got, tt.want) {
				t.Errorf("lost because %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFewLossesAreReported of a directory in which damaged files appear all the time.
func TestFewLossesAreReported(t *testing.T) {
	dir := t.TempDir()
	f := Follow(os.DirFS(dir))
	defer f.Close()
	reported := 0
	for i := range 3 {
		for j := range maxLosses {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d.jfr", i, j)), make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := f.Poll()
		if reported += len(b.Losses); err != nil {
			t.Fatal(err)
		}
	}
	if reported != maxLosses {
		t.Errorf("%d losses are reported, want %d", reported, maxLosses)
	}
}

// FuzzFollow holds that a chunk whose bytes come in two flushes is read to its
// end, whatever they are, with no more samples than there are bytes.
func FuzzFollow(f *testing.F) {
	chunk := syntheticChunk()[headerSize:]
	for _, at := range []int{0, len(chunk) / 3, len(chunk)} {
		f.Add(chunk[:at], chunk[at:])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		w := writer{b: make([]byte, headerSize)}
		w.header(int64(headerSize+len(first)+len(second)), headerSize, headerSize, stateFinished)
		h, err := parseHeader(w.b)
		if err != nil {
			t.Fatal(err)
		}
		ch := newChunk(h, "")
		ch.add(piece{data: first, at: headerSize})
		ch.add(piece{data: second, at: int64(headerSize + len(first))})
		ch.finish()
		if n := len(ch.out.Samples); n > len(first)+len(second) {
			t.Errorf("%d samples in %d bytes", n, len(first)+len(second))
		}
	})
}

const samplesOnly = `<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">
<event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
<event name="jdk.NativeMethodSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
<event name="jdk.CPUTimeSample"><setting name="enabled">true</setting><setting name="throttle">10 ms</setting></event>
</configuration>`

// pollPause is how long the JVM is left alone between two polls.
const pollPause = 20 * time.Millisecond

// TestFollowingAJVM follows a JVM through several chunks and compares what it
// saw with what the JVM dumps of itself: nothing lost, nothing twice.
func TestFollowingAJVM(t *testing.T) {
	for _, jdk := range jvmtest.NewestJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := t.TempDir()
			settings := filepath.Join(dir, "samples.jfc")
			if err := os.WriteFile(settings, []byte(samplesOnly), 0o600); err != nil {
				t.Fatal(err)
			}
			program := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{
				"-Xmx200m", "-cp", compileBusy(t, jdk), "-XX:FlightRecorderOptions=repository=" + dir,
				"-XX:StartFlightRecording=name=followed,settings=" + settings, "Busy",
			}})
			repositories, err := filepath.Glob(filepath.Join(dir, "*_*"))
			if err != nil || len(repositories) != 1 {
				t.Fatalf("repositories %v, error %v; want one", repositories, err)
			}
			f := Follow(os.DirFS(repositories[0]))
			defer f.Close()
			seen := followThroughDumps(t, jdk, program, f, filepath.Join(dir, "dumped.jfr"))
			data, err := os.ReadFile(filepath.Join(dir, "dumped.jfr"))
			if err != nil {
				t.Fatal(err)
			}
			dump, err := readChunks(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareSamples(t, seen, dump.Samples)
			want := []Source{Execution, NativeCode}
			if jdk.Major >= 25 {
				want = append(want, CPUTime)
			}
			for _, source := range want {
				if !slices.ContainsFunc(seen, func(s Sample) bool { return s.Source == source && len(s.Stack.Frames) > 0 }) {
					t.Errorf("no sample of source %d has frames", source)
				}
			}
		})
	}
}

// followThroughDumps reads what the JVM flushes, and has it begin a new chunk
// by dumping, several times.
func followThroughDumps(t *testing.T, jdk jvmtest.JDK, program *jvmtest.Running, f *Follower, path string) []Sample {
	t.Helper()
	var seen []Sample
	poll := func() {
		t.Helper()
		b, err := f.Poll()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Losses {
			// The JVM itself loses samples or their stacks on a busy machine; then its dump has them neither.
			if l.Defect != LostSamples && l.Defect != Unresolved {
				t.Error(l)
			}
		}
		seen = append(seen, b.Samples...)
	}
	for range 3 {
		// A flush of the chunk that is being written must bring some.
		before := len(seen)
		deadline := time.Now().Add(time.Minute)
		for len(seen) < before+20 {
			if time.Now().After(deadline) {
				t.Fatalf("%d samples came of a chunk in a minute, want 20", len(seen)-before)
			}
			poll()
			<-time.After(pollPause)
		}
		_ = os.Remove(path)
		out := jvmtest.RunTool(t, jdk, "jcmd", fmt.Sprint(program.PID), "JFR.dump", "name=followed", "filename="+path)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("no dump: %v\n%s%s", err, out.Stdout, out.Stderr)
		}
	}
	poll()
	return seen
}

func compareSamples(t *testing.T, seen, dumped []Sample) {
	t.Helper()
	if len(dumped) < 60 {
		t.Errorf("%d samples dumped, want 60 at least", len(dumped))
	}
	count := map[string]int{}
	var last time.Time
	for _, s := range dumped {
		count[spellSample(s)]++
		if s.At.After(last) {
			last = s.At
		}
	}
	frames := 0
	for _, s := range seen {
		frames += len(s.Stack.Frames)
		key := spellSample(s)
		if count[key]--; count[key] < 0 && !s.At.After(last) {
			t.Errorf("seen more often than dumped: %s", key)
		}
	}
	for key, n := range count {
		if n > 0 {
			t.Errorf("dumped but not seen: %s", key)
		}
	}
	if frames < len(seen) {
		t.Errorf("%d frames in %d samples, want one each at least", frames, len(seen))
	}
	t.Logf("%d samples seen, %d dumped", len(seen), len(dumped))
}

func spellSample(s Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %s %+v %v", s.At.UnixNano(), s.Source, s.State, *s.Thread, s.Stack.Truncated)
	for _, f := range s.Stack.Frames {
		fmt.Fprintf(&b, " %s.%s:%d", f.Method.Class, f.Method.Name, f.Line)
	}
	return b.String()
}
