package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
)

// An ownService is a program sonde whose service no other test uses.
type ownService struct {
	program string
	dir     string // for the socket and the results
}

// ownDirectory returns a directory for services, short enough for a socket.
func ownDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sonde-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newOwnService(t *testing.T, program, dir string) *ownService {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	o := &ownService{path, dir}
	t.Cleanup(func() {
		_, _, _ = o.run(t, "serve", "--stop") // fails if there is none
		if pid := o.process(); pid != 0 {
			t.Errorf("the service is left, process %d", pid)
		}
	})
	return o
}

func (o *ownService) command(args ...string) *exec.Cmd {
	command := exec.Command(o.program, args...)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+o.dir, "XDG_STATE_HOME="+o.dir)
	return command
}

// run runs the program to its end.
func (o *ownService) run(t *testing.T, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	command := o.command(args...)
	command.Stdout, command.Stderr = &stdout, &errors
	code = exitCode(t, command.Run())
	return code, stdout.String(), errors.String()
}

// process returns the process of the service, also if it does not listen yet; 0 if there is
// none.
func (o *ownService) process() int {
	program, err := os.Stat(o.program)
	if err != nil {
		return 0
	}
	places, _ := filepath.Glob("/proc/[0-9]*") // fails for a bad pattern only
	for _, place := range places {
		words, _ := os.ReadFile(filepath.Join(place, "cmdline"))
		if !strings.HasPrefix(string(words), "sonde\x00serve\x00") {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(place, "environ"))
		if runs, err := os.Stat(filepath.Join(place, "exe")); err != nil || !os.SameFile(runs, program) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(place)); err == nil && strings.Contains(string(env), "XDG_RUNTIME_DIR="+o.dir+"\x00") {
			return pid
		}
	}
	return 0
}

// looks returns the looks that the service knows, by number.
func (o *ownService) looks(t *testing.T) map[int]service.Description {
	t.Helper()
	code, out, stderr := o.run(t, "looks", "--json")
	if code != exitOK {
		t.Fatalf("sonde looks: exit code %d: %s", code, stderr)
	}
	all := make(map[int]service.Description)
	for _, l := range parse[service.List](t, out).Looks {
		all[l.Number] = l
	}
	return all
}

// A client is a command in a terminal that may be killed.
type client struct {
	*exec.Cmd
	out    bytes.Buffer
	stderr strings.Builder
	ready  chan struct{} // closed when it says that its hooks are in
	over   chan struct{} // closed when it has ended
}

func (o *ownService) start(t *testing.T, args ...string) *client {
	t.Helper()
	c := &client{Cmd: o.command(args...), ready: make(chan struct{}), over: make(chan struct{})}
	c.Stdout = &c.out
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	go func() {
		defer close(c.over)
		lines := bufio.NewScanner(pipe)
		for isReady := false; lines.Scan(); {
			c.stderr.WriteString(lines.Text() + "\n")
			if !isReady && strings.HasPrefix(lines.Text(), "hooks in ") {
				isReady = true
				close(c.ready)
			}
		}
		_ = c.Wait() // its exit code is judged later
	}()
	return c
}

