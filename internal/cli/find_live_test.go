package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// TestFind finds classes by their names, methods by patterns, and says what is similar where there is nothing.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
			running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "applied.Shop"}})
			pid := strconv.Itoa(running.PID)
			for _, tt := range []struct {
				pattern string
				want    []string
			}{
				{"Pay", []string{"applied.Shop$Pay <init> charge"}},
				{"charge", []string{"applied.Shop$Pay charge"}},
				{"applied/Shop$Pay.charge", []string{"applied.Shop$Pay charge"}},
				{"applied.Shop$*#handle", []string{"applied.Shop$Web handle"}},
				{"applied.**.refund(*, int):void", []string{"applied.Shop$Desk refund"}},
				{"java.lang.String.isEmpty", []string{"java.lang.String isEmpty"}},
			} {
				code, out, stderr := sonde(t, "find", pid, tt.pattern, "--json")
				if code != exitOK {
					t.Errorf("%s: exit code %d: %s", tt.pattern, code, stderr)
					continue
				}
				var got []string
				for _, c := range parse[document.Find](t, out).Classes {
					line := c.Name
					for _, m := range c.Methods {
						line += " " + m.Name
					}
					got = append(got, line)
					if from := strings.Join(c.From, " "); from != classes && !strings.HasPrefix(from, "java.base") && jdk.Major > 8 {
						t.Errorf("%s is from %q, want %q or java.base", c.Name, from, classes)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s: got %q, want %q", tt.pattern, got, tt.want)
				}
			}
			code, out, stderr := sonde(t, "find", pid, "Shopp.sell")
			if code != exitError || out != "" || !strings.Contains(stderr, "sonde: no loaded class or method matches Shopp.sell; similar: applied.Shop") {
				t.Errorf("exit code %d: %s%s", code, out, stderr)
			}
			if code, out, _ := sonde(t, "find", pid, "applied.Shop$Pay.charge"); code != exitOK || !strings.Contains(out, "\n  charge(applied.Shop$Order, int):void  (Lapplied/Shop$Order;I)V\n\n1 class, 1 method of ") {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

// TestMethodsAreCompleted asks as a shell does. Nothing enters the JVM.
func TestMethodsAreCompleted(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "applied.Shop"}})
	pid := strconv.Itoa(running.PID)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"count", pid, "app"}, "applied.\n:6\n"},
		{[]string{"count", pid, "applied.Shop$P"}, "applied.Shop$Pay.\n:6\n"},
		{[]string{"trace", pid, "!applied.Shop$Pay.c"}, "!applied.Shop$Pay.charge\n:6\n"},
		{[]string{"profile", pid, "--root", "none.such."}, ":6\n"},
		{[]string{"profile", pid, "--root", "java.lang.Boolean.logicalX"}, "java.lang.Boolean.logicalXor\n:6\n"},
	} {
		code, out, stderr := runHere(t.Context(), append([]string{"__complete"}, tt.args...)...)
		if code != exitOK || out != tt.want {
			t.Errorf("%q: exit code %d, got %q, want %q: %s", tt.args, code, out, tt.want, stderr)
		}
	}
	if maps, err := os.ReadFile(filepath.Join("/proc", pid, "maps")); err != nil || strings.Contains(string(maps), "sonde") && !strings.Contains(classes, "sonde") {
		t.Errorf("completion has entered the JVM: %v", err)
	}
}

// TestAttachStays: it brings the agent in, and takes it out at the end.
func TestAttachStays(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "applied.Shop"}})
	s := &watchedShop{t, running, strconv.Itoa(running.PID)}
	attached := startSonde(t, "attach", s.pid, "--json")
	s.must("count", s.pid, "applied.Shop$Pay.charge", "--duration", "1ms")
	if out := s.must("status", s.pid); strings.HasPrefix(out, "Sonde has no hooks and no agent") {
		t.Errorf("the agent is not there: %s", out)
	}
	attached.signal(t, syscall.SIGINT)
	if code := attached.end(t); code != exitOK || parse[document.Attached](t, attached.out.String()).Ended != string(endedInterrupted) {
		t.Errorf("exit code %d: %s%s", code, attached.out.String(), attached.stderr.String())
	}
	if out := s.must("status", s.pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent") {
		t.Errorf("after the end: %s", out)
	}
}
