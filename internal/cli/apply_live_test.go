package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// watchedShop is a program that runs commands from its standard input while Sondes measure it.
type watchedShop struct {
	t *testing.T
	*jvmtest.Running
	pid string
}

func (s *watchedShop) do(order string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.Stdin, order); err != nil {
		s.t.Fatal(err)
	}
	s.Await(s.t, "done")
}

// must runs a command that succeeds, and gives what it wrote.
func (s *watchedShop) must(args ...string) string {
	s.t.Helper()
	code, out, stderr := sonde(s.t, args...)
	if code != exitOK {
		s.t.Fatalf("sonde %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, stderr)
	}
	return out
}

// calls are what the Sonde that holds the shop has counted, by probe and label.
func (s *watchedShop) calls() map[string]uint64 {
	s.t.Helper()
	calls := map[string]uint64{}
	status := parse[handover.Status](s.t, s.must("apply", s.pid, "--json"))
	for _, row := range status.Probes {
		calls[strings.TrimSpace(row.Name+" "+row.Label)] += row.Calls
	}
	return calls
}

func (s *watchedShop) expect(want map[string]uint64) {
	s.t.Helper()
	have := s.calls()
	for name, calls := range want {
		if have[name] != calls {
			s.t.Errorf("%d calls of %s, want %d; all are %v", have[name], name, calls, have)
		}
	}
}

const (
	firstProbes  = "testdata/applied/first.yaml"
	secondProbes = "testdata/applied/second.yaml"
)

// TestApplyLive: a file is applied, again, changed, saved and ended; what is counted is
// what happened, and what did not change counts on.
func TestApplyLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
			running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "applied.Shop"}})
			s := &watchedShop{t, running, strconv.Itoa(running.PID)}
			s.unheld()
			const all = "+ probe charges: methods applied.Shop$Pay.charge, within applied.Shop$Web.handle >, level time, group-by tier\n" +
				"+ probe dear: methods applied.Shop$Pay.charge, when $2 >= 3, level count\n" +
				"+ probe gold: methods applied.Shop$Pay.charge, when tx.tier == \"gold\", level time\n" +
				"+ tag tier: value $1.tier, at applied.Shop$Web.handle\n"
			if out := s.must("apply", s.pid, "-f", firstProbes, "--dry-run"); out != all {
				t.Errorf("a dry run says\n%s", out)
			}
			out := s.must("apply", s.pid, "-f", firstProbes, "--background")
			t.Cleanup(func() { _, _, _ = sonde(t, "apply", s.pid, "--end") })
			if !strings.Contains(out, "of process "+s.pid+" continues in the background: sonde show ") {
				t.Errorf("applying says %q", out)
			}
			s.do("sell 7 gold")
			s.do("sell 5 iron")
			s.do("refund 3 gold")
			s.expect(map[string]uint64{"charges tier=gold": 7, "charges tier=iron": 5, "dear": 6, "gold": 7})
			if out := s.must("apply", s.pid, "-f", firstProbes); out != nothingToChange+"\n" {
				t.Errorf("the same again says %q", out)
			}
			s.change()
			s.end()
		})
	}
}

// unheld: nothing can be had of a JVM that nobody holds.
func (s *watchedShop) unheld() {
	s.t.Helper()
	for _, command := range [][]string{{"apply", s.pid}, {"apply", s.pid, "--end"}, {"save", s.pid}} {
		if code, out, stderr := sonde(s.t, command...); code == exitOK || out != "" || !strings.Contains(stderr, "no sonde apply is running for process "+s.pid) {
			s.t.Errorf("sonde %v: exit code %d, %s%s", command, code, out, stderr)
		}
	}
}

// change applies another file: only what differs is touched.
func (s *watchedShop) change() {
	s.t.Helper()
	const changes = "- probe gold\n~ probe dear: level count → time\n+ probe refunds: methods applied.Shop$Desk.refund, level count, calls 1000\n"
	if out := s.must("apply", s.pid, "-f", secondProbes); !strings.HasPrefix(out, changes+"applied by look ") || !strings.Contains(out, " of process "+s.pid+": 1 hook added, ") || !strings.HasSuffix(out, " switched; changed, so counted from zero: dear\n") {
		s.t.Errorf("a changed file says\n%s", out)
	}
	s.do("sell 4 gold")
	s.do("refund 2 iron")
	s.expect(map[string]uint64{"charges tier=gold": 11, "charges tier=iron": 5, "dear": 1, "refunds": 2, "gold": 7})
	text, err := os.ReadFile(secondProbes)
	if err != nil {
		s.t.Fatal(err)
	}
	want, err := probeset.Parse(text, secondProbes)
	if err != nil {
		s.t.Fatal(err)
	}
	saved := s.must("save", s.pid)
	if saved != string(want.YAML()) {
		s.t.Errorf("saved is\n%s", saved)
	}
	if out := s.must("apply", s.pid, "-f", secondProbes, "--dry-run"); out != nothingToChange+"\n" {
		s.t.Errorf("what is applied differs from its file: %s", out)
	}
}

func (s *watchedShop) end() {
	s.t.Helper()
	s.must("apply", s.pid, "--end")
	s.unheld()
	if out := s.must("status", s.pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent in process") {
		s.t.Errorf("after the end: %s", out)
	}
	s.do("sell 1 gold")
}

// TestRunProbes: a program that is started with a file is watched from its beginning.
func TestRunProbes(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/started/Started.java"}})
			command := exec.Command("sonde", "run", "--probes", "testdata/started/probes.yaml", "--", jdk.Tool("java"), "-cp", classes, "started.Started", "7")
			var out, said strings.Builder
			command.Stdout, command.Stderr = &out, &said
			if code := exitCode(t, command.Run()); code != 7 || out.String() != "begin\nend\n" {
				t.Errorf("exit code %d, said %q", code, out.String())
			}
			for _, want := range []string{"  100  ", "  work   started.Started.main >\n", "    1  ", "  main   everywhere\n", "traces: 20 kept of 100 begun; 80 older ones were dropped\n", "the slowest of 20 transactions"} {
				if !strings.Contains(said.String(), want) {
					t.Errorf("%q is missing in\n%s", want, said.String())
				}
			}
		})
	}
}
