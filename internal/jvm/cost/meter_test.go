package cost

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

const ms = time.Millisecond

var all = Known{Pauses: true, Compiles: true, Compilers: true, VMThread: true, Process: true}

func TestUntil(t *testing.T) {
	now := time.Now()
	stays, ends, begins := threadKey{1, 10}, threadKey{2, 10}, threadKey{2, 20}
	before := Reading{
		At: now, Known: all, process: 1000 * ms,
		counters: counters{safepoints: 10, pause: 100 * ms, compileTime: 900 * ms},
		threads: map[threadKey]thread{
			stays: {compiler, 300 * ms, 7 * ms}, ends: {compiler, 50 * ms, 0}, {3, 1}: {vmThread, 20 * ms, 0},
		},
	}
	after := Reading{
		At: now.Add(2 * time.Second), Known: all, process: 3000 * ms,
		counters: counters{safepoints: 12, pause: 130 * ms, compileTime: 1500 * ms},
		threads: map[threadKey]thread{
			stays: {compiler, 700 * ms, 9 * ms}, begins: {compiler, 30 * ms, ms}, {3, 1}: {vmThread, 25 * ms, ms},
		},
	}
	want := Cost{
		Known: all, Elapsed: 2 * time.Second,
		Safepoints: 2, Pause: 30 * ms, CompileTime: 600 * ms,
		CompileCPU: 430 * ms, CompileWait: 3 * ms, VMThread: 5 * ms, Rest: 1565 * ms,
	}
	if got := before.Until(after); got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if worked, known := after.Compiled(); worked != 730*ms || !known {
		t.Errorf("compilers have worked %v, known: %v", worked, known)
	}
	if got := before.Until(before); got != (Cost{Known: all}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestUntilKnowsOnlyWhatBothReadingsKnow(t *testing.T) {
	known := Reading{Known: all, counters: counters{safepoints: 5, compileTime: 7}, process: time.Second,
		threads: map[threadKey]thread{{1, 1}: {compiler, ms, 0}, {2, 1}: {vmThread, ms, 0}}}
	if got := (Reading{}).Until(known); got != (Cost{}) {
		t.Errorf("%+v", got)
	}
	if got := known.Until(Reading{}); got != (Cost{}) {
		t.Errorf("%+v", got)
	}
}

func TestThen(t *testing.T) {
	first := Cost{Known: all, Elapsed: ms, Safepoints: 2, Pause: 10 * ms, CompileCPU: 3 * ms}
	next := Cost{Known: Known{Pauses: true}, Elapsed: ms, Safepoints: 1, Pause: 8 * ms}
	got := first.Then(next)
	want := Cost{Known: Known{Pauses: true}, Elapsed: 2 * ms, Safepoints: 3, Pause: 18 * ms, CompileCPU: 3 * ms}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// published is the file of a JVM with these counters, in the layout that package
// perfdata describes.
func published(t *testing.T, numbers map[string]int64) *perfdata.Counters {
	t.Helper()
	const header, entry = 32, 20
	little := binary.LittleEndian
	data := make([]byte, header)
	copy(data, []byte{0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1})
	for name, n := range numbers {
		valueAt := (entry + len(name) + 1 + 7) / 8 * 8
		e := make([]byte, valueAt+8)
		little.PutUint32(e[0:], uint32(len(e)))
		little.PutUint32(e[4:], entry)
		e[12] = 'J'
		little.PutUint32(e[16:], uint32(valueAt))
		copy(e[entry:], name)
		little.PutUint64(e[valueAt:], uint64(n))
		data = append(data, e...)
	}
	little.PutUint32(data[8:], uint32(len(data)))
	little.PutUint32(data[24:], header)
	little.PutUint32(data[28:], uint32(len(numbers)))
	c, err := perfdata.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCounters(t *testing.T) {
	numbers := map[string]int64{
		"sun.os.hrt.frequency": 1_000_000, // ticks of a microsecond
		"sun.rt.safepoints":    3, "sun.rt.safepointTime": 5000, "sun.rt.safepointSyncTime": 2000,
		"java.ci.totalTime": 9000,
	}
	got, pauses, compiles := countersFrom(published(t, numbers))
	want := counters{safepoints: 3, pause: 7 * time.Millisecond, compileTime: 9 * time.Millisecond}
	if got != want || !pauses || !compiles {
		t.Errorf("%+v, %v, %v", got, pauses, compiles)
	}
	for missing, still := range map[string][2]bool{
		"sun.os.hrt.frequency": {false, false}, "sun.rt.safepointSyncTime": {false, true}, "java.ci.totalTime": {true, false},
	} {
		fewer := map[string]int64{}
		for name, n := range numbers {
			if name != missing {
				fewer[name] = n
			}
		}
		if _, pauses, compiles := countersFrom(published(t, fewer)); pauses != still[0] || compiles != still[1] {
			t.Errorf("without %s: %v, %v", missing, pauses, compiles)
		}
	}
}

func TestCensus(t *testing.T) {
	want := map[threadKey]thread{
		{4712, 9001}: {compiler, 2204123456, 8000},
		{4713, 9001}: {compiler, 320 * time.Millisecond, 0}, // its kernel has ticks only
		{4714, 9001}: {vmThread, 51 * time.Millisecond, 800},
	}
	var c census
	for range looks + 2 {
		got, err := c.read("testdata/proc/4711")
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("threads %v, %v, want %v", got, err, want)
		}
	}
	if !maps.Equal(c.others, map[int]int{4711: looks, 4715: looks}) {
		t.Errorf("others %v", c.others)
	}
	if _, err := c.read("testdata/proc/1"); err == nil {
		t.Error("threads of a process that is not there")
	}
}

func TestCensusSeesNamesGivenLate(t *testing.T) {
	process := t.TempDir()
	file := filepath.Join(process, "task", "7", "stat")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile("testdata/proc/4711/task/4713/stat")
	if err != nil {
		t.Fatal(err)
	}
	var c census
	for _, name := range []string{"java", "C1 CompilerThre"} {
		if err := os.WriteFile(file, []byte(strings.Replace(string(line), "C1 CompilerThre", name, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := c.read(process)
		if err != nil || (len(found) == 1) != (name != "java") {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestRoles(t *testing.T) {
	for name, want := range map[string]role{
		"C1 CompilerThre": compiler, "C2 CompilerThre": compiler, "JVMCI CompilerT": compiler,
		"VM Thread": vmThread, "VM Periodic Tas": other, "java": other, "C2": other, "": other,
	} {
		if got := roleOf(name); got != want {
			t.Errorf("%q: role %d, want %d", name, got, want)
		}
	}
}
