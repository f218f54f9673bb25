package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// TestTemplatesLive weaves three templates into three methods of a program, one of which is a constructor. What they record
// equals the program's own figures, their errors do not reach the program, and nothing is left when they end.
func TestTemplatesLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java", "Dear.java")
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
			did := readPaid(t, s.Await(t, "done"))
			status := parse[handover.Status](t, s.must("apply", s.pid, "--json"))
			did.check(t, status.Records)
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

// A paid is what templates.Payments says that it has done.
type paid struct{ orders, cents, largest, refused, made, wrong uint64 }

func readPaid(t *testing.T, line string) (p paid) {
	t.Helper()
	if _, err := fmt.Sscanf(line, "done %d %d %d %d %d %d", &p.orders, &p.cents, &p.largest, &p.refused, &p.made, &p.wrong); err != nil || p.wrong != 0 {
		t.Fatalf("%d results are wrong, %v", p.wrong, err)
	}
	return p
}

// check compares what the templates have recorded of whole hundreds of payments with what the program says.
func (p paid) check(t *testing.T, records []results.Recorded) {
	t.Helper()
	all := make(map[string]results.Recorded)
	for _, r := range records {
		all[strings.TrimSpace(r.Probe+" "+r.Name+" "+r.Kind+" "+r.Label)] = r
	}
	sum := func(name string) (total results.Recorded) {
		for key, r := range all {
			if strings.HasPrefix(key, name) {
				total.Count, total.Sum, total.Max = total.Count+r.Count, total.Sum+r.Sum, max(total.Max, r.Max)
			}
		}
		return total
	}
	hundreds := p.made / 100
	for _, test := range []struct {
		what      string
		got, want uint64
	}{
		{"calls", sum("pay calls counter").Count, p.made},
		{"calls of red", all["pay calls counter tenant=red"].Count, p.made / 2},
		{"orders", sum("pay orders counter").Count, p.orders},
		{"orders of red", all["pay orders counter tenant=red"].Count, p.made / 2},
		{"orders of blue", all["pay orders counter tenant=blue"].Count, p.orders - p.made/2},
		{"thrice", sum("pay thrice sum").Sum, 3 * p.cents},
		{"cents", sum("pay cents histogram").Sum, p.cents},
		{"number of cents", sum("pay cents histogram").Count, p.orders},
		{"largest", sum("pay cents histogram").Max, p.largest},
		{"median of red", uint64(all["pay cents histogram tenant=red"].P50+6) / 12, 4},
		{"refusals", all["pay refusals event tenant=blue, refusals=java.lang.IllegalArgumentException 3"].Count, p.refused},
		{"failures of pay", all["pay  failures"].Count, hundreds},
		{"made", sum("made made sum").Sum, p.made - hundreds},
		{"failures of made", all["made  failures"].Count, hundreds},
		{"doubled", sum("twice doubled sum").Sum, 2 * hundreds * 4950},
		{"number of doubled", sum("twice doubled sum").Count, p.made},
		{"dear ones begun", sum("dear begun counter").Count, 25 * hundreds},
		{"dear ones", sum("dear dear sum").Sum, 1850 * hundreds},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %d, want %d", test.what, test.got, test.want)
		}
	}
	if t.Failed() {
		t.Logf("%+v", records)
	}
}

// TestRefusedTemplateLive checks that a program never sees a template that is refused.
func TestRefusedTemplateLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java", "Dear.java")
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

