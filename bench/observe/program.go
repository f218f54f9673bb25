package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A subject is a program to be observed.
type subject struct {
	name string
	// prepare builds it below a folder, and gives how it is started.
	prepare func(jdk jvmtest.JDK, folder string) (starter, error)
}

// A starter starts a program, and what gives it something to do.
type starter func(folder string) (*program, error)

var subjects = []subject{{"H2", prepareH2}, {"shop", prepareShop}, {"Tomcat", prepareTomcat}}

// A program is one that runs. It ends with its input.
type program struct {
	process *exec.Cmd
	in      io.Closer
	errors  bytes.Buffer // to be read when it has ended
	url     string       // where it serves, if it does
	done    func() (float64, error)
	ends    []func() // what ends with it, before it

	meter *cost.Meter
	first cost.Reading
}

// startProgram runs java and waits until the program is ready.
func startProgram(jdk jvmtest.JDK, arguments ...string) (*program, *bufio.Reader, error) {
	p := &program{process: exec.Command(jdk.Tool("java"), arguments...)}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	p.in, p.process.Stderr = in, &p.errors
	if err := p.process.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.Close()
			return nil, nil, fmt.Errorf("the program ended before it was ready: %s", bytes.TrimSpace(p.errors.Bytes()))
		}
		if url, is := strings.CutPrefix(line, "listening "); is {
			p.url = strings.TrimSpace(url)
		}
		if strings.TrimSpace(line) == "ready" {
			break
		}
	}
	if err := p.measure(); err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, lines, nil
}

// measure begins to account for its processor time.
func (p *program) measure() error {
	jvm, err := process.Local.Inspect(p.pid())
	if err != nil {
		return err
	}
	p.meter = cost.Watch(jvm)
	p.first, err = p.meter.Read()
	return err
}

func (p *program) pid() int { return p.process.Process.Pid }

var errNoClock = errors.New("the processor time of the program is not known")

// Progress is how far it is, by the processor time of all threads but compilers and the
// JVM's own.
func (p *program) Progress() (twin.Progress, error) {
	done, err := p.done()
	if err != nil {
		return twin.Progress{}, err
	}
	now, err := p.meter.Read()
	if err != nil {
		return twin.Progress{}, err
	}
	since := p.first.Until(now)
	if !since.Known.Process || !since.Known.Compilers {
		return twin.Progress{}, errNoClock
	}
	return twin.Progress{Done: done, CPU: since.Rest}, nil
}

// closeLimit bounds how long a program may take to end.
const closeLimit = 10 * time.Second

// Close ends it.
func (p *program) Close() {
	for _, end := range p.ends {
		end()
	}
	if p.meter != nil {
		p.meter.Close()
	}
	_ = p.in.Close() // which ends it
	kill := time.AfterFunc(closeLimit, func() { _ = p.process.Process.Kill() })
	_ = p.process.Wait() // how it ends does not matter any more
	kill.Stop()
}

// compileJava compiles sources into a folder.
func compileJava(jdk jvmtest.JDK, folder, classpath string, sources ...string) error {
	arguments := append([]string{"-nowarn", "-d", folder, "-cp", classpath}, sources...)
	out, err := exec.Command(jdk.Tool("javac"), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac (run from the top of the repository, after .ci/setup live): %w\n%s", err, out)
	}
	return nil
}

const jars = "/usr/share/java"

// classpath is made of jars by their names.
func classpath(names ...string) string {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(jars, name+".jar"))
	}
	return strings.Join(paths, ":")
}
