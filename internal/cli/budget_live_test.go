package cli

import (
	"bufio"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestBudgetOfAllLooks: a budget that one command has holds for the hooks of all. What is
// thinned is reported to each command concerned, and calls stay counted.
func TestBudgetOfAllLooks(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.OneJDK(t)[0], live.Attach, live.Hammer)
	without := startSonde(t, append(countArgs(p.PID, "hammer.**"), "--json")...)
	with := startSonde(t, append(countArgs(p.PID, "hammer.Main.tiny*"), "--json", "--budget", "0.0001%")...)
	before := p.Counts()
	p.StartLoad(1)
	const message = "note: hooks cost "
	with.await(t, message)
	without.await(t, message)
	p.StopLoad()
	p.Run(2)
	truth := p.Counts().Minus(before)
	for _, one := range []*runningSonde{with, without} {
		one.signal(t, syscall.SIGINT)
		if code := one.end(t); code != exitOK {
			t.Errorf("exit code %d: %s", code, one.stderr.String())
		}
		if !strings.Contains(one.stderr.String(), " at worst, and the budget is < 0.01 %: ") {
			t.Errorf("%s", one.stderr.String())
		}
		thinned := 0
		result := one.result(t)
		for name, calls := range countsOf(&result) {
			isOff := strings.Contains(one.stderr.String(), " no longer measured") // by then, the load has not ended yet
			if want, isKnown := truth[name]; isKnown && (calls.Entered > want.Entered || calls.Entered < want.Entered && !isOff) {
				t.Errorf("%v calls of %s, want %v", calls.Entered, name, want.Entered)
			}
		}
		for _, m := range result.Methods {
			if m.Timed < m.Calls {
				thinned++
			}
		}
		if thinned == 0 || result.Timing != string(results.Exact) {
			t.Errorf("timing is %s, and %d methods are thinned", result.Timing, thinned)
		}
	}
}

// TestBudgetOfTrees: the hooks of a profile count towards the one budget of the JVM. The profile may cost
// less then, and says so; its cost is listed.
func TestBudgetOfTrees(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.OneJDK(t)[0], live.Attach, live.Hammer)
	p.StartLoad(1)
	pid := strconv.Itoa(p.PID)
	o := newOwnService(t, "sonde", ownDirectory(t))
	start := func(args ...string) int {
		code, out, stderr := o.run(t, append(args, "--background", "--json")...)
		if code != exitOK {
			t.Fatalf("sonde %v: %s", args, stderr)
		}
		return parse[service.Description](t, out).Number
	}
	profile := start("profile", pid, "--root", "hammer.Main.round", "--budget", "2%")
	within(t, "the cost of the profile", func() bool { l := o.looks(t)[profile]; return l.Cost != nil && l.Cost.Share > 0 })
	monitor := start("monitor", pid, "hammer.Main.tinyVirtual", "--budget", "0.001%")
	show := o.command("show", strconv.Itoa(profile))
	messages, err := show.StderrPipe()
	if err != nil || show.Start() != nil {
		t.Fatal(err)
	}
	isSaid := false
	for lines := bufio.NewScanner(messages); !isSaid && lines.Scan(); {
		isSaid = strings.Contains(lines.Text(), "this command may cost")
	}
	if err := errors.Join(show.Process.Kill(), show.Wait()); !isSaid {
		t.Fatalf("the profile does not say that it may cost less: %v", err)
	}
	_, out, stderr := o.run(t, "end", strconv.Itoa(profile), "--json")
	if !strings.Contains(out, "other commands measure this JVM within the same budget: at the end of this profile,") {
		t.Errorf("the result of the profile does not say that it shows less: %s%s", out, stderr)
	}
	o.run(t, "end", strconv.Itoa(monitor))
	p.StopLoad()
}
