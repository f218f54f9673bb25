package sampler

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func busy(t *testing.T, jdk jvmtest.JDK, flags ...string) *jvmtest.Running {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/Busy.java"}})
	return jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(flags, "-cp", classes, "Busy"), Dir: t.TempDir()})
}

// jcmd does what the tool of that name does, without a JVM of its own.
func jcmd(t *testing.T, pid int, words ...string) string {
	t.Helper()
	conn, err := attach.Open(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(t.Context(), "jcmd", strings.Join(words, " "))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Text
}

// await polls until a sample of a thread has a method on its stack.
func await(t *testing.T, s *Sampler, thread, method string) jfr.Sample {
	t.Helper()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	limit := time.After(jvmtest.RunLimit) // bounds a hang
	for {
		select {
		case <-limit:
			t.Fatalf("no sample of %s in %s", method, thread)
		case <-looks.C:
		}
		batch, err := s.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range batch.Samples {
			for _, frame := range sample.Stack.Frames {
				if sample.Thread.Name == thread && frame.Method.Name == method {
					if len(batch.Times) == 0 || batch.Times[sample.Thread.OSID] == 0 {
						t.Errorf("the kernel reports no time of thread %d", sample.Thread.OSID)
					}
					return sample
				}
			}
		}
	}
}

// awaitSource polls until a source has delivered a sample that makes sense.
func awaitSource(t *testing.T, s *Sampler, source jfr.Source) {
	t.Helper()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	limit := time.After(jvmtest.RunLimit) // bounds a hang
	for {
		select {
		case <-limit:
			t.Fatalf("no sample of source %d", source)
		case <-looks.C:
		}
		batch, err := s.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range batch.Samples {
			if sample.Source != source {
				continue
			}
			if sample.Period <= 0 || source == jfr.WallClock && sample.Wait == jfr.Running || source == jfr.Accounted && sample.Thread.Kind() == jfr.ProgramThread {
				t.Errorf("%+v of %+v", sample, sample.Thread)
			}
			return
		}
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd polls until the sampler says that the JVM has ended.
func awaitEnd(t *testing.T, s *Sampler) {
	t.Helper()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	limit := time.After(jvmtest.RunLimit) // bounds a hang
	for {
		select {
		case <-limit:
			t.Fatal("that the JVM was killed is not seen")
		case <-looks.C:
		}
		if _, err := s.Poll(t.Context()); errors.Is(err, ErrEnded) {
			return
		}
	}
}

var repositoryPath = regexp.MustCompile(`Repository path: (.*)`)

// TestRecordingNextToAnother samples while someone else records, whose recording
// survives whole; ours is gone afterwards, and so are its files.
func TestRecordingNextToAnother(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := busy(t, jdk)
			jcmd(t, p.PID, "JFR.start", "name=theirs", "settings=default")
			dead := leaveBehind(t, p.PID)
			before := jcmd(t, p.PID, "JFR.check", "name=theirs", "verbose=true")
			s, err := Start(t.Context(), p.PID, Options{Source: FlightRecorder, Waiting: true, Accounts: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []jfr.Source{jfr.WallClock, jfr.Accounted} { // the recorder itself makes threads of the JVM work
				awaitSource(t, s, kind)
			}
			sample := await(t, s, "burner", "burn")
			if top := sample.Stack.Frames[0]; sample.Source != jfr.Execution || top.Kind == jfr.UnknownKind || top.Line == 0 {
				t.Errorf("%+v, %+v", sample, top)
			}
			during := jcmd(t, p.PID, "JFR.check")
			if strings.Contains(during, dead) || !strings.Contains(during, s.samples.(*recording).name.String()) {
				t.Errorf("while it samples: %s", during)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if after := jcmd(t, p.PID, "JFR.check", "name=theirs", "verbose=true"); after != before {
				t.Errorf("the other recording is another now: %s\nwas: %s", after, before)
			}
			file := filepath.Join(t.TempDir(), "theirs.jfr")
			jcmd(t, p.PID, "JFR.dump", "name=theirs", "filename="+file)
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Errorf("the other recording cannot be dumped: %v", err)
			}
			jcmd(t, p.PID, "JFR.stop", "name=theirs")
			checkNothingLeft(t, p.PID)
			if made, err := filepath.Glob("*.jfr"); err != nil || len(made) > 0 {
				t.Errorf("files in the working directory: %v, %v", made, err)
			}
		})
	}
}

// leaveBehind starts a recording as a Sonde that was killed leaves it.
func leaveBehind(t *testing.T, pid int) string {
	t.Helper()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead, err := ownName(1)
	if err != nil {
		t.Fatal(err)
	}
	dead.process = ended.Process.Pid
	r := recording{period: DefaultPeriod, name: dead}
	if out := jcmd(t, pid, append([]string{"JFR.start"}, r.words()...)...); !startedLine.MatchString(out) {
		t.Fatalf("%s", out)
	}
	return dead.String()
}

func checkNothingLeft(t *testing.T, pid int) {
	t.Helper()
	if out := jcmd(t, pid, "JFR.check"); !strings.Contains(out, "No available recordings") {
		t.Errorf("left: %s", out)
	}
	repository := repositoryPath.FindStringSubmatch(jcmd(t, pid, "JFR.configure"))
	if repository == nil {
		t.Fatal("the path of the repository is not reported")
	}
	if files, err := os.ReadDir(repository[1]); err != nil && !os.IsNotExist(err) || len(files) > 0 {
		t.Errorf("left in %s: %v, %v", repository[1], files, err)
	}
}

// TestLeftoversAreStopped stops what a killed Sonde left, and asks nothing of a
// JVM whose recorder was never started.
func TestLeftoversAreStopped(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := busy(t, jdk)
			if stopped, err := StopLeftovers(t.Context(), p.PID); err != nil || len(stopped) > 0 || hasRecorder(p.PID) {
				t.Errorf("in one that never recorded: %v, %v", stopped, err)
			}
			dead := leaveBehind(t, p.PID)
			if stopped, err := StopLeftovers(t.Context(), p.PID); err != nil || len(stopped) != 1 || stopped[0] != dead {
				t.Errorf("%v, %v", stopped, err)
			}
			checkNothingLeft(t, p.PID)
			s, err := Start(t.Context(), p.PID, Options{Source: FlightRecorder})
			if err != nil {
				t.Fatal(err)
			}
			kill(t, p.PID)
			awaitEnd(t, s)
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(s.samples.(*recording).place); err != nil { // what a killed JVM leaves
				t.Error(err)
			}
		})
	}
}

