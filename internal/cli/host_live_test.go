package cli

import (
	"fmt"
	"os"
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

// volatile matches what differs between two runs of one command: times, and what depends on them.
var volatile = regexp.MustCompile(`"(uptimeSeconds|callsPerSecond|millis|arenaUsed)":[0-9.e+-]+|"started":"[^"]*"|"heap":{[^}]*}|\S+/[0-9.]+[KMG]\b|,"filesRemoved":\[[^]]*\]|[0-9.,]+ ?(ms|s|µs|ns|K|M|G|MiB|GiB)\b|[0-9,]+ loaded|"classesLoaded":[0-9]+|[0-9]+[smh]\b`)

// steady returns the part of an output that only depends on the JVM.
func steady(command, output, pid string) string {
	var lines []string
	its := regexp.MustCompile(`(^\s*|"pid":)` + pid + `\b`) // numbers of other lines may contain the digits
	for line := range strings.Lines(output) {
		isOther := command == "ps" && !its.MatchString(line) || strings.Contains(line, "of processes that have ended")
		if !isOther {
			lines = append(lines, strings.Join(strings.Fields(volatile.ReplaceAllString(line, "…")), " ")+"\n")
		}
	}
	return strings.Join(lines, "")
}

// TestHostCommandsByBothWays: ps, status, doctor and undo print the same whether the service answers
// or the process itself. They do not start a service.
func TestHostCommandsByBothWays(t *testing.T) {
	t.Parallel()
	p := startLooked(t, jvmtest.OneJDK(t)[0])
	o := newOwnService(t, "sonde", ownDirectory(t))
	commands := [][]string{
		{"ps"}, {"ps", "--json"}, {"status", p.pid}, {"status", p.pid, "--json"}, {"doctor", p.pid}, {"doctor", p.pid, "--json"},
		{"doctor", p.pid, "--deep", "looked.**", "gone.Looked", "java.lang.Thread.*", "--left", "--no-cache"}, {"undo", p.pid}, {"undo", p.pid, "--json"},
		{"status", "1"}, {"doctor", "999999999"}, {"undo", "999999999"},
	}
	alone := make([]string, len(commands))
	printed := func(command []string) string {
		code, out, stderr := o.run(t, command...)
		return fmt.Sprintf("%s%sexit code %d", steady(command[0], out, p.pid), stderr, code)
	}
	for i, command := range commands {
		alone[i] = printed(command)
	}
	if process := o.process(); process != 0 {
		t.Errorf("a command that only asks has started the service %d", process)
	}
	if code, _, stderr := o.run(t, "looks"); code != exitOK {
		t.Fatal(stderr)
	}
	for i, command := range commands {
		if served := printed(command); served != alone[i] {
			t.Errorf("sonde %s prints with the service\n%s\nand without it\n%s", strings.Join(command, " "), served, alone[i])
		}
	}
	checkHeldByLooks(t, o, p)
}

// TestRatesBeginWithTheHook: status divides the calls of a look by its own time, not by that of the oldest look.
func TestRatesBeginWithTheHook(t *testing.T) {
	t.Parallel()
	p := startLooked(t, jvmtest.OneJDK(t)[0])
	o := newOwnService(t, "sonde", ownDirectory(t))
	const wait = 5 * time.Second
	for _, method := range []string{"looked.Looked$Book.*", "looked.Looked$Pay.charge"} {
		if code, _, stderr := o.run(t, "count", p.pid, method, "--background", "--no-settle"); code != exitOK {
			t.Fatal(stderr)
		}
		if strings.Contains(method, "Book") {
			time.Sleep(wait)
		}
	}
	p.work(5)
	_, out, _ := o.run(t, "status", p.pid, "--json")
	for _, occupant := range parse[service.Status](t, out).Occupants {
		for _, m := range occupant.Methods {
			if m.Method == "charge" && m.Calls > 0 && m.PerSecond > float64(m.Calls)/wait.Seconds() {
				return
			}
		}
	}
	t.Errorf("no right rate of charge in %s", out)
}

// TestBackgroundIsReadyLate: a command that cannot enter the JVM fails, also with --background.
func TestBackgroundIsReadyLate(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classpath, mainClass := jvmtest.Waiting(t, jdk)
	jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-XX:+DisableAttachMechanism", "-cp", classpath, mainClass, "x"}})
	o := newOwnService(t, "sonde", ownDirectory(t))
	for _, args := range [][]string{{"callees", strconv.Itoa(jvm.PID), mainClass + ".main"}, {"observe", strconv.Itoa(jvm.PID), "--sampler", "recorder"}} {
		if code, out, stderr := o.run(t, append(args, "--background")...); code != exitError || out != "" || !strings.HasPrefix(stderr, "sonde: ") {
			t.Errorf("sonde %v --background of a JVM that cannot be entered: exit code %d: %s%s", args, code, out, stderr)
		}
	}
}

// checkHeldByLooks: with the service, the doctor knows that a JVM in which looks are can have more, and undo
// removes them. If the service does not answer, undo removes them without it.
func checkHeldByLooks(t *testing.T, o *ownService, p *lookedProgram) {
	t.Helper()
	count := []string{"count", p.pid, "looked.Looked$Pay.*", "--background"}
	start := func() {
		if code, _, stderr := o.run(t, count...); code != exitOK {
			t.Fatal(stderr)
		}
	}
	start()
	code, out, stderr := o.run(t, "doctor", p.pid, "--deep", "looked.**", "--json")
	if found := parse[document.Doctor](t, out); code != exitOK || found.Plan == nil || found.Plan.Matched == 0 {
		t.Errorf("doctor of a JVM with a look: exit code %d: %s%s", code, out, stderr)
	}
	if code, out, _ := o.run(t, "doctor", p.pid, "--no-service"); code != exitError || !strings.Contains(out, "has hooks in it since") {
		t.Errorf("doctor without the service: exit code %d: %s", code, out)
	}
	_, out, _ = o.run(t, "status", p.pid, "--json")
	if status := parse[service.Status](t, out); len(status.Occupants) != 1 || len(status.Looks) != 1 {
		t.Errorf("status: %s", out)
	}
	if code, out, stderr := o.run(t, "undo", p.pid); code != exitOK || !strings.HasPrefix(out, "removed the hooks of ") || !strings.HasPrefix(stderr, "asking sonde serve (process ") {
		t.Errorf("undo: exit code %d: %s%s", code, out, stderr)
	}
	start()
	stopped := o.process()
	stop(t, stopped)
	code, out, stderr = o.run(t, "undo", p.pid)
	if err := syscall.Kill(stopped, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code != exitOK || !strings.HasPrefix(out, "removed the hooks of ") || strings.Count(stderr, "the service does not answer") != 1 {
		t.Errorf("undo while the service is stopped: exit code %d: %s%s", code, out, stderr)
	}
	within(t, "the end of the look", func() bool {
		for _, l := range o.looks(t) {
			if l.State == service.Running {
				return false
			}
		}
		return true
	})
}

// stop stops a process, and returns when none of its threads runs any more: one takes the signal, and the others go on until it has run.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	within(t, "the stop of a process", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well formed
		return !slices.ContainsFunc(threads, func(path string) bool {
			text, err := os.ReadFile(path)
			_, state, _ := strings.Cut(string(text), ") ")
			return err == nil && !strings.HasPrefix(state, "T")
		})
	})
}
