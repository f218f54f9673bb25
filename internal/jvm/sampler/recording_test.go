package sampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// fakeJVM has recordings and answers as JDK 17 does.
type fakeJVM struct {
	running  []string
	commands []string
	refuses  string // answers so to JFR.start
}

func (f *fakeJVM) JVM() *process.JVM { return &process.JVM{PID: 42, Version: "17.0.15"} }

func (f *fakeJVM) Execute(_ context.Context, command string, args ...string) (attach.Reply, error) {
	line := strings.Join(append([]string{command}, args...), " ")
	f.commands = append(f.commands, line)
	words := strings.Fields(line)
	name := ""
	for _, word := range words {
		if value, is := strings.CutPrefix(word, "name="); is {
			name = value
		}
	}
	switch words[1] {
	case "JFR.start":
		if f.refuses != "" {
			return attach.Reply{Text: f.refuses}, nil
		}
		f.running = append(f.running, name)
		return attach.Reply{Text: fmt.Sprintf("Started recording %d.\n", len(f.running))}, nil
	case "JFR.stop":
		if at := slices.Index(f.running, name); at >= 0 {
			f.running = slices.Delete(f.running, at, at+1)
			return attach.Reply{Text: "Stopped recording \"" + name + "\".\n"}, nil
		}
		return attach.Reply{Text: "Could not stop recording \"" + name + "\".\n"}, nil
	}
	text := "No available recordings.\n"
	for i, one := range f.running {
		text += fmt.Sprintf("Recording %d: name=%s (running)\n", i+1, one)
	}
	return attach.Reply{Text: text}, nil
}

func ownRecording(t *testing.T, f *fakeJVM) *recording {
	t.Helper()
	own, err := ownName(1)
	if err != nil {
		t.Fatal(err)
	}
	return &recording{jvm: f, period: DefaultPeriod, name: own}
}

// TestRecordingKeepsToItself checks what a recording of ours asks for, and that
// nothing but it is ever stopped.
func TestRecordingKeepsToItself(t *testing.T) {
	f := &fakeJVM{running: []string{"other"}}
	r := ownRecording(t, f)
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := f.commands[0]
	for _, part := range []string{
		"settings=none", "dumponexit=false", "duration=10m", "filename=/dev/null", "maxsize=13m",
		"+jdk.ExecutionSample#enabled=true", "+jdk.ExecutionSample#period=20ms", "+jdk.NativeMethodSample#enabled=true",
	} {
		if !strings.Contains(asked, " "+part) {
			t.Errorf("%q lacks %s", asked, part)
		}
	}
	if len(asked) > 1000 || strings.Contains(asked, "CPUTime") {
		t.Errorf("%q", asked)
	}
	first := r.name.String()
	if err := r.renew(t.Context()); err != nil || r.name.String() == first || !slices.Equal(f.running, []string{"other", r.name.String()}) {
		t.Errorf("renewed: %v, %v", f.running, err)
	}
	for range 2 { // gone is as good as stopped
		if err := r.stop(t.Context()); err != nil || !slices.Equal(f.running, []string{"other"}) {
			t.Errorf("stopped: %v, %v", f.running, err)
		}
	}
	r.cpuTime = true
	if words := strings.Join(r.words(), " "); strings.Contains(words, "ExecutionSample") || !strings.Contains(words, "+jdk.CPUTimeSample#throttle=20ms") {
		t.Errorf("%s", words)
	}
}

func TestDeadSondesAreStopped(t *testing.T) {
	f := &fakeJVM{}
	r := ownRecording(t, f)
	dead, elsewhere := r.name, r.name
	dead.started--
	elsewhere.namespace++
	f.running = []string{"sonde", r.name.String(), dead.String(), elsewhere.String(), "sonde-x"}
	running, err := r.check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := r.stopDead(t.Context(), running)
	if err != nil || !slices.Equal(stopped, []string{dead.String()}) || len(f.running) != 4 || slices.Contains(f.running, dead.String()) {
		t.Errorf("stopped %v, left %v, %v", stopped, f.running, err)
	}
	if names := others(running); !slices.Equal(names, []string{"sonde", "sonde-x"}) {
		t.Errorf("others: %v", names)
	}
}

