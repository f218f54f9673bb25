package realprograms

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// sampledPeriod is one that is longer than most methods' calls in a round are
// many, and shorter than some.
const sampledPeriod = 64

// exercise puts hooks into a program that is at work, has it work with hooks
// that time every call and with hooks that time some, and takes them out while
// it works. All that it says meanwhile must be what it said before.
func exercise(t *testing.T, p *program, patterns ...string) {
	t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	before := p.round()
	p.load(2, 1)
	began := time.Now()
	s, err := session.Open(t.Context(), p.PID, session.Settings{Command: "test", Notice: func(text string) { t.Log("notice: " + text) }})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed { // the test failed on the way
			_, _ = s.Close(context.Background())
		}
		_ = s.Release()
	})
	opened := time.Now()
	installation, err := s.Instrument(t.Context(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
	if err != nil {
		t.Fatal(err)
	}
	pause, _ := installation.Pause()
	t.Logf("entered in %v; hooks in %d methods of %d classes, in %d batches, in %v, of which the program stood still for %v",
		opened.Sub(began), len(s.Methods()), s.Classes(), len(installation.Batches), time.Since(opened), pause)
	p.pass(2)
	p.stop()

	p.countedRound(s, before, "with every call timed")
	if err := s.Switch(t.Context(), set, arena.On|arena.Sampled|arena.Flat, sampledPeriod); err != nil {
		t.Fatal(err)
	}
	p.countedRound(s, before, "with some calls timed")

	p.load(2, 1)
	farewell, err := s.Close(t.Context())
	closed = true
	if err != nil || !farewell.Restored.Unmapped || len(farewell.Remarks) > 0 {
		t.Errorf("leaving: %v, %+v", err, farewell)
	}
	t.Logf("left in %v, of which the program stood still for %v", farewell.Took, farewell.Pause.Pause)
	p.pass(1)
	p.stop()
	p.same("after the hooks are out", p.round(), before)
	tellLeftAlone(t, s)
}

// countedRound runs a round that nothing else disturbs: it must say what it said
// before, and the hooks must count what the program itself counts.
func (p *program) countedRound(s *session.Session, want []string, when string) {
	p.t.Helper()
	ownBefore, before := p.counts(), calls(p.t, s)
	p.same(when, p.round(), want)
	own, now := p.counts(), calls(p.t, s)
	if maps.Equal(now, before) {
		p.t.Errorf("%s nothing was counted", when)
	}
	for name, count := range own {
		after, hooked := now[name]
		if got, want := after-before[name], count-ownBefore[name]; hooked && got != want {
			p.t.Errorf("%s: %s: the hooks count %d, the program %d", when, name, got, want)
		}
	}
}

// calls is what hooks counted so far, of each method that has one, by
// class.name(descriptor), and how many calls ended by an exception by the same
// with "threw " before it.
func calls(t *testing.T, s *session.Session) map[string]int64 {
	t.Helper()
	sum, err := s.Sum()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Dropped != 0 {
		t.Errorf("%d calls were dropped", sum.Dropped)
	}
	counted := make(map[string]int64)
	for _, m := range s.Methods() {
		name := m.Class + "." + m.Name + m.Descriptor
		counted[name], counted["threw "+name] = 0, 0
		if totals := sum.Methods[m.ID]; totals != nil {
			counted[name], counted["threw "+name] = int64(totals.Calls), int64(totals.Threw)
		}
	}
	return counted
}

// tellLeftAlone logs what has no hook, by reason. A class that the JVM refused is
// a failure, but for those whose own initialiser had failed, which it calls
// invalid.
func tellLeftAlone(t *testing.T, s *session.Session) {
	t.Helper()
	reasons, example := make(map[string]int), make(map[string]string)
	for _, left := range s.LeftAlone() {
		reasons[left.Reason]++
		example[left.Reason] = left.Class + " " + left.Method
		if strings.HasPrefix(left.Reason, "the JVM refused") && !strings.HasSuffix(left.Reason, "invalid class") {
			t.Errorf("%s: %s", left.Class, left.Reason)
		}
	}
	for reason, count := range reasons {
		t.Logf("left alone: %d × %s, such as %s", count, reason, example[reason])
	}
}

// onAll runs a test on every JDK.
func onAll(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run("jdk"+jdk.Version, func(t *testing.T) { test(t, jdk) })
	}
}
