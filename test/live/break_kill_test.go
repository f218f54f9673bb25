package live_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// victim names, in the environment of this binary run again, the process it is
// to enter over and over until it is killed.
const victim = "SONDE_LIVE_VICTIM"

// kills is how often Sonde is killed in one program.
const kills = 10

// TestSondeIsKilled kills Sonde at moments that a seed decides: the program goes
// on, its results hold, the next Sonde comes in, and nothing stays.
func TestSondeIsKilled(t *testing.T) {
	if pid := os.Getenv(victim); pid != "" {
		enterUntilKilled(t, pid)
		return
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SONDE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range []live.Door{live.Attach, live.JavaAgent(agentJar(t))} {
			t.Run(door.Name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(jdk.Major)))
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("to repeat: SONDE_SEED=%d", seed)
					}
				})
				s := stage(t, jdk, door, live.Hammer, live.Calls, live.Recursion, live.Neighbour)
				s.Run(1)
				before := s.remember()
				s.StartLoad(2)
				steps := make(map[string]int)
				for range kills {
					steps[killSondeIn(s, random)]++
					s.moves()
				}
				t.Logf("killed after the steps %v", steps)
				survivor := s.enter("survivor")
				survivor.hook(arena.Timed, "hammer.**")
				s.moves()
				if survivor.calls() == 0 {
					t.Error("the hooks of the next session have seen nothing")
				}
				survivor.leave()
				s.StopLoad()
				s.Check()
				s.sweep()
				s.asItWas(before)
			})
		}
	})
}

// killSondeIn starts a Sonde and kills it some steps, and up to some
// milliseconds, later. It returns the last step.
func killSondeIn(s *scene, random *rand.Rand) (last string) {
	s.t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestSondeIsKilled$", "-test.timeout="+patience.String())
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", victim, s.jvm))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range random.IntN(9) + 1 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "step ") {
			rest, _ := io.ReadAll(out)
			s.t.Errorf("the child ended: %s %s", lines.Text(), rest)
			break
		}
		last = strings.TrimPrefix(lines.Text(), "step ")
	}
	<-time.After(time.Duration(random.IntN(80_000)) * time.Microsecond) // anywhere in a step
	if err := child.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = child.Wait() // it was killed
	return last
}

// enterUntilKilled says after each step that it is done.
func enterUntilKilled(t *testing.T, pid string) {
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Println("step", name)
	}
	step("begin", nil)
	for {
		opened, err := session.Open(t.Context(), number, session.Settings{Command: "to be killed"})
		if held := (*session.HeldError)(nil); errors.As(err, &held) {
			continue // the one before is still being undone
		}
		step("open", err)
		wanted := session.Wanted{Methods: set(t, "hammer.**", "calls.**", "recursion.**"), Flags: arena.On | arena.Timed}
		_, err = opened.Instrument(t.Context(), wanted)
		step("instrument", err)
		step("switch off", opened.Switch(t.Context(), wanted.Methods, 0, 0))
		step("switch on", opened.Switch(t.Context(), wanted.Methods, arena.On, 0))
		_, err = opened.Sum()
		step("sum", err)
		_, err = opened.Close(t.Context())
		step("close", errors.Join(err, opened.Release()))
	}
}

func agentJar(t *testing.T) string {
	t.Helper()
	path := jvmtest.PublicDirectory(t) + "/agent.jar"
	if err := os.WriteFile(path, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestJVMIsKilled kills the program: what was measured until then is told, to
// the last call, and the files go.
func TestJVMIsKilled(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range []live.Door{live.Attach, live.JavaAgent(agentJar(t))} {
			t.Run(door.Name, func(t *testing.T) {
				s := stage(t, jdk, door, live.Hammer, live.Calls, live.Exceptions)
				s.Run(1)
				visit := s.enter("witness")
				visit.hook(arena.Timed, fixtures...)
				since := s.Counts()
				s.Run(3)
				truth := s.Counts().Minus(since)
				if err := syscall.Kill(s.jvm, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-s.Ended()
				<-visit.Done()
				if err := visit.Err(); !errors.Is(err, session.ErrExited) || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d", s.jvm)) {
					t.Errorf("the session ended because: %v", err)
				}
				compared(t, truth, visit.measured())
				if farewell, err := visit.close(); err != nil || len(farewell.Remarks) > 0 {
					t.Errorf("leaving: %v, %q", err, farewell.Remarks)
				}
				compared(t, truth, visit.measured())
				filesOf(t, s.jvm)
				if _, err := session.Open(context.Background(), s.jvm, session.Settings{}); err == nil {
					t.Error("a process that is gone was entered")
				}
			})
		}
	})
}