// TestThreadDumpsWhereNoRecorderIs samples a JVM whose recorder is switched off.
func TestThreadDumpsWhereNoRecorderIs(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := busy(t, jdk, "-XX:-FlightRecorder")
			s, err := Start(t.Context(), p.PID, Options{Source: FlightRecorder})
			if err != nil {
				t.Fatal(err)
			}
			if bias := s.Bias(); !strings.Contains(bias, "thread dumps") || !strings.Contains(bias, "-XX:-FlightRecorder") {
				t.Errorf("%q", bias)
			}
			await(t, s, "burner", "call")
			kill(t, p.PID)
			awaitEnd(t, s)
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheRecorderIsNotStartedWhereItDisturbs samples a JVM whose recorder was never used:
// before JDK 21 that must not start it. Where somebody else records already it is used.
func TestTheRecorderIsNotStartedWhereItDisturbs(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := busy(t, jdk)
			disturbs := jdk.Major < 21
			check := func(byDumps bool) {
				t.Helper()
				s, err := startInside(t.Context(), p.PID, Options{})
				if err != nil {
					t.Fatal(err)
				}
				await(t, s, "burner", "call")
				bias := s.Bias()
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if strings.Contains(bias, "thread dumps") != byDumps || strings.Contains(bias, "--sampler recorder") != byDumps {
					t.Errorf("bias %q, want thread dumps: %v", bias, byDumps)
				}
				if byDumps && hasRecorder(p.PID) {
					t.Error("the recorder was started")
				}
			}
			check(disturbs)
			jcmd(t, p.PID, "JFR.start", "name=theirs")
			check(false)
		})
	}
}

// TestSamplersShare: samplers of a JVM with the same options share the samples, which are taken until the last of them ends. Only those that
// want waiting threads get them.
func TestSamplersShare(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		p := busy(t, jdk)
		start := func(options Options) *Sampler {
			t.Helper()
			s, err := Start(t.Context(), p.PID, options)
			if err != nil {
				t.Skipf("the kernel does not sample here: %v", err)
			}
			return s
		}
		running, all := start(Steady(false)), start(Steady(true))
		other := start(Options{Source: Kernel})
		taken := func(s *Sampler) *kernelSamples { return s.samples.(*kernelView).kernelSamples }
		if taken(running) != taken(all) || taken(other) == taken(all) {
			t.Errorf("samples are shared: %t, with other options: %t", taken(running) == taken(all), taken(other) == taken(all))
		}
		awaitSource(t, all, jfr.WallClock)
		awaitSource(t, all, jfr.CPUTime)
		batch, err := running.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Samples) == 0 || slices.ContainsFunc(batch.Samples, func(s jfr.Sample) bool { return s.Source == jfr.WallClock }) {
			t.Errorf("%d samples, with waiting threads", len(batch.Samples))
		}
		for _, s := range []*Sampler{all, other} {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		awaitSource(t, running, jfr.CPUTime)
		if err := running.Close(t.Context()); err != nil {
			t.Error(err)
		}
		sharing.Lock()
		defer sharing.Unlock()
		for key := range sharing.samples {
			if key.pid == p.PID {
				t.Errorf("%+v goes on", key)
			}
		}
	}
}
