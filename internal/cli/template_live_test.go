package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
)

// TestTemplatesLive weaves three templates into three methods of a program, one of which is a constructor. What they record
// equals the program's own figures, their errors do not reach the program, and nothing is left when they end.
func TestTemplatesLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java")
	for _, jdk := range jvmtest.Releases(t, 8, 17, 25) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(classes)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile("testdata/templates/probes.yaml")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "probes.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", jvmtest.Visible(t, jdk, classes), "templates.Payments"}})
			s := &watchedShop{t, running, strconv.Itoa(running.PID)}
			s.must("apply", s.pid, "-f", file, "--background", "--settle", "0")
			t.Cleanup(func() { _, _, _ = sonde(t, "apply", s.pid, "--end") })
			if _, err := fmt.Fprintln(s.Stdin, "1000"); err != nil {
				t.Fatal(err)
			}
			var orders, cents, largest, refused, made, wrong uint64
			if _, err := fmt.Sscanf(s.Await(t, "done"), "done %d %d %d %d %d %d", &orders, &cents, &largest, &refused, &made, &wrong); err != nil || wrong != 0 {
				t.Fatalf("%d results are wrong, %v", wrong, err)
			}
			status := parse[handover.Status](t, s.must("apply", s.pid, "--json"))
			all := make(map[string]handover.Recorded)
			for _, r := range status.Records {
				all[strings.TrimSpace(r.Probe+" "+r.Name+" "+r.Kind+" "+r.Label)] = r
			}
			sum := func(name string) (total handover.Recorded) {
				for key, r := range all {
					if strings.HasPrefix(key, name) {
						total.Count, total.Sum, total.Max = total.Count+r.Count, total.Sum+r.Sum, max(total.Max, r.Max)
					}
				}
				return total
			}
			for _, test := range []struct {
				what      string
				got, want uint64
			}{
				{"calls", sum("pay calls counter").Count, orders + refused},
				{"calls of red", all["pay calls counter tenant=red"].Count, (orders + refused) / 2},
				{"orders", sum("pay orders counter").Count, orders},
				{"orders of red", all["pay orders counter tenant=red"].Count, (orders + refused) / 2},
				{"orders of blue", all["pay orders counter tenant=blue"].Count, orders - (orders+refused)/2},
				{"thrice", sum("pay thrice sum").Sum, 3 * cents},
				{"cents", sum("pay cents histogram").Sum, cents},
				{"number of cents", sum("pay cents histogram").Count, orders},
				{"largest", sum("pay cents histogram").Max, largest},
				{"median of red", uint64(all["pay cents histogram tenant=red"].P50+6) / 12, 4},
				{"refusals", all["pay refusals event tenant=blue, refusals=java.lang.IllegalArgumentException 3"].Count, refused},
				{"failures of pay", all["pay  failures"].Count, 40},
				{"made", sum("made made sum").Sum, made - 40},
				{"failures of made", all["made  failures"].Count, 40},
				{"doubled", sum("twice doubled sum").Sum, 2 * 4 * 10 * 4950},
				{"number of doubled", sum("twice doubled sum").Count, made},
			} {
				if test.got != test.want {
					t.Errorf("%s: got %d, want %d", test.what, test.got, test.want)
				}
			}
			if t.Failed() {
				t.Logf("%+v", status.Records)
			}
			if out := s.must("apply", s.pid); !strings.Contains(out, "RECORD\n") || !strings.Contains(out, "refusals=java.lang.IllegalArgumentException 3") {
				t.Errorf("the state is\n%s", out)
			}
			s.must("apply", s.pid, "--end")
			if out := s.must("status", s.pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent in process") {
				t.Errorf("after the end: %s", out)
			}
			s.do("10")
		})
	}
}

// TestRefusedTemplateLive checks that a program never sees a template that is refused.
func TestRefusedTemplateLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java")
	running := jvmtest.Start(t, jvmtest.Need(t, 17), jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "templates.Payments"}})
	pid := strconv.Itoa(running.PID)
	code, _, stderr := sonde(t, "apply", pid, "--template", filepath.Join(classes, "Twice.class"), "--match", "templates.Payments.twice")
	if want := "Twice.java:5: calls templates.Payments.twice: "; code != exitUsage || !strings.HasPrefix(stderr, want) {
		t.Errorf("got %d, %s; want %d, %s", code, stderr, exitUsage, want)
	}
	if code, out, _ := sonde(t, "status", pid); code != exitOK || !strings.HasPrefix(out, "Sonde has no hooks and no agent in process") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