// TestTemplateDryRunLive shows what templates would insert into methods of a program that nobody has entered, and of one that has
// hooks, and changes neither.
func TestTemplateDryRunLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java", "Dear.java", "All.java")
	running := jvmtest.Start(t, jvmtest.Need(t, 17), jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "templates.Payments"}})
	s := &watchedShop{t, running, strconv.Itoa(running.PID)}
	file := filepath.Join(classes, "probes.yaml")
	text, err := os.ReadFile("testdata/templates/probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	made := []string{"apply", s.pid, "--dry-run", "--trusted", "--template", filepath.Join(classes, "Made.class")}
	code, out, stderr := sonde(t, append(made, "--match", "templates.Payments*.*", "--match", "!templates.Payments.<init>", "--match", "templates.None.none")...)
	if code != exitOK || !strings.Contains(stderr, "note: no loaded class or method matches templates.None.none") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"+ probe Made: ", "\ntemplates.Payments, probe Made\n", "Record.add (IJ)V\n", "note: pay("} {
		if !strings.Contains(out+stderr, want) {
			t.Errorf("%q is missing in\n%s%s", want, out, stderr)
		}
	}
	out = s.must("apply", s.pid, "--dry-run", "--template", filepath.Join(classes, "All.class"), "--match", "templates.Payments*.*")
	if n := strings.Count(out, "Record.enter (I)J\n"); n != mostWoven || !regexp.MustCompile("\\nand [1-9] methods? more\n$").MatchString(out) {
		t.Errorf("%d of many methods are shown: %s", n, out)
	}
	if out := s.must("status", s.pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent in process") {
		t.Errorf("after --dry-run: %s", out)
	}
	d := parse[document.Handover](t, s.must("apply", s.pid, "--dry-run", "--json", "-f", file))
	if n := strings.Count(d.Woven, "Record.enter (I)J\n"); d.Applied || len(d.Changes) != 4 || n != 4 || !strings.Contains(d.Woven, "Record.event (ILjava/lang/String;)V\n") {
		t.Errorf("%d methods with templates, %+v", n, d)
	}
	s.must("apply", s.pid, "-f", file, "--background", "--settle", "0")
	t.Cleanup(func() { _, _, _ = sonde(t, "apply", s.pid, "--end") })
	before := parse[handover.Status](t, s.must("apply", s.pid, "--json"))
	out = s.must(append(made, "--match", "templates.Payments$Payment.<init>")...)
	if strings.Count(out, "Record.enter (I)J\n") != 1 || !strings.Contains(out, "- probe twice\n") || strings.Contains(out, "Record.event") {
		t.Errorf("while probes are applied: %s", out)
	}
	if after := parse[handover.Status](t, s.must("apply", s.pid, "--json")); len(after.Probes) != len(before.Probes) {
		t.Errorf("after --dry-run, the probes are %+v", after.Probes)
	}
}

// TestPackedTemplatesLive starts a program with a pack whose probes have templates. What they record is read from the arena while
// the program runs and after it was killed, and a Sonde that takes the place of the pack has the same templates.
func TestPackedTemplatesLive(t *testing.T) {
	t.Parallel()
	classes := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java", "Dear.java")
	for _, jdk := range jvmtest.Releases(t, 17, 25) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(classes)); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "probes.yaml")
			text, err := os.ReadFile("testdata/templates/probes.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s := &packedShop{watchedShop: watchedShop{t: t}}
			s.start(jdk, dir, "templates.Payments", file)
			if err := os.Remove(filepath.Join(dir, "Pay.class")); err != nil { // the pack has it
				t.Fatal(err)
			}
			pay := func(times string) paid {
				t.Helper()
				if _, err := fmt.Fprintln(s.Stdin, times); err != nil {
					t.Fatal(err)
				}
				return readPaid(t, s.Await(t, "done"))
			}
			watching := startSonde(t, "pack", "live", s.pid, "--json", "--interval", "100ms")
			did := pay("1000")
			watching.signal(t, syscall.SIGINT)
			if code := watching.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, watching.stderr.String())
			}
			lines := strings.Split(strings.TrimSpace(watching.out.String()), "\n")
			did.check(t, parse[document.Monitor](t, lines[len(lines)-1]).Records)
			if out := s.must("report", s.pid); !strings.Contains(out, "RECORD\n") || !strings.Contains(out, "refusals=java.lang.IllegalArgumentException 3") {
				t.Errorf("the report is\n%s", out)
			}
			made := func(of string, want uint64) {
				t.Helper()
				report := parse[document.Report](t, s.must("report", of, "--json"))
				for _, r := range report.Records {
					if r.Name == "made" && r.Sum == want {
						return
					}
				}
				t.Errorf("%s: made is not %d: %+v", of, want, report.Records)
			}
			made(s.pid, 9+did.made-did.made/100) // with those before the program was ready
			taking := startSonde(t, "pack", "live", s.pid, "--weave", "--json")
			did = pay("500")
			status := parse[handover.Status](t, s.must("apply", s.pid, "--json"))
			did.check(t, status.Records)
			s.must("apply", s.pid, "--end")
			if code := taking.end(t); code != exitOK {
				t.Errorf("exit code %d: %s", code, taking.stderr.String())
			}
			made(s.arena, 9+4000-40)
		})
	}
}
