package sampler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	if err := usable(&process.JVM{Version: "11.0.20"}, false); !errors.Is(err, ErrNoRecorder) {
		t.Error(err)
	}
	if err := usable(&process.JVM{Version: "17.0.1"}, true); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if err := usable(&process.JVM{Version: "25"}, true); err != nil {
		t.Error(err)
	}
}
