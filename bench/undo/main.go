// Undo measures whether a program is as fast after its hooks were taken out as
// it was before they went in.
//
//	go run ./bench/undo [--pairs N] [--slice D] [--settle D] [--rounds N]
//
// On each JDK two equal programs run, one of which is never touched. They work
// in turns, a slice of processor time each, and what counts is how much the one did of
// what its untouched twin did right after: before, while hooks are in all its
// methods, and after undo. A round is entering, instrumenting and leaving.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type options struct {
	pairs, rounds int
	slice, settle time.Duration
	sources       string
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 25, "slices of each program in one phase")
	flag.IntVar(&o.rounds, "rounds", 3, "how often hooks go in and out")
	flag.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long one program works before the other")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "how long both work after each change, for the compilers, before it counts")
	flag.StringVar(&o.sources, "sources", "bench/undo/java", "folder with the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/undo: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		return fmt.Errorf("no JDK found: install one below /usr/lib/jvm or name its home in SONDE_JDKS")
	}
	printHead()
	for _, jdk := range jdks {
		if err := measure(ctx, jdk, o); err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
	}
	printLegend()
	return nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) error {
	touched, err := startProgram(jdk, o.sources)
	if err != nil {
		return err
	}
	defer touched.close()
	twin, err := startProgram(jdk, o.sources)
	if err != nil {
		return err
	}
	defer twin.close()
	t := turns{touched, twin, o}
	before, err := t.phase(ctx)
	if err != nil {
		return err
	}
	before.print(jdk.Version, "before", before)
	for round := 1; round <= o.rounds; round++ {
		s, err := instrument(ctx, touched.process.Process.Pid)
		if err != nil {
			return err
		}
		during, err := t.phase(ctx)
		if err == nil {
			_, err = s.Close(ctx)
		}
		if err != nil {
			return err
		}
		if err := s.Release(); err != nil {
			return err
		}
		during.print(jdk.Version, fmt.Sprintf("hooks in %d", round), before)
		after, err := t.phase(ctx)
		if err != nil {
			return err
		}
		after.print(jdk.Version, fmt.Sprintf("undone %d", round), before)
	}
	return nil
}

// instrument times every call of the program's methods and of the collections
// they use.
func instrument(ctx context.Context, pid int) (*session.Session, error) {
	methods, err := pattern.ParseSet("Twin*.*", "java.util.ArrayList*.*", "java.util.HashMap*.*")
	if err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, pid, session.Settings{Command: "bench/undo"})
	if err != nil {
		return nil, err
	}
	if _, err := s.Instrument(ctx, session.Wanted{Methods: methods, Flags: arena.On | arena.Timed}); err != nil {
		_, _ = s.Close(ctx) // what failed first is what counts
		return nil, err
	}
	return s, nil
}

// A program works when it is asked to.
type program struct {
	folder  string // its classes, removed by close
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  bytes.Buffer // to be read when it has ended: JDK 25 complains of each agent
}

func startProgram(jdk jvmtest.JDK, sources string) (*program, error) {
	folder, err := os.MkdirTemp("", "sonde-undo-")
	if err != nil {
		return nil, err
	}
	p := &program{folder: folder}
	if err := p.start(jdk, sources); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *program) start(jdk jvmtest.JDK, sources string) error {
	javac := exec.Command(jdk.Tool("javac"), "--release", "11", "-d", p.folder, filepath.Join(sources, "Twin.java"))
	if out, err := javac.CombinedOutput(); err != nil {
		return fmt.Errorf("javac (run from the top of the repository, or name the folder by --sources): %w\n%s", err, out)
	}
	p.process = exec.Command(jdk.Tool("java"), "-Xmx128m", "-cp", p.folder, "Twin")
	var err error
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.out, p.process.Stderr = bufio.NewReader(out), &p.errors
	if err := p.process.Start(); err != nil {
		return err
	}
	line, err := p.out.ReadString('\n')
	if err != nil || line != "ready\n" {
		return fmt.Errorf("the program began with %q: %w", line, err)
	}
	return nil
}

// work has it work for a time and returns its operations a second.
func (p *program) work(length time.Duration) (float64, error) {
	if _, err := fmt.Fprintln(p.in, length.Milliseconds()); err != nil {
		return 0, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the program ended while it worked: %w", err)
	}
	var operations, nanos float64
	if _, err := fmt.Sscanf(line, "did %f %f", &operations, &nanos); err != nil || nanos <= 0 {
		return 0, fmt.Errorf("the program said %q", line)
	}
	return operations / nanos * 1e9, nil
}

func (p *program) close() {
	if p.in != nil {
		_ = p.in.Close() // which ends it
	}
	if p.process != nil && p.process.Process != nil {
		_ = p.process.Wait() // how it ends does not matter any more
	}
	os.RemoveAll(p.folder)
}

// turns are two programs that work one after the other.
type turns struct {
	touched, twin *program
	options       options
}

// ratios are how much the touched program did of what its twin did, sorted.
type ratios []float64

// phase lets both settle and then compares them, pair by pair. Which of the two
// is first changes from pair to pair.
func (t turns) phase(ctx context.Context) (ratios, error) {
	for end := time.Now().Add(t.options.settle); time.Now().Before(end); {
		if _, err := t.pair(false); err != nil {
			return nil, err
		}
	}
	var all ratios
	for i := range t.options.pairs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ratio, err := t.pair(i%2 == 1)
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	slices.Sort(all)
	return all, nil
}

func (t turns) pair(twinFirst bool) (float64, error) {
	order := []*program{t.touched, t.twin}
	if twinFirst {
		slices.Reverse(order)
	}
	rates := make(map[*program]float64)
	for _, p := range order {
		rate, err := p.work(t.options.slice)
		if err != nil {
			return 0, err
		}
		rates[p] = rate
	}
	return rates[t.touched] / rates[t.twin], nil
}

// at is the ratio below which a part of all lie.
func (r ratios) at(part float64) float64 { return r[int(part*float64(len(r)-1)+0.5)] }

func printHead() {
	fmt.Printf("%-10s %-12s %8s  %-17s %s\n", "JDK", "phase", "of twin", "middle half", "of before")
}

// print gives the median, the middle half, and the median against that of the
// first phase, by which the two programs' own difference is taken out.
func (r ratios) print(jdk, phase string, before ratios) {
	fmt.Printf("%-10s %-12s %8.3f  %.3f to %.3f    %.3f\n", jdk, phase, r.at(0.5), r.at(0.25), r.at(0.75), r.at(0.5)/before.at(0.5))
}

func printLegend() {
	fmt.Println("\nof twin: operations of the touched program for each of its untouched twin, by processor time, in slices that alternate; median")
	fmt.Println("of before: the same, with what the two differed by before any hook taken out")
}
