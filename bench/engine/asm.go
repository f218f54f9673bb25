package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// asmSide is the JVM that runs ASM's rounds, asked line by line.
type asmSide struct {
	folder  string // compiled classes, removed by close
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	classes int
	proofs  map[string]string // by way of weaving: what was loaded and run
}

// startASM compiles the Java sources, starts the JVM, and has it prove that what
// it weaves is real.
func startASM(jdk jvmtest.JDK, o options) (*asmSide, error) {
	folder, err := os.MkdirTemp("", "sonde-bench-")
	if err != nil {
		return nil, err
	}
	a := &asmSide{folder: folder, proofs: map[string]string{}}
	if err := a.start(jdk, o); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *asmSide) start(jdk jvmtest.JDK, o options) error {
	runtimeJar := filepath.Join(a.folder, "runtime.jar")
	if err := os.WriteFile(runtimeJar, agent.RuntimeJar(), 0o644); err != nil {
		return err
	}
	path := []string{a.folder, runtimeJar}
	for _, jar := range []string{"asm.jar", "asm-commons.jar"} {
		file := filepath.Join(o.jars, jar)
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%w: apt-get install libasm-java, or name the folder by --jars", err)
		}
		path = append(path, file)
	}
	classPath := strings.Join(path, string(os.PathListSeparator))
	if err := compileJava(jdk, o.sources, a.folder, classPath); err != nil {
		return err
	}
	a.process = exec.Command(jdk.Tool("java"), "-Xmx2g", "-cp", classPath, "AsmRounds")
	a.process.Stderr = os.Stderr
	var err error
	if a.in, err = a.process.StdinPipe(); err != nil {
		return err
	}
	out, err := a.process.StdoutPipe()
	if err != nil {
		return err
	}
	a.out = bufio.NewScanner(out)
	if err := a.process.Start(); err != nil {
		return err
	}
	ready, err := a.answer()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(ready, "ready classes=%d", &a.classes); err != nil {
		return fmt.Errorf("ASM's side began with %q: %w", ready, err)
	}
	for _, way := range []string{"plain", "advice"} {
		if a.proofs[way], err = a.ask("prove " + way); err != nil {
			return err
		}
	}
	return nil
}

func compileJava(jdk jvmtest.JDK, sources, folder, classPath string) error {
	var files []string
	for _, dir := range []string{"asm", "template"} {
		found, err := filepath.Glob(filepath.Join(sources, dir, "*.java"))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return fmt.Errorf("no Java sources below %s: run from the top of the repository, or name the folder by --sources", sources)
	}
	args := append([]string{"-d", folder, "-cp", classPath, "-proc:none"}, files...)
	if out, err := exec.Command(jdk.Tool("javac"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
}

func (a *asmSide) ask(request string) (string, error) {
	if _, err := fmt.Fprintln(a.in, request); err != nil {
		return "", fmt.Errorf("asking ASM's side to %s: %w", request, err)
	}
	return a.answer()
}

func (a *asmSide) answer() (string, error) {
	if !a.out.Scan() {
		return "", fmt.Errorf("ASM's side ended early; see what it printed above: %w", io.ErrUnexpectedEOF)
	}
	return a.out.Text(), nil
}

// round runs all classes through one of ASM's ways once.
func (a *asmSide) round(way string) (sample, error) {
	line, err := a.ask("round " + way)
	if err != nil {
		return sample{}, err
	}
	var s sample
	var result int64
	if _, err := fmt.Sscanf(line, "classes=%d ns=%d cpu=%d result=%d", &s.classes, &s.nanos, &s.cpu, &result); err != nil {
		return sample{}, fmt.Errorf("ASM's side answered %q: %w", line, err)
	}
	return s, nil
}

// close ends the JVM, which ends with its input, and removes what was compiled.
func (a *asmSide) close() {
	if a.process != nil && a.process.Process != nil {
		_ = a.in.Close()
		_ = a.process.Wait() // how it ends does not matter any more
	}
	_ = os.RemoveAll(a.folder)
}
