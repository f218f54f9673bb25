package main

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

// A program is the Java program, running.
type program struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errors  bytes.Buffer // to be read when it has ended: JDK 25 complains of each agent
}

func start(jdk jvmtest.JDK, classes string) (*program, error) {
	p := &program{process: exec.Command(jdk.Tool("java"), "-Xms128m", "-Xmx128m", "-cp", classes, "overhead.Driver")}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewScanner(out)
	p.process.Stderr = &p.errors
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	if _, err := p.await("ready"); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *program) pid() int { return p.process.Process.Pid }

// ask sends a command and returns the numbers it is answered by.
func (p *program) ask(command string, arguments ...any) ([]float64, error) {
	if _, err := fmt.Fprintln(p.in, append([]any{command}, arguments...)...); err != nil {
		return nil, err
	}
	return p.await(command)
}

func (p *program) await(command string) ([]float64, error) {
	if !p.out.Scan() {
		_ = p.process.Wait() // that it has ended is known
		return nil, fmt.Errorf("the Java program ended before it answered %q: %s", command, bytes.TrimSpace(p.errors.Bytes()))
	}
	words := strings.Fields(p.out.Text())
	if len(words) == 0 || words[0] != command {
		return nil, fmt.Errorf("the Java program answered %q by %q", command, p.out.Text())
	}
	numbers := make([]float64, 0, len(words))
	for _, word := range words[1:] {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// one is ask for a single number.
func (p *program) one(command string, arguments ...any) (float64, error) {
	numbers, err := p.ask(command, arguments...)
	if err == nil && len(numbers) != 1 {
		err = fmt.Errorf("the Java program answered %q by %d numbers", command, len(numbers))
	}
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

func (p *program) close() {
	_ = p.in.Close()     // which ends it
	_ = p.process.Wait() // how it ends does not matter any more
}
