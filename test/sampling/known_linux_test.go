package sampling

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// parts are the parts of the program Known.
var parts = []string{
	"loop", "inlined", "recursion", "deep", "lambda", "stream", "reflection", "handle", "nativeCode", "intrinsic", "monitor", "megamorphic", "exception",
	"allocation",
}

// modes are how a program is executed.
var modes = []struct {
	name  string
	flags []string
}{
	{"interpreted", []string{"-Xint"}},
	{"C1", []string{"-XX:TieredStopAtLevel=1"}},
	{"C2", []string{"-XX:-TieredCompilation"}},
	{"tiered", nil},
}

// Each combination is sampled for matrixTime, and on a busy machine until there are matrixSamples.
const (
	matrixTime    = 10 * time.Second
	matrixSamples = 10_000
	// In make test, completeness is that of the last samples.
	warmUp   = 2000
	complete = 1000
)

// isMatrix reports whether everything is tested, for as long as statistics need.
func isMatrix() bool { return os.Getenv("SONDE_MATRIX") != "" }

// TestKnownStacks compares each sample of a program with what the program did at that time.
func TestKnownStacks(t *testing.T) {
	classes := compile(t, "Known")
	for _, jdk := range jvmtest.Releases(t, jvmtest.AllReleases...) {
		for i, mode := range modes {
			if !isMatrix() && (len(modes)+jdk.Major+i)%len(modes) != 0 {
				continue // each release has one, and each mode a release
			}
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, mode.name), func(t *testing.T) {
				wanted := slices.Clone(parts)
				if jdk.Major >= 21 {
					wanted = append(wanted, "virtual")
				}
				args := slices.Concat(mode.flags, []string{"-Xss8m", "-cp", jvmtest.Visible(t, jdk, classes), "Known"}, wanted)
				p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: args})
				samples := collect(t, p.PID, sampler.Options{Source: sampler.Kernel, Period: time.Millisecond}, enough)
				if err := p.Stdin.Close(); err != nil {
					t.Fatal(err)
				}
				<-p.Ended()
				j := judge{history: parseHistory(t, p.Stdout()), monotonic: monotonicOrigin(t), counts: map[*execution]int{}}
				// At first most code is new, and on a busy machine Sonde hears of it late. No stack may be wrong then either.
				early := judge{history: j.history, monotonic: j.monotonic, counts: map[*execution]int{}}
				settled := 0
				if !isMatrix() {
					settled = len(samples) - complete
				}
				for i := range samples {
					if i < settled {
						early.judge(t, &samples[i])
					} else {
						j.judge(t, &samples[i])
					}
				}
				j.checkComplete(t)
				if isMatrix() {
					j.checkShares(t, wanted)
				}
			})
		}
	}
}

// compile compiles Java programs so that all releases can execute them.
func compile(t *testing.T, names ...string) string {
	t.Helper()
	f := jvmtest.Fixture{Flags: []string{"-source", "8", "-target", "8"}}
	for _, name := range names {
		f.Sources = append(f.Sources, "testdata/"+name+".java")
	}
	return jvmtest.Compile(t, jvmtest.Need(t, 17), f)
}

// sampled returns the JDKs that a test uses. In make test, only the stacks of TestKnownStacks are those of all releases;
// other tests use one JDK.
func sampled(t *testing.T) []jvmtest.JDK {
	t.Helper()
	if isMatrix() {
		return jvmtest.Releases(t, jvmtest.AllReleases...)
	}
	return jvmtest.OneJDK(t)
}

// enough reports whether the samples are enough to judge: in make test by their number, so that a slow machine only takes longer.
func enough(samples []jfr.Sample, since time.Duration) bool {
	if isMatrix() {
		return since >= matrixTime && len(samples) >= matrixSamples
	}
	return len(samples) >= warmUp+complete
}