// TestStopWithoutParent: a service has ended also if nobody reads its exit code, as in a container
// whose first process does not.
func TestStopWithoutParent(t *testing.T) {
	t.Parallel()
	own := newOwnService(t, "sonde", ownDirectory(t))
	serving := own.command("serve")
	pipe, err := serving.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(pipe); !lines.Scan() || !strings.HasPrefix(lines.Text(), "the service listens at "+own.dir) {
		t.Fatalf("%s", lines.Text())
	}
	code, out, stderr := own.run(t, "serve", "--stop")
	if want := fmt.Sprintf("the service (process %d) has ended\n", serving.Process.Pid); code != exitOK || out != want {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if err := serving.Wait(); err != nil {
		t.Error(err)
	}
}

// TestCommandAfterAKill: a command waits until the agent of a service that was just killed has left.
func TestCommandAfterAKill(t *testing.T) {
	t.Parallel()
	p := startLooked(t, jvmtest.OneJDK(t)[0])
	o := newOwnService(t, "sonde", ownDirectory(t))
	for _, how := range []string{"--no-service", "--left"} { // by itself, and in the next service
		if code, _, stderr := o.run(t, "count", p.pid, "looked.**", "java.util.**", "--timing", "none", "--background"); code != exitOK {
			t.Fatal(stderr)
		}
		if err := syscall.Kill(o.process(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		code, out, stderr := o.run(t, "count", p.pid, "looked.Looked$Pay.*", "--duration", "10ms", how)
		if code != exitOK || strings.Contains(stderr, "is held by") {
			t.Errorf("sonde count %s after a kill: exit code %d: %s%s", how, code, out, stderr)
		}
	}
}

// killPatience is far longer than the lease of an agent.
const killPatience = 2 * time.Minute

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(killPatience); !holds(); time.Sleep(100 * time.Millisecond) { // only between looks, which may be commands
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %v", what, killPatience)
		}
	}
}

// What is killed, and when.
var (
	victims = []string{"service", "client", "both"}
	phases  = []string{"start", "running", "end"}
)

// whatHappened are the last words of a command whose service was killed: it says that the service
// has ended, or runs in the next service, where it ends well or finds the agent of the first one.
var whatHappened = regexp.MustCompile(`^sonde: (the service has ended; the agents in its JVMs remove its hooks by themselves` +
	`|the service could not be started: it was killed \(signal: killed\); --no-service runs the command without it` +
	`|interrupted before the hooks were in place: nothing was measured; nothing is left in the JVM)`)

// TestKilledAtAnyMoment kills the service, a command in a terminal, or both, while that command
// starts, runs or ends, and another one is in the background. What is not killed goes on: a look
// in the background counts every call. What is lost leaves nothing in the JVM, and Sonde says so.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SONDE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("to repeat: SONDE_SEED=%d", seed)
				}
			})
			own := newOwnService(t, "sonde", ownDirectory(t))
			p := startLooked(t, jdk)
			p.sonde = own.run
			k := &killing{p, own, kindsOfLooks(t), rand.New(rand.NewPCG(seed, uint64(jdk.Major))), make(map[string]int), 0}
			times := jvmtest.Times(len(victims)*len(phases), 100)
			for i := range times {
				if jvmtest.Turn(t, jdk, i, times) {
					k.kill(victims[i%len(victims)], phases[i/len(victims)%len(phases)])
				}
			}
			p.nothingRuns()
			for _, what := range slices.Sorted(maps.Keys(k.outcomes)) {
				t.Logf("%3d times: %s", k.outcomes[what], what)
			}
			t.Logf("the program had no hooks any more within %v", k.longest)
		})
	}
}

// A killing kills processes of Sonde while they look at a program.
type killing struct {
	*lookedProgram
	*ownService
	kinds    []kindOfLook
	random   *rand.Rand
	outcomes map[string]int
	longest  time.Duration // until a JVM whose service was killed had no hooks
}

// delay waits for a random moment.
func (k *killing) delay(most time.Duration) {
	<-time.After(time.Duration(k.random.Int64N(int64(most))))
}

