package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestCycles enters a program, instruments and leaves it, as often as SONDE_CYCLES says. What the program takes of the
// machine must not grow.
func TestCycles(t *testing.T) {
	cycles, err := strconv.Atoi(os.Getenv("SONDE_CYCLES"))
	if err != nil {
		t.Skip("make torture CYCLES=10000 runs it")
	}
	for _, jdk := range jvmtest.Releases(t, 8, 17, 25) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { cycle(t, jdk, cycles) })
	}
}

func cycle(t *testing.T, jdk jvmtest.JDK, cycles int) {
	t.Helper()
	p := startProgram(t, jvmtest.JDKs(t)[0], launch{jdk: jdk, work: works[0]})
	// JVMs keep memory at each retransformation of a class with lambda expressions, whoever asks for it; see
	// docs/measurements/torture.md. These classes have none.
	set, err := pattern.ParseSet("TortureWork$Steps.*", "TortureWork$Item.*")
	if err != nil {
		t.Fatal(err)
	}
	p.load()
	settled := max(1, cycles/10) // then the JVM has what it makes once
	var first, last size
	fmt.Printf("| JDK | cycles | threads | descriptors | RSS | Metaspace |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range cycles + 1 {
		if i%settled == 0 {
			last = p.size()
			if i == settled {
				first = last
			}
			fmt.Printf("| %d | %d | %d | %d | %d KiB | %d KiB |\n", jdk.Major, i, last.threads, last.descriptors, last.rss>>10, last.metaspace>>10)
		}
		s, err := session.Open(t.Context(), p.PID, session.Settings{Command: "torture"})
		if err != nil {
			t.Fatalf("cycle %d: %v\n%s", i, err, p.complaints())
		}
		if _, err := s.Instrument(t.Context(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed}); err != nil {
			t.Errorf("cycle %d: %v", i, err)
		}
		if farewell, err := s.Close(t.Context()); err != nil || len(farewell.Remarks) > 0 {
			t.Errorf("cycle %d: %v %q", i, err, farewell.Remarks)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	p.rest()
	if last.threads > first.threads+threadsOfJVM || last.descriptors > first.descriptors {
		t.Errorf("%d threads and %d descriptors, after %d and %d", last.threads, last.descriptors, first.threads, first.descriptors)
	}
	grown := float64(last.metaspace-first.metaspace) / float64(cycles-settled)
	t.Logf("Metaspace has grown by %.0f bytes a cycle, RSS by %.0f", grown, float64(last.rss-first.rss)/float64(cycles-settled))
	if grown > mostMetaspace {
		t.Errorf("Metaspace has grown by %.0f bytes a cycle, more than %d", grown, mostMetaspace)
	}
}

const (
	threadsOfJVM  = 4       // compilers and collectors start and end threads
	mostMetaspace = 6 << 10 // bytes a cycle, that JIT compilers learn about the methods of the JDK that agents use
)

// A size is what a program takes of the machine.
type size struct {
	threads, descriptors int
	rss, metaspace       int64
}

var residentSize = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)

// size collects garbage and looks.
func (p *program) size() (s size) {
	p.t.Helper()
	if _, err := p.execute("jcmd", "GC.run"); err != nil {
		p.t.Fatal(err)
	}
	process := fmt.Sprint("/proc/", p.PID)
	status, err := os.ReadFile(process + "/status")
	if err != nil {
		p.t.Fatal(err)
	}
	if match := residentSize.FindSubmatch(status); match != nil {
		s.rss, _ = strconv.ParseInt(string(match[1]), 10, 64) // it has only digits
		s.rss <<= 10
	}
	files, _ := filepath.Glob(fmt.Sprintf("%s/root/tmp/hsperfdata_*/%d", process, p.PID)) // the pattern is well formed
	if len(files) != 1 {
		p.t.Fatalf("the JVM has the files %q for its counters", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	counters, err := perfdata.Parse(data)
	if err != nil {
		p.t.Fatal(err)
	}
	s.metaspace, _ = counters.Number("sun.gc.metaspace.used")
	s.threads = entries(process + "/task")
	s.descriptors = entries(process + "/fd")
	return s
}

func entries(directory string) int {
	list, _ := os.ReadDir(directory) // that of a process that has ended has none
	return len(list)
}