// collect samples a JVM until there are enough samples.
func collect(t *testing.T, pid int, options sampler.Options, enough func(samples []jfr.Sample, since time.Duration) bool) (all []jfr.Sample) {
	t.Helper()
	s, err := sampler.Start(t.Context(), pid, options)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	limit := time.After(jvmtest.RunLimit + matrixTime + churnTime) // bounds a hang
	for !enough(all, time.Since(began)) {
		select {
		case <-looks.C:
		case <-limit:
			t.Fatalf("not enough of %d samples", len(all))
		}
		batch, err := s.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, batch.Samples...)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

// monotonicOrigin returns when CLOCK_MONOTONIC was zero, which is the clock of the programs.
func monotonicOrigin(t *testing.T) time.Time {
	t.Helper()
	var origin time.Time
	best := time.Hour
	for range 100 { // another program may run between two readings
		var now unix.Timespec
		from := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(from); took < best {
			best, origin = took, from.Add(took/2-time.Duration(now.Nano()))
		}
	}
	return origin
}

// An execution is that of a part of the program.
type execution struct {
	part       string
	begin, end time.Duration // CLOCK_MONOTONIC
	processor  time.Duration
}

// parseHistory reads what the program has logged, by thread, in the order of time.
func parseHistory(t *testing.T, output string) map[string][]execution {
	t.Helper()
	history := map[string][]execution{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 6 || fields[0] != "log" {
			continue
		}
		var numbers [3]int64
		for i := range numbers {
			n, err := strconv.ParseInt(fields[3+i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			numbers[i] = n
		}
		history[fields[1]] = append(history[fields[1]], execution{
			part: fields[2], begin: time.Duration(numbers[0]), end: time.Duration(numbers[1]), processor: time.Duration(numbers[2]),
		})
	}
	if !strings.HasSuffix(output, "done\n") || len(history) != 2 {
		t.Fatalf("the program logged %d threads, want 2, up to a line done", len(history))
	}
	return history
}

// A judge compares samples with the history of the program.
type judge struct {
	history    map[string][]execution
	monotonic  time.Time // when the clock of the program was zero
	total      int       // samples of the program's threads, at times that the history covers
	incomplete map[string]int
	counts     map[*execution]int // samples whose part is known
	wrong      int
	truncated  int // samples of which more cannot be known
	between    int // samples outside of parts, at their begin or end
}

// margin is the time at the begin and the end of an execution that is not judged: two clocks are compared.
const margin = 100 * time.Microsecond

// judged returns the part of an execution's processor time that is judged.
func (e *execution) judged() time.Duration {
	length := e.end - e.begin
	return time.Duration(float64(e.processor) * float64(max(0, length-2*margin)) / float64(max(1, length)))
}

// at returns what a thread executed at a time; nil if that is not known for sure.
func (j *judge) at(thread string, at time.Duration) *execution {
	all := j.history[thread]
	i, _ := slices.BinarySearchFunc(all, at, func(e execution, at time.Duration) int { return int(e.end - at) })
	if i == len(all) || at < all[i].begin+margin || at > all[i].end-margin {
		return nil
	}
	return &all[i]
}

func (j *judge) judge(t *testing.T, s *jfr.Sample) {
	t.Helper()
	at := s.At.Sub(j.monotonic)
	var executed []*execution
	switch s.Thread.Name {
	case "main", "worker":
		executed = append(executed, j.at(s.Thread.Name, at))
	case "virtual threads":
		executed = append(executed, j.at("main", at), j.at("worker", at))
		executed = slices.DeleteFunc(executed, func(e *execution) bool { return e != nil && e.part != "virtual" })
	default:
		return
	}
	if len(executed) == 0 || executed[0] == nil {
		return // outside of parts
	}
	j.total++
	why := j.isWrong(s, executed[0].part)
	switch {
	case why != "":
		if j.wrong++; j.wrong < 5 {
			t.Errorf("a sample of %s during %s: %s\n%s", s.Thread.Name, executed[0].part, why, text(s))
		}
	case s.Stack.Truncated && (executed[0].part == "deep" || executed[0].part == "virtual"):
		j.total-- // deeper than what the kernel copies, or on the heap
		j.truncated++
		j.counts[executed[0]]++
	case s.Stack.Broken || s.Stack.Truncated:
		if j.incomplete == nil {
			j.incomplete = map[string]int{}
		}
		j.incomplete[fmt.Sprintf("%s in %s (%s)", summary(s), executed[0].part, s.Thread.Name)]++
	default:
		j.counts[executed[0]]++
	}
}

// isWrong says why a stack cannot be that of a part; "" if it can.
func (j *judge) isWrong(s *jfr.Sample, part string) string {
	caller, found, depth := "", false, map[string]int{}
	for i, f := range slices.Backward(s.Stack.Frames) {
		name := f.Method.Name
		if name == "nanoTime" && isKnown(s.Stack.Frames[i+1]) && !slices.Contains(timed, s.Stack.Frames[i+1].Method.Name) {
			return fmt.Sprintf("%s does not call nanoTime", s.Stack.Frames[i+1].Method.Name)
		}
		if name == "enterSpecial" && part == "virtual" {
			found = true
		}
		if !isKnown(f) {
			continue
		}
		if caller != "" && !mayCall(caller, name) {
			return fmt.Sprintf("%s does not call %s", caller, name)
		}
		if strings.HasPrefix(name, part) || part == "virtual" && f.Method.Class == "Known$Virtual" {
			found = true
		}
		depth[name]++
		caller = name
	}
	switch {
	case s.Stack.Broken || s.Stack.Truncated:
	case !found && (caller == "execute" || caller == "run"): // it was interrupted at the begin or the end of a part
		j.between++
	case !found:
		return "no method of this part"
	case depth["virtual1"] > 0 && !slices.ContainsFunc(s.Stack.Frames, isVirtualRun):
		return "no method run of the virtual thread"
	case depth["recursion2"] > 0 && !isNear(depth["recursion1"], 101):
		return fmt.Sprintf("recursion1 is %d times on the stack, want 101", depth["recursion1"])
	case depth["deep2"] > 0 && !isNear(depth["deep1"], 2001):
		return fmt.Sprintf("deep1 is %d times on the stack, want 2001", depth["deep1"])
	}
	return ""
}

// isNear compares numbers of calls. If a method is inlined in itself, its code is there several times, and the next
// instruction of which HotSpot has recorded the methods may belong to another copy.
func isNear(got, want int) bool { return got >= want-2 && got <= want+2 }

// timed are the methods that ask for the time.
var timed = []string{
	"execute", "loop", "inlined", "recursion2", "deep2", "lambda", "stream", "reflection", "handle", "nativeCode", "intrinsic", "monitor",
	"megamorphic", "exception", "allocation", "virtual1",
}

func isVirtualRun(f jfr.Frame) bool {
	return f.Method.Class == "java/lang/VirtualThread" && f.Method.Name == "run"
}

// isKnown reports whether a frame is that of a method of the program.
func isKnown(f jfr.Frame) bool {
	return f.IsJava() && (f.Method.Class == "Known" || strings.HasPrefix(f.Method.Class, "Known$"))
}

// mayCall reports whether a method of the program can call another, directly or through methods of the JDK.
func mayCall(caller, callee string) bool {
	base, level := number(callee)
	switch {
	case callee == "main", callee == "awaitEnd":
		return false
	case callee == "execute":
		return caller == "main" || strings.HasPrefix(caller, "lambda$main$") || caller == "run"
	case callee == "print", callee == "add", callee == "part", callee == "<clinit>", callee == "<init>":
		return true
	case callee == "work":
		return strings.ContainsAny(caller, "12345") || strings.HasPrefix(caller, "lambda$static$") || caller == "applyAsLong"
	case callee == "run":
		return caller == "execute" || caller == "run"
	case strings.HasPrefix(callee, "lambda$"):
		part := strings.Split(callee, "$")[1]
		return caller == part || caller == "run" || caller == "applyAsLong" || part == "static" && caller == "lambda" || caller == "test"
	case callee == "applyAsLong":
		return caller == "lambda" || caller == "stream"
	case callee == "test":
		return caller == "stream"
	case callee == "method":
		return caller == "<clinit>"
	case level == 0:
		return caller == "run" || caller == "execute"
	case level == 1:
		return caller == base || caller == callee || caller == "applyAsLong" || strings.HasPrefix(caller, "lambda$run$")
	}
	return caller == base+strconv.Itoa(level-1)
}

// number splits the number from the name of a method.
func number(name string) (base string, n int) {
	base = strings.TrimRight(name, "0123456789")
	n, _ = strconv.Atoi(name[len(base):]) // 0 if there is none
	return base, n
}

// checkComplete fails if more than 1 % of the samples are not a complete stack.
func (j *judge) checkComplete(t *testing.T) {
	t.Helper()
	missing := 0
	for _, n := range j.incomplete {
		missing += n
	}
	t.Logf("%d of %d samples are complete (%.2f %%), and %d are too deep or on the heap", j.total-missing, j.total,
		100*float64(j.total-missing)/float64(max(1, j.total)), j.truncated)
	for _, key := range slices.Sorted(maps.Keys(j.incomplete)) {
		t.Logf("%6d %s", j.incomplete[key], key)
	}
	if j.between*20 > j.total {
		t.Errorf("%d of %d samples are between parts, want at most 5 %%", j.between, j.total)
	}
	most := 0.01 * float64(j.total)
	if !isMatrix() {
		most += 3 * math.Sqrt(most) // few samples
	}
	if j.total < 300 || float64(missing) > most {
		t.Errorf("%d of %d samples are incomplete, want at most %.0f, of at least 300", missing, j.total, most)
	}
}

const (
	windows = 100 // of each thread, at most
	// windowSamples are the samples of a window, at least: the interval of fewer is too small for its confidence.
	windowSamples = 50
)

// checkShares divides the time into windows, and compares the share that each part had of the processor time in them with
// its share of samples: in 95 of 100 it must be in the interval that has a confidence of 95 %.
func (j *judge) checkShares(t *testing.T, wanted []string) {
	t.Helper()
	type shares struct {
		times   map[string]time.Duration
		samples map[string]int
	}
	inside, outside := 0, 0
	for _, thread := range []string{"main", "worker"} {
		all := j.history[thread]
		sampled := func(e *execution) bool { return j.counts[e] > 0 }
		var with []*execution
		for i := range all {
			with = append(with, &all[i])
		}
		begin := slices.IndexFunc(with, sampled)
		slices.Reverse(with)
		end := len(with) - slices.IndexFunc(with, sampled)
		slices.Reverse(with)
		if begin < 0 {
			t.Fatalf("no samples of %s", thread)
		}
		with = with[begin+1 : end-1]
		total := 0
		for _, e := range with {
			total += j.counts[e]
		}
		size := max(1, len(with)/max(1, min(windows, total/windowSamples)))
		for window := range slices.Chunk(with, size) {
			if len(window) < size {
				continue
			}
			s := shares{map[string]time.Duration{}, map[string]int{}}
			var time time.Duration
			n := 0
			for _, e := range window {
				if e.part == "virtual" {
					continue // on other threads
				}
				s.times[e.part] += e.judged()
				s.samples[e.part] += j.counts[e]
				time += e.judged()
				n += j.counts[e]
			}
			for _, part := range wanted {
				if s.times[part] == 0 || n == 0 {
					continue
				}
				if isInside(float64(s.times[part])/float64(time), s.samples[part], n) {
					inside++
				} else {
					outside++
				}
			}
		}
	}
	t.Logf("%d of %d shares are inside their interval (%.1f %%)", inside, inside+outside, 100*float64(inside)/float64(max(1, inside+outside)))
	if inside+outside < windows || float64(inside) < 0.95*float64(inside+outside) {
		t.Errorf("%d of %d shares are inside their interval, want 95 %%", inside, inside+outside)
	}
}

// isInside reports whether a share is in the interval (of Wilson) that k of n samples give, at 95 %.
func isInside(share float64, k, n int) bool {
	const z = 1.96
	p, size := float64(k)/float64(n), float64(n)
	center := (p + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return math.Abs(share-center) <= half
}

// text prints a stack.
func text(s *jfr.Sample) string {
	var b strings.Builder
	frames := s.Stack.Frames
	for i, f := range frames {
		if i >= 20 && i < len(frames)-20 {
			continue
		}
		fmt.Fprintf(&b, "  %.100q %.50q:%d %s\n", f.Method.Class, f.Method.Name, f.Line, f.Kind)
	}
	fmt.Fprintf(&b, "  truncated %v, broken %v", s.Stack.Truncated, s.Stack.Broken)
	return b.String()
}

// summary names the ends of a stack.
func summary(s *jfr.Sample) string {
	frames := s.Stack.Frames
	why := "broken"
	if s.Stack.Truncated {
		why = "truncated"
	}
	if len(frames) == 0 {
		return why + " without frames"
	}
	first, last := frames[0], frames[len(frames)-1]
	return fmt.Sprintf("%s after %d frames: %s.%s %s .. %s.%s %s", why, len(frames), first.Method.Class, first.Method.Name, first.Kind,
		last.Method.Class, last.Method.Name, last.Kind)
}
