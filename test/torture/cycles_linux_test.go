package torture

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestCycles enters a program, instruments it, lets it work and leaves, as often as SONDE_CYCLES says. What the program
// takes of the machine must not grow.
func TestCycles(t *testing.T) {
	cycles, err := strconv.Atoi(os.Getenv("SONDE_CYCLES"))
	if err != nil {
		t.Skip("make torture CYCLES=10000 runs it")
	}
	for _, jdk := range jvmtest.Releases(t, 8, 17, 25) {
		most := cycles
		if jdk.Major == 8 {
			most = min(cycles, mostOnJDK8)
		}
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { cycle(t, jdk, most) })
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
	first := p.round()
	settled := max(1, cycles/10) // then the JVM has what it makes once
	var before, last size
	fmt.Printf("| JDK | cycles | threads | descriptors | RSS | Metaspace |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range cycles + 1 {
		if i%settled == 0 {
			last = p.size()
			if i == settled {
				before = last
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
		if round := p.round(); !slices.Equal(round, first) {
			t.Errorf("cycle %d: the program says\n%s\nwant\n%s", i, strings.Join(round, "\n"), strings.Join(first, "\n"))
		}
		if farewell, err := s.Close(t.Context()); err != nil || len(farewell.Remarks) > 0 {
			t.Errorf("cycle %d: %v %q", i, err, farewell.Remarks)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if last.threads > before.threads+threadsOfJVM || last.descriptors > before.descriptors+descriptorsOfJVM {
		t.Errorf("%d threads and %d descriptors, after %d and %d", last.threads, last.descriptors, before.threads, before.descriptors)
	}
	grown := float64(last.metaspace-before.metaspace) / float64(cycles-settled)
	t.Logf("Metaspace has grown by %.0f bytes a cycle, RSS by %.0f", grown, float64(last.rss-before.rss)/float64(cycles-settled))
	if cycles >= fewest && grown > mostMetaspace {
		t.Errorf("Metaspace has grown by %.0f bytes a cycle, more than %d", grown, mostMetaspace)
	}
}

const (
	threadsOfJVM     = 4       // compilers and collectors start and end threads
	descriptorsOfJVM = 2       // those of the connection by which the size is asked for
	mostMetaspace    = 6 << 10 // bytes a cycle, that JIT compilers learn about the methods of the JDK that agents use
	fewest           = 1000    // cycles; a young JVM learns more
	mostOnJDK8       = 400     // cycles; each takes longer than the one before, see docs/measurements/torture.md
)

// A size is what a program takes of the machine.
type size struct {
	threads, descriptors int
	rss, metaspace       int64
}

var (
	residentSize  = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
	metaspaceSize = regexp.MustCompile(`(?:Metaspace\s+used|Both:)\s+(\d+)(?:\.\d+)? ?K`)
)

// kilobytes returns the number that a pattern finds, in bytes.
func kilobytes(pattern *regexp.Regexp, text string) int64 {
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return 0
	}
	n, _ := strconv.ParseInt(match[1], 10, 64) // it has only digits
	return n << 10
}

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
	command := "VM.metaspace basic scale=K"
	if p.launch.jdk.Major == 8 {
		command = "GC.heap_info"
	}
	sizes, err := p.execute("jcmd", command)
	if err != nil {
		p.t.Fatal(err)
	}
	s.rss = kilobytes(residentSize, string(status))
	s.metaspace = kilobytes(metaspaceSize, sizes)
	if s.rss == 0 || s.metaspace == 0 {
		p.t.Fatalf("no sizes in %s%s", status, sizes)
	}
	s.threads = entries(process + "/task")
	s.descriptors = entries(process + "/fd")
	return s
}

func entries(directory string) int {
	list, _ := os.ReadDir(directory) // that of a process that has ended has none
	return len(list)
}
