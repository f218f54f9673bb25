package cli

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// startTyped starts a program whose methods are selected by type.
func startTyped(t *testing.T, jdk jvmtest.JDK) *watchedShop {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/typed/Main.java"}})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "typed.Main"}})
	s := &watchedShop{t, running, strconv.Itoa(running.PID)}
	s.do("run 1")
	return s
}

// callsBy returns the calls of a result, by class and method.
func callsBy(d *document.Count) map[string]uint64 {
	calls := make(map[string]uint64)
	for _, m := range d.Methods {
		calls[strings.TrimPrefix(m.Class, "typed.Main$")+"."+m.Method+m.Descriptor] = m.Calls
	}
	return calls
}

// TestSelectByType counts methods that are selected by interface, annotation and call, also in a class
// that loads while they are counted.
func TestSelectByType(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := startTyped(t, jdk)
			counts := func(args []string, orders ...string) map[string]uint64 {
				t.Helper()
				counting := startSonde(t, append(append([]string{"count", s.pid}, args...), "--json", "--no-settle")...)
				for _, order := range orders {
					s.do(order)
				}
				counting.signal(t, syscall.SIGINT)
				if code := counting.end(t); code != exitOK {
					t.Fatalf("%q: exit code %d: %s", args, code, counting.stderr.String())
				}
				got := counting.result(t)
				return callsBy(&got)
			}
			for _, tt := range []struct {
				args []string
				want map[string]uint64
			}{
				{[]string{"typed.Main$Store.put", "@typed.Main$Timed", "typed.** calls typed.Main$Target.hit"}, map[string]uint64{
					"Memory.put(I)V": 5, "Writer.put(I)V": 15, "typed.Main.lambda$main$0(I)V": 5,
					"Late.put(I)V": 7, "LateDeep.put(I)V": 7, "Work.timed()V": 5, "Late.timed()V": 7, "Work.plain()V": 5,
				}},
				{[]string{"typed.Main.Store+.put", "!typed.Main$Writer.*"}, map[string]uint64{"Memory.put(I)V": 5, "Memory.put(J)V": 5, "typed.Main.lambda$main$0(I)V": 5, "Late.put(I)V": 7, "LateDeep.put(I)V": 7}},
				{[]string{"@typed.Main$Traced", "typed.Main$Handler.handle"}, map[string]uint64{"Clock.tick()V": 5, "Strings.handle(Ljava/lang/String;)V": 5}},
				{[]string{"typed.Main$Target.hit", "--within", "typed.Main$Store.put >"}, map[string]uint64{"Target.hit()V": 15}},
				{[]string{"typed.Main$Store.putTwice"}, map[string]uint64{"Store.putTwice(I)V": 5}},
			} {
				if got := counts(tt.args, "run 5", "late 7"); !maps.Equal(got, tt.want) {
					t.Errorf("%q: got %v, want %v", tt.args, got, tt.want)
				}
			}
			checkTyped(t, s)
		})
	}
}

// checkTyped looks at other commands than count, and at patterns that match nothing.
func checkTyped(t *testing.T, s *watchedShop) {
	out := s.must("find", s.pid, "typed.Main$Store.put")
	for _, want := range []string{"typed.Main$Memory  ", "typed.Main$Writer  ", "  put(int):void  (I)V  no code\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if code, _, stderr := sonde(t, "find", s.pid, "@Timedd"); code != exitError || !strings.Contains(stderr, "no method or class that is loaded carries @**.Timedd; similar: typed.Main$Timed\n") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for pattern, want := range map[string]string{
		"typed.Main$Plugin.plug":              "no loaded class matches typed.Main$Plugin.plug; a class that loads later gets its hooks then\n",
		"java.sql.PreparedStatement.execute*": "no loaded class implements java.sql.PreparedStatement.execute*; a class that loads later gets its hooks then\n",
		"typed.Main$Work.time":                "class typed.Main$Work has no method time of its own; similar: typed.Main$Work.timed; nothing was changed in the JVM\n",
		"@acme.Timed":                         "no method or class that is loaded carries @acme.Timed; a class that loads later gets its hooks then; similar: typed.Main$Timed\n",
		"** calls acme.Main$Target.hit":       "no method of a loaded class that matches ** calls acme.Main$Target.hit; a class that loads later gets its hooks then; similar: typed.Main$Target.hit\n",
	} {
		if code, _, stderr := sonde(t, "count", s.pid, pattern, "--duration", "1ms", "--no-settle"); code != exitError || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, no %q in %s", pattern, code, want, stderr)
		}
	}
	profiling := startSonde(t, "profile", s.pid, "--root", "typed.Main$Store.put", "--timing", "exact", "--no-settle", "--json")
	s.do("run 5")
	profiling.signal(t, syscall.SIGINT)
	if code := profiling.end(t); code != exitOK || !strings.Contains(profiling.out.String(), `"typed/Main$Memory","name":"put"`) || !strings.Contains(profiling.out.String(), `"typed/Main$Writer","name":"put"`) {
		t.Errorf("profile: exit code %d: %s%s", code, profiling.out.String(), profiling.stderr.String())
	}
}

// TestSelectByTypeOfALaterInterface: neither an interface nor its implementation is loaded when the
// command begins. The implementation begins to load first, so it gets its hook some time after.
func TestSelectByTypeOfALaterInterface(t *testing.T) {
	t.Parallel()
	s := startTyped(t, jvmtest.OneJDK(t)[0])
	counting := startSonde(t, "count", s.pid, "typed.Main$Plugin.plug", "--calls", "100", "--json", "--no-settle")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-counting.read
	}()
	for {
		s.do("plug 100")
		select {
		case <-ended:
			if code := counting.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, counting.stderr.String())
			}
			got := counting.result(t)
			if calls := callsBy(&got); len(calls) != 1 || calls["LatePlugin.plug()V"] < 100 {
				t.Errorf("got %v, want at least 100 calls of LatePlugin.plug", calls)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
