package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program runs a subject and keeps what it says.
type program struct {
	process *exec.Cmd
	in      io.Closer
	errors  bytes.Buffer // to be read when it has ended
	ended   chan struct{}

	lock sync.Mutex
	said track
}

// compile builds the subjects into a folder.
func compile(jdk jvmtest.JDK, folder string) error {
	arguments := []string{
		"-nowarn", "-d", folder, "-cp", subjects[0].classpath,
		"test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java",
	}
	sources, _ := filepath.Glob("bench/profile/java/*.java") // the pattern is well formed
	out, err := exec.Command(jdk.Tool("javac"), append(arguments, sources...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac (run from the top of the repository, after .ci/setup live): %w\n%s", err, out)
	}
	return nil
}

func (s subject) start(jdk jvmtest.JDK, classes string, more ...string) (*program, error) {
	arguments := slices.Concat([]string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"}, s.options, more,
		[]string{"-cp", classes + ":" + s.classpath, "Steady", s.work}, s.operations)
	p := &program{process: exec.Command(jdk.Tool("java"), arguments...), ended: make(chan struct{})}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.process.Stderr = in, &p.errors
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

func (p *program) pid() int { return p.process.Process.Pid }

// listen keeps samples; JVM and engine may print other lines.
func (p *program) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "at ") {
			continue
		}
		if s, err := parseSample(lines.Text()); err == nil {
			p.lock.Lock()
			p.said = append(p.said, s)
			p.lock.Unlock()
		}
	}
	_ = p.process.Wait() // how it ended does not matter: that it did is seen by who needs it
	close(p.ended)
}

func (p *program) track() track {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.Clone(p.said)
}

// run lets it run for a time.
func (p *program) run(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		first, _, _ := bytes.Cut(bytes.TrimSpace(p.errors.Bytes()), []byte("\n"))
		return errors.Join(errEnded, errors.New(string(first)))
	}
}

var errEnded = errors.New("the program ended by itself")

func (p *program) close() {
	_ = p.in.Close() // which ends it
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.process.Process.Kill()
		<-p.ended
	}
}
