package sampling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// churnTime is how long each combination is sampled in a soak: ten minutes for each JDK.
const churnTime = 150 * time.Second

// TestChurn samples a program that loads, compiles, deoptimises and unloads classes all the time, and checks for each
// frame of each sample whether it can be there.
func TestChurn(t *testing.T) {
	classes := compile(t, "Churn", "G0_000000_00", "S0_000000_00")
	for _, jdk := range sampled(t) {
		modes := []struct{ collector, classes string }{{"Serial", "keep"}, {"Serial", "unload"}, {"Parallel", "unload"}, {"G1", "unload"}}
		if !jvmtest.Soak() {
			modes = modes[:1]
		}
		for _, mode := range modes {
			t.Run(fmt.Sprintf("jdk%d/%s/%s", jdk.Major, mode.collector, mode.classes), func(t *testing.T) {
				args := []string{"-XX:+Use" + mode.collector + "GC", "-Xmx64m", "-XX:ReservedCodeCacheSize=8m", "-cp", jvmtest.Visible(t, jdk, classes), "Churn", mode.classes}
				p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: args})
				until := func(samples []jfr.Sample, _ time.Duration) bool { return len(samples) >= 3000 }
				if jvmtest.Soak() {
					until = func(_ []jfr.Sample, since time.Duration) bool { return since >= churnTime }
				}
				samples := collect(t, p.PID, sampler.Options{Source: sampler.Kernel, Period: time.Millisecond}, until)
				if err := p.Stdin.Close(); err != nil {
					t.Fatal(err)
				}
				<-p.Ended()
				j := churnJudge{lives: parseLives(t, p.Stdout()), monotonic: monotonicOrigin(t)}
				for i := range samples {
					j.judge(t, &samples[i])
				}
				t.Logf("%d frames of generated classes in %d samples, %d of which are incomplete and %d wrong; %d generations", j.frames, j.total, j.incomplete, j.wrong, len(j.lives["0"]))
				if j.frames == 0 {
					t.Error("no frames of generated classes")
				}
			})
		}
	}
}

// A life is when the classes of a generation were executed.
type life struct{ begin, end time.Duration }

// parseLives reads the lives of generations, by worker and number.
func parseLives(t *testing.T, output string) map[string]map[string]life {
	t.Helper()
	lives := map[string]map[string]life{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 5 || fields[0] != "log" {
			continue
		}
		begin, err1 := strconv.ParseInt(fields[3], 10, 64)
		end, err2 := strconv.ParseInt(fields[4], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("the program printed %q", line)
		}
		if lives[fields[1]] == nil {
			lives[fields[1]] = map[string]life{}
		}
		lives[fields[1]][fmt.Sprintf("%06s", fields[2])] = life{time.Duration(begin), time.Duration(end)}
	}
	if !strings.HasSuffix(output, "done\n") {
		t.Fatal("the program did not end as it should")
	}
	return lives
}

// A churnJudge checks samples of the program Churn.
type churnJudge struct {
	lives                     map[string]map[string]life
	monotonic                 time.Time
	total, frames, incomplete int
	wrong                     int
}

// callers are the methods that call a method of a generated class.
var callers = map[string][]string{
	"applyAsLong": {"use"}, "m0": {"applyAsLong"}, "m1": {"m0"}, "m2": {"m1"}, "m3": {"m2"}, "spin": {"m0"}, "value": {"m2", "m3"},
}

func (j *churnJudge) judge(t *testing.T, s *jfr.Sample) {
	t.Helper()
	worker, ok := strings.CutPrefix(s.Thread.Name, "worker-")
	if !ok {
		return
	}
	j.total++
	if s.Stack.Broken || s.Stack.Truncated {
		j.incomplete++
	}
	for i, f := range s.Stack.Frames {
		if why := j.isWrong(s, worker, i, f); why != "" {
			if j.wrong++; j.wrong < 5 {
				t.Errorf("a sample of %s at %v: %.200q\n%s", s.Thread.Name, s.At.Sub(j.monotonic), why, text(s))
			}
			return
		}
	}
}

// isWrong says why a frame cannot be there; "" if it can.
func (j *churnJudge) isWrong(s *jfr.Sample, worker string, i int, f jfr.Frame) string {
	if !f.IsJava() {
		return ""
	}
	if caller, next := callers[f.Method.Name], i+1; caller != nil && next < len(s.Stack.Frames) && isGenerated(f.Method.Class) {
		by := s.Stack.Frames[next].Method
		if !slices.Contains(caller, by.Name) || by.Name != "use" && f.Method.Name != "value" && by.Class != f.Method.Class {
			return fmt.Sprintf("%s.%s does not call %s.%s", by.Class, by.Name, f.Method.Class, f.Method.Name)
		}
	}
	if !isGenerated(f.Method.Class) || f.Method.Class == "Churn$Base" {
		return ""
	}
	name := strings.Split(f.Method.Class, "_")
	j.frames++
	if f.Method.Name == "<init>" {
		return ""
	}
	const margin = 100 * time.Microsecond // two clocks are compared
	at := s.At.Sub(j.monotonic)
	switch l, ok := j.lives[name[0][1:]][name[1]]; {
	case name[0][1:] != worker:
		return fmt.Sprintf("class %s belongs to another thread", f.Method.Class)
	case !ok && at > j.end(worker):
	case !ok:
		return fmt.Sprintf("there was no class %s", f.Method.Class)
	case at < l.begin-margin || at > l.end+margin:
		return fmt.Sprintf("class %s was executed from %v to %v", f.Method.Class, l.begin, l.end)
	}
	return ""
}

// isGenerated reports whether a class is a generated one, or the one that some of them extend.
func isGenerated(class string) bool {
	return class == "Churn$Base" || len(class) == len("G0_000000_00") && (class[0] == 'G' || class[0] == 'S') && class[2] == '_'
}

// end returns when a worker has ended its last generation.
func (j *churnJudge) end(worker string) (end time.Duration) {
	for _, l := range j.lives[worker] {
		end = max(end, l.end)
	}
	return end
}
