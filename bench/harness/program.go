package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Program is a running Java program that takes commands by line. It prints "ready" when
// it is, answers each command by a line that begins with the same word and has numbers,
// and ends with its input.
type Program struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  bytes.Buffer // to be read when it has ended: JDK 25 warns of each agent

	// Listening is the address in a line "listening ADDRESS" before "ready"; empty where
	// there is none.
	Listening string
}

// Start runs java with arguments and waits until the program is ready.
func Start(jdk jvmtest.JDK, arguments ...string) (*Program, error) {
	p := &Program{process: exec.Command(jdk.Tool("java"), arguments...)}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	p.process.Stderr = &p.errors
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	if _, err := p.Await("ready"); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// OnCore runs what starts programs, so that they and all they start stay on one core. Two programs on one core have the same share of
// it, and the same machine below them: what one does compared with the other varies by 2 % from second to second, and by
// 40 % on cores of their own.
func OnCore(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &all))
}

// PID returns the process id.
func (p *Program) PID() int { return p.process.Process.Pid }

// Ask sends a command and returns the numbers of the answer.
func (p *Program) Ask(command string, arguments ...any) ([]float64, error) {
	if err := p.send(command, arguments...); err != nil {
		return nil, err
	}
	return p.Await(command)
}

// AskWords is like Ask for an answer that is not made of numbers alone.
func (p *Program) AskWords(command string, arguments ...any) ([]string, error) {
	if err := p.send(command, arguments...); err != nil {
		return nil, err
	}
	return p.AwaitWords(command)
}

func (p *Program) send(command string, arguments ...any) error {
	_, err := fmt.Fprintln(p.in, append([]any{command}, arguments...)...)
	return err
}

// One is Ask for a single number.
func (p *Program) One(command string, arguments ...any) (float64, error) {
	numbers, err := p.Ask(command, arguments...)
	if err == nil && len(numbers) != 1 {
		err = fmt.Errorf("the Java program answered %q by %d numbers", command, len(numbers))
	}
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

// Progress asks a program that works in rounds (bench/walk/java/Paced.java) how far it is.
func (p *Program) Progress() (Progress, error) {
	numbers, err := p.Ask("now")
	if err == nil && len(numbers) != 2 && len(numbers) != 3 {
		err = fmt.Errorf("the Java program answered \"now\" by %d numbers", len(numbers))
	}
	if err != nil {
		return Progress{}, err
	}
	progress := Progress{Done: numbers[0], CPU: time.Duration(numbers[1])}
	if len(numbers) == 3 {
		progress.Took = time.Duration(numbers[2])
	}
	return progress, nil
}

// Await skips lines, such as agents print, up to the answer to a command, and returns its
// numbers.
func (p *Program) Await(command string) ([]float64, error) {
	words, err := p.AwaitWords(command)
	if err != nil {
		return nil, err
	}
	numbers := make([]float64, 0, len(words))
	for _, word := range words {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("the Java program answered %q by %q: %w", command, word, err)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// AwaitWords is like Await for an answer that is not made of numbers alone.
func (p *Program) AwaitWords(command string) ([]string, error) {
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			_ = p.process.Wait() // that it has ended is known
			return nil, fmt.Errorf("the Java program ended before it answered %q: %s", command, bytes.TrimSpace(p.errors.Bytes()))
		}
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && words[0] == command:
			return words[1:], nil
		case len(words) == 2 && words[0] == "listening":
			p.Listening = words[1]
		}
	}
}

// Drain discards what the program prints, until it ends.
func (p *Program) Drain() { _, _ = io.Copy(io.Discard, p.out) }

// closeLimit bounds how long a program may take to end with its input.
const closeLimit = 10 * time.Second

// Close ends the program.
func (p *Program) Close() {
	_ = p.in.Close() // which ends it
	kill := time.AfterFunc(closeLimit, func() { _ = p.process.Process.Kill() })
	_ = p.process.Wait() // how it ends does not matter any more
	kill.Stop()
}

// batchNanos is how long a batch should take: long against the clock, short against a
// turn that the system gives to somebody else.
const batchNanos = 1e6

// Batches times calls in batches of about a millisecond. The zero value is ready for use.
type Batches struct {
	turns map[string]int // in a batch, by key
}

// Time runs the program's command time, with some arguments, in the given number of batches. It
// returns the nanoseconds of one turn and how many turns were made in all. The time is the
// lower quartile of the batches, since being interrupted only ever adds. The key
// identifies what is timed, so that the next batches have a better length.
func (b *Batches) Time(p *Program, key string, batches int, arguments ...any) (nanos float64, made int, err error) {
	if b.turns == nil {
		b.turns = make(map[string]int)
	}
	turns := max(b.turns[key], 1)
	if b.turns[key] == 0 {
		turns = 1 << 12
	}
	all, err := p.Ask("time", append(slices.Clone(arguments), turns, batches)...)
	if err != nil {
		return 0, 0, err
	}
	took := Quantile(all, 0.25)
	b.turns[key] = turns
	if took < batchNanos*2/3 || took > batchNanos*3/2 {
		b.turns[key] = int(math.Ceil(float64(turns) * batchNanos / max(took, 1)))
	}
	return took / float64(turns), turns * batches, nil
}
