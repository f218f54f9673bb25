package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
