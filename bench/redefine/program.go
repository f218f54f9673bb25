package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program is the load, running.
type program struct {
	folder  string // its classes and the agent's jar, removed by close
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errors  bytes.Buffer // to be read when it has ended: JDK 25 complains of each agent
}

func startProgram(jdk jvmtest.JDK, o options) (*program, error) {
	folder, err := os.MkdirTemp("", "sonde-redefine-")
	if err != nil {
		return nil, err
	}
	p := &program{folder: folder}
	if err := p.start(jdk, o); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *program) start(jdk jvmtest.JDK, o options) error {
	sources, err := filepath.Glob(filepath.Join(o.sources, "*.java"))
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by --sources", o.sources)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "11", "-d", p.folder}, sources...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	if err := writeAgent(p.agent(), filepath.Join(p.folder, "Retransform.class")); err != nil {
		return err
	}
	p.process = exec.Command(jdk.Tool("java"), "-Xmx256m", "-cp", p.folder, "Load",
		strconv.Itoa(o.workers), strconv.Itoa(o.copies))
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.process.Stderr = &p.errors
	p.out = bufio.NewScanner(out)
	const longest = 16 << 20
	p.out.Buffer(nil, longest)
	if err := p.process.Start(); err != nil {
		return err
	}
	_, err = p.await("ready")
	return err
}

func (p *program) agent() string { return filepath.Join(p.folder, "agent.jar") }

func writeAgent(jar, class string) error {
	code, err := os.ReadFile(class)
	if err != nil {
		return err
	}
	file, err := os.Create(jar)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	const manifest = "Manifest-Version: 1.0\nAgent-Class: Retransform\n" +
		"Can-Retransform-Classes: true\nCan-Redefine-Classes: true\n"
	out := zip.NewWriter(file)
	for _, entry := range []struct {
		name string
		data []byte
	}{{"META-INF/MANIFEST.MF", []byte(manifest)}, {filepath.Base(class), code}} {
		w, err := out.Create(entry.name)
		if err == nil {
			_, err = w.Write(entry.data)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// ask sends a line and returns what the program answers to it.
func (p *program) ask(line string) ([]string, error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return nil, err
	}
	return p.await(line)
}

// await reads up to the line that begins with a word, and returns the rest of
// that line's words.
func (p *program) await(word string) ([]string, error) {
	for p.out.Scan() {
		if words := strings.Fields(p.out.Text()); len(words) > 0 && words[0] == word {
			return words[1:], nil
		}
	}
	if err := p.out.Err(); err != nil {
		return nil, err
	}
	_ = p.process.Wait() // that it has ended is known
	return nil, fmt.Errorf("the program ended before it said %q: %s", word, bytes.TrimSpace(p.errors.Bytes()))
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