// kill starts looks, kills one or two processes, and checks what is left.
func (k *killing) kill(victim, phase string) {
	k.t.Helper()
	var background *runningLook
	if phase == "start" && k.random.IntN(2) == 0 {
		_, _, _ = k.run(k.t, "serve", "--stop") // the command in the terminal starts it
	} else {
		kind := &k.kinds[k.random.IntN(len(k.kinds))]
		var why string
		if background, why = k.startLook(kind); background == nil {
			k.t.Fatalf("sonde %s %v: %s", kind.name, kind.args, why)
		}
	}
	c := k.start(k.t, "count", k.pid, "looked.Looked$Desk.*", "looked.Looked$Pay.*", "--json")
	k.await(c, phase)
	isServiceKilled := false
	if pid := k.process(); pid != 0 && victim != "client" {
		isServiceKilled = syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	if victim != "service" {
		_ = c.Process.Kill() // it may have ended
	}
	k.ended(c, victim, phase, isServiceKilled)
	if isServiceKilled {
		k.checkLost(c, background)
	} else {
		k.checkKept(c, background)
	}
	k.nothingRuns()
}

// await waits for the moment at which something is killed.
func (k *killing) await(c *client, phase string) {
	k.t.Helper()
	if phase == "start" {
		k.delay(400 * time.Millisecond)
		return
	}
	select {
	case <-c.ready:
	case <-c.over:
		k.t.Fatalf("sonde count has ended: %s", c.stderr.String())
	}
	if phase == "end" {
		_ = c.Process.Signal(os.Interrupt)
	}
	k.delay(map[string]time.Duration{"running": 50 * time.Millisecond, "end": 300 * time.Millisecond}[phase])
}

// ended waits until the command in the terminal has ended, and reads what it says.
func (k *killing) ended(c *client, victim, phase string, isServiceKilled bool) {
	k.t.Helper()
	select {
	case <-c.over:
	case <-c.ready: // perhaps in the next service, or no service was there to be killed
		if phase != "end" { // a second signal ends the command at once
			_ = c.Process.Signal(os.Interrupt)
		}
	}
	<-c.over
	lines := strings.Split(strings.TrimSpace(c.stderr.String()), "\n")
	last, code := lines[len(lines)-1], c.ProcessState.ExitCode()
	outcome := "killed"
	switch {
	case code == exitOK:
		outcome = "ended well"
		if result := parse[document.Count](k.t, lastLine(c.out.String())); !result.Final || result.Calls != 0 {
			k.t.Errorf("%+v", result)
		}
	case victim == "service" && code == exitError && whatHappened.MatchString(last) && strings.Count(c.stderr.String(), "sonde: ") == 1:
		outcome = whatHappened.FindString(last)
	case victim == "service":
		k.t.Errorf("at the %s, the service was killed (%v): exit code %d: %s", phase, isServiceKilled, code, c.stderr.String())
	}
	outcome = regexp.MustCompile(`\d+`).ReplaceAllString(outcome, "N")
	k.outcomes[fmt.Sprintf("%s, %s: the command in the terminal: %s", victim, phase, outcome)]++
}

// checkLost checks what is left of looks whose service was killed.
func (k *killing) checkLost(c *client, background *runningLook) {
	k.t.Helper()
	killed := time.Now()
	within(k.t, "the end of all hooks", func() bool {
		_, out, _ := k.run(k.t, "status", k.pid, "--json")
		return !parse[document.Status](k.t, out).Inside
	})
	k.longest = max(k.longest, time.Since(killed))
	all := k.looks(k.t)
	if background != nil {
		number, _ := strconv.Atoi(background.number)
		l := all[number]
		code, _, stderr := k.run(k.t, "show", background.number)
		want := fmt.Sprintf("sonde: look %d has no result: its service was killed; the agent has removed its hooks by itself\n", number)
		if l.State != service.Lost || code != exitError || stderr != want {
			k.t.Errorf("look %d in the background is %s; sonde show: exit code %d: %s", number, l.State, code, stderr)
		}
		if code, _, stderr := k.run(k.t, "end", background.number); code != exitError || !strings.HasPrefix(stderr, fmt.Sprintf("sonde: look %d has ended: its service was killed", number)) {
			k.t.Errorf("sonde end: exit code %d: %s", code, stderr)
		}
	}
	k.checkTold(c, all)
}

// checkKept checks that the service goes on with what was not killed.
func (k *killing) checkKept(c *client, background *runningLook) {
	k.t.Helper()
	within(k.t, "the end of the look of the command that was killed", func() bool {
		for _, l := range k.looks(k.t) {
			if l.State == service.Running && !l.Background {
				return false
			}
		}
		return true
	})
	if background != nil {
		own := k.work(1 + k.random.IntN(5))
		want := background.kindOfLook.want(own)
		have, _ := background.have(k.t, k.endLook(background))
		if !maps.Equal(withoutZeros(have), withoutZeros(want)) {
			k.t.Errorf("%s %v has counted %v, want %v", background.name, background.args, have, want)
		}
	}
	k.checkTold(c, k.looks(k.t))
}

// checkTold expects that no look is running, that those that have no result say why, and that
// the others show it.
func (k *killing) checkTold(c *client, all map[int]service.Description) {
	k.t.Helper()
	for number, l := range all {
		if l.State == service.Running || l.State == service.Lost && l.Error == "" || l.State == service.Ended && l.Exit != exitOK && l.Error == "" {
			k.t.Errorf("look %d: %+v", number, l)
		}
		if l.Client != c.Process.Pid {
			continue
		}
		code, out, stderr := k.run(k.t, "show", strconv.Itoa(number))
		hasResult := code == exitOK && out != ""
		hasReason := code == exitError && strings.HasPrefix(stderr, fmt.Sprintf("sonde: look %d has no result: %s", number, l.Error)) && strings.Count(stderr, "\n") == 1
		if !hasResult && !hasReason || l.Error == "" && !hasResult {
			k.t.Errorf("look %d, %s %q: sonde show: exit code %d: %s", number, l.State, l.Error, code, stderr)
		}
		k.outcomes[fmt.Sprintf("its look is %s, with a result: %v", stateText(&l), hasResult)]++
	}
}
