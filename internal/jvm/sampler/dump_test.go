package sampler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

func TestThreadDumpsOfEachJDK(t *testing.T) {
	at := time.Unix(1, 0)
	for _, jdk := range []string{"-17", "-25"} {
		text := golden(t, "threads"+jdk)
		found := map[string]jfr.Sample{}
		for _, s := range newDumpReader(false).read(text, at) {
			found[s.Thread.Name] = s
		}
		spin := found[`odd " #1 daemon" name`]
		if spin.Stack == nil || spin.Source != jfr.Execution || spin.State != StateRunnable || !spin.At.Equal(at) || spin.Thread.JavaID == 0 || spin.Thread.OSID == 0 {
			t.Fatalf("%s: %+v of %v", jdk, spin, found)
		}
		top, outermost := spin.Stack.Frames[0], spin.Stack.Frames[len(spin.Stack.Frames)-1]
		if top.Method.Class != "Dumped" || top.Method.Name != "spin" || top.Line != 3 || outermost.Method.Class != "java/lang/Thread" || outermost.Method.Name != "run" || outermost.Line == 0 {
			t.Errorf("%s: %+v … %+v", jdk, top, outermost)
		}
		if accept := found["acceptor"]; accept.Source != jfr.NativeCode || accept.Stack.Frames[0].Kind != jfr.Native || accept.Stack.Frames[0].Method.Class != "sun/nio/ch/Net" {
			t.Errorf("%s: %+v", jdk, accept)
		}
		for _, waiting := range []string{"sleeper", "parked", "main", "Reference Handler"} {
			if s, runs := found[waiting]; runs {
				t.Errorf("%s: %s counts as running: %+v", jdk, waiting, s)
			}
		}
		states, waits := map[string]string{}, map[string]jfr.Wait{}
		for _, s := range newDumpReader(true).read(text, at) {
			states[s.Thread.Name], waits[s.Thread.Name] = s.State, s.Wait
			if (s.Source == jfr.WallClock) != (s.Wait != jfr.Running) {
				t.Errorf("%s: %+v", jdk, s)
			}
		}
		for name, want := range map[string]jfr.Wait{"sleeper": jfr.Sleeping, "parked": jfr.Parked, "acceptor": jfr.IO, `odd " #1 daemon" name`: jfr.Running} {
			if waits[name] != want {
				t.Errorf("%s: %s waits for %q, want %q", jdk, name, waits[name], want)
			}
		}
		if states["sleeper"] != "STATE_TIMED_WAITING" || states["parked"] != "STATE_WAITING" || states["acceptor"] != StateRunnable {
			t.Errorf("%s: with those that wait: %v", jdk, states)
		}
	}
}

func TestBlockedThreads(t *testing.T) {
	const dump = "\"a\" #1 prio=5 tid=0x1 nid=0x10 %s [0x1]\n   java.lang.Thread.State: %s\n\tat a.B.c(B.java:7)\n\n"
	for _, test := range []struct {
		words, state string
		want         jfr.Wait
	}{
		{"waiting for monitor entry", "BLOCKED (on object monitor)", jfr.Monitor},
		{"waiting on condition", "RUNNABLE", jfr.UnknownWait},
		{"runnable", "RUNNABLE", jfr.Running},
	} {
		samples := newDumpReader(true).read(fmt.Sprintf(dump, test.words, test.state), time.Time{})
		if len(samples) != 1 || samples[0].Wait != test.want {
			t.Errorf("%s: %+v, want a wait for %q", test.words, samples, test.want)
		}
	}
}

func TestDumpsShareMethods(t *testing.T) {
	d := newDumpReader(false)
	const dump = "\"a\" #1 prio=5 tid=0x1 nid=0x10 runnable [0x1]\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(m@1/B.java:7)\n\tat a.B.<init>(Unknown Source)\n\t- locked <0x1> (a a.B)\n\n"
	first, second := d.read(dump, time.Time{}), d.read(strings.TrimSpace(dump), time.Time{})
	if len(first) != 1 || len(second) != 1 || first[0].Thread != second[0].Thread || first[0].Stack.Frames[0].Method != second[0].Stack.Frames[0].Method {
		t.Fatalf("%+v, %+v", first, second)
	}
	if frames := first[0].Stack.Frames; len(frames) != 2 || frames[0].Line != 7 || frames[1].Method.Name != "<init>" || frames[1].Line != 0 || first[0].Thread.OSID != 16 {
		t.Errorf("%+v", first[0])
	}
}

func FuzzDump(f *testing.F) {
	f.Add("\"a\" #1 nid=1 runnable\n   java.lang.Thread.State: RUNNABLE\n\tat a.b(c)\n")
	f.Add("\"a\" #1 nid=1 runnable\n\tat a.b(c)\n\t- locked <\n\t- waiting to lock <0x1> (a b)\n\t- locked <0x1> (a b)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range newDumpReader(true).read(text, time.Time{}) {
			if s.Thread == nil || len(s.Stack.Frames) == 0 || s.Stack.Frames[0].Method == nil {
				t.Fatalf("a sample that says nothing: %+v", s)
			}
		}
	})
}

// given are samples that were taken before.
type given []jfr.Sample

func (g given) poll(_ context.Context, b *Batch) error {
	b.Samples = slices.Clone(g)
	return nil
}
func (given) remains() string                   { return "" }
func (given) close(context.Context, bool) error { return nil }

// TestSondesThreadsAreLeftOut checks that threads of the agent are in no batch, whatever takes the samples.
func TestSondesThreadsAreLeftOut(t *testing.T) {
	var taken given
	for _, name := range []string{"main", "sonde-read", "sonde-work", "sondex", "pool-1-thread-1", "sonde-fetch", "sonde-write"} {
		taken = append(taken, jfr.Sample{Source: jfr.WallClock, Thread: &jfr.Thread{Name: name}, Stack: &jfr.Stack{}})
	}
	taken = append(taken, jfr.Sample{Stack: &jfr.Stack{}}) // of an unknown thread
	s := &Sampler{samples: taken, clock: &clock{tasks: t.TempDir()}, checked: time.Now().Add(time.Hour)}
	b, err := s.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, sample := range b.Samples {
		if sample.Thread != nil {
			names = append(names, sample.Thread.Name)
		}
	}
	if want := []string{"main", "sondex", "pool-1-thread-1"}; !slices.Equal(names, want) || len(b.Samples) != len(want)+1 {
		t.Errorf("%d samples, of %q, want those of %q and one without a thread", len(b.Samples), names, want)
	}
}