func TestRefusals(t *testing.T) {
	for text, kind := range map[string]error{
		"Flight Recorder is disabled.\n":   ErrNoRecorder,
		"Could not start recording: why\n": ErrNoRecorder,
	} {
		err := ownRecording(t, &fakeJVM{refuses: text}).start(t.Context())
		if !errors.Is(err, kind) || strings.Contains(text, "why") && !strings.Contains(err.Error(), "does not start: Could not start recording: why") || !strings.HasPrefix(err.Error(), "process 42: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := usable(&process.JVM{Version: "11.0.20"}, Options{}); !errors.Is(err, ErrNoRecorder) {
		t.Error(err)
	}
	if err := usable(&process.JVM{Version: "17.0.1"}, Options{CPUTime: true}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if err := usable(&process.JVM{Version: "21.0.2"}, Options{Traced: &Traced{}}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if err := usable(&process.JVM{Version: "25"}, Options{CPUTime: true, Traced: &Traced{}}); err != nil {
		t.Error(err)
	}
}

func TestTracedMethods(t *testing.T) {
	ref := func(class, name string) classfile.MethodRef { return classfile.MethodRef{Class: class, Name: name} }
	traced := Traced{Threshold: 200 * time.Microsecond}
	for _, test := range []struct {
		method classfile.MethodRef
		want   bool
	}{
		{ref("a/Shop$Größe", "pay_2"), true},
		{ref("a/Shop", "<init>"), true},
		{ref("a/Shop", "<clinit>"), false},
		{ref("a/Shop", "lambda$pay$0"), false},
		{ref("a/Shop", "access$000"), false},
		{ref("a/Shop", "pay-impl"), false},
		{ref("a/Shop", "pay x=y"), false},
		{ref("a/Shop", "pay;b"), false},
		{ref("a/Shop\n", "pay"), false},
		{ref("a/Shop", ""), false},
		{ref("", "pay"), false},
	} {
		if got := IsTraceable(test.method); got != test.want {
			t.Errorf("%q: got %t, want %t", test.method, got, test.want)
		}
		traced.Methods = append(traced.Methods, test.method, test.method)
	}
	r := ownRecording(t, &fakeJVM{})
	r.traced = &traced
	asked := strings.Join(r.words(), " ")
	for _, part := range []string{
		"settings=none", "duration=10m", "+jdk.MethodTrace#threshold=200000ns", "+jdk.MethodTrace#stackTrace=false",
		"+jdk.MethodTrace#filter=a.Shop$Größe::pay_2;a.Shop::<init> ", "+jdk.MethodTiming#filter=a.Shop$Größe::pay_2;a.Shop::<init> ",
	} {
		if !strings.Contains(asked, part) {
			t.Errorf("got %s, want %s in it", asked, part)
		}
	}
	if strings.Contains(asked, "Sample") {
		t.Errorf("got %s, want no samples", asked)
	}
}

// golden is what a JVM answered, by its JDK.
func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswersOfEachJDK(t *testing.T) {
	for _, jdk := range []string{"-17", "-25"} {
		running, known := parseCheck(golden(t, "check"+jdk))
		want := []listed{{"other", "running"}, {"sonde-1-2-3-4", "running"}}
		if !known || !slices.Equal(running, want) {
			t.Errorf("%s: %v, %v", jdk, running, known)
		}
		if running, known := parseCheck(golden(t, "check-none"+jdk)); !known || len(running) > 0 {
			t.Errorf("%s: none: %v, %v", jdk, running, known)
		}
		if !startedLine.MatchString(golden(t, "start"+jdk)) || startedLine.MatchString(golden(t, "stop"+jdk)) {
			t.Errorf("%s: whether it has started", jdk)
		}
		if path := repositoryLine.FindStringSubmatch(golden(t, "configure"+jdk)); path == nil || !strings.HasPrefix(path[1], "/tmp/20") || !strings.HasSuffix(path[1], "_4711") {
			t.Errorf("%s: repository %q", jdk, path)
		}
		if period := shortestPeriod(golden(t, "verbose"+jdk)); period != 10*time.Millisecond {
			t.Errorf("%s: %v", jdk, period)
		}
		for _, name := range []string{"check", "start", "stop", "stop-again", "configure"} {
			if why := missing(golden(t, name+jdk)); why != "" {
				t.Errorf("%s%s: %s", name, jdk, why)
			}
		}
	}
}

func TestNamesInAnswers(t *testing.T) {
	running, known := parseCheck("Recording 3: name=a (running) b maxsize=1.0MB maxage=1h (stopped)\nRecording x\nRecording 4: name= (new)\n")
	if want := []listed{{"a (running) b", "stopped"}, {"", "new"}}; !known || !slices.Equal(running, want) {
		t.Errorf("%v, %v", running, known)
	}
	if _, known := parseCheck("anything else"); known {
		t.Error("an answer without a form was understood")
	}
	if period := shortestPeriod(" X (jdk.ExecutionSample)\n   [period=5 ms,enabled=false]\n Y (jdk.ExecutionSample)\n   [period=everyChunk,enabled=true]\n"); period != 0 {
		t.Errorf("%v", period)
	}
}

func TestMissingRecorders(t *testing.T) {
	for text, part := range map[string]string{
		"Module jdk.jfr not found.\nFlight Recorder can not be enabled.\n": "jlink",
		"Flight Recorder is disabled.\n\n":                                 "-XX:-FlightRecorder",
		"java.lang.IllegalArgumentException: Unknown diagnostic command":   "does not know",
	} {
		if why := missing(text); !strings.Contains(why, part) {
			t.Errorf("%q: %q", text, why)
		}
	}
}

func TestNamesIdentifyTheirSonde(t *testing.T) {
	own, err := ownName(7)
	if err != nil {
		t.Fatal(err)
	}
	if again, ours := parseName(own.String()); !ours || again != own {
		t.Errorf("%v is read as %v, %v", own, again, ours)
	}
	if life := own.life(); life != "yes" {
		t.Errorf("this process: %s", life)
	}
	earlier, elsewhere := own, own
	earlier.started--
	elsewhere.namespace++
	if life := earlier.life(); life != "no" {
		t.Errorf("one that had the number before: %s", life)
	}
	if life := elsewhere.life(); life != "unknown" {
		t.Errorf("one of another namespace: %s", life)
	}
	for _, other := range []string{"", "sonde", "sonde-1-2-3", "sonde-1-2-3-4-5", "my sonde-1-2-3-4", "sonde-1-2-3-99999999999999999999", "sonde--1-2-3-4", "sonde-1-2-3-04"} {
		if _, ours := parseName(other); ours {
			t.Errorf("%q was taken for ours", other)
		}
	}
}

// FuzzAnswers reads any text as an answer of a JVM's recorder.
func FuzzAnswers(f *testing.F) {
	f.Add("Recording 1: name=sonde-12-34-56-7 duration=10s maxsize=1.0MB (running)\n (jdk.ExecutionSample)\n   [enabled=true,period=20 ms]\n")
	f.Add("No available recordings.\n")
	f.Add("Started recording 3.\nRepository path: /tmp/x\r\n")
	f.Add("sonde-12-34-56-7")
	f.Fuzz(func(t *testing.T, text string) {
		running, known := parseCheck(text)
		if len(running) > 0 && !known {
			t.Errorf("recordings %+v in an unknown answer", running)
		}
		if period := shortestPeriod(text); period < 0 {
			t.Errorf("a period of %v", period)
		}
		if n, ours := parseName(text); ours && (n.process <= 0 || n.String() != text) {
			t.Errorf("%q is the name %+v", text, n)
		}
		startedLine.FindStringSubmatch(text)
		repositoryLine.FindStringSubmatch(text)
		if missing(text) == "no answer" || firstLine(text) == "" {
			t.Errorf("nothing in %q", text)
		}
	})
}
