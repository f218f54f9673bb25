// Package driver runs Java programs that do what they are told by line, and
// answer with numbers.
package driver

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Program is one of them, running. It says "ready" when it is, answers each
// line by one that begins with the same word, and ends with its input.
type Program struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  bytes.Buffer // to be read when it has ended: JDK 25 complains of each agent
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
	if _, err := p.await("ready"); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// PID is the process's.
func (p *Program) PID() int { return p.process.Process.Pid }

// Ask sends a command and returns the numbers it is answered by.
func (p *Program) Ask(command string, arguments ...any) ([]float64, error) {
	if _, err := fmt.Fprintln(p.in, append([]any{command}, arguments...)...); err != nil {
		return nil, err
	}
	return p.await(command)
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

// await reads on to an answer: engines' agents print to the program's output.
func (p *Program) await(command string) ([]float64, error) {
	var words []string
	for len(words) == 0 || words[0] != command {
		line, err := p.out.ReadString('\n')
		if err != nil {
			_ = p.process.Wait() // that it has ended is known
			return nil, fmt.Errorf("the Java program ended before it answered %q: %s", command, bytes.TrimSpace(p.errors.Bytes()))
		}
		words = strings.Fields(line)
	}
	numbers := make([]float64, 0, len(words))
	for _, word := range words[1:] {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("the Java program answered %q by %q: %w", command, word, err)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// Close ends it.
func (p *Program) Close() {
	_ = p.in.Close()     // which ends it
	_ = p.process.Wait() // how it ends does not matter any more
}
