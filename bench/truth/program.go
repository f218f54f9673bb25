package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/template"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// The twins: hooks go into one of them.
const (
	woven = "woven"
	bare  = "bare"
)

// compile builds the Java program and returns the folder of its classes.
func compile(jdk jvmtest.JDK, folder string) (classes string, err error) {
	if classes, err = os.MkdirTemp("", "sonde-truth-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(classes)
		}
	}()
	files, err := filepath.Glob(filepath.Join(folder, "*.java"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by --sources", folder)
	}
	text, err := template.ParseFiles(filepath.Join(folder, "cases.tmpl"))
	if err != nil {
		return "", err
	}
	for _, twin := range []string{woven, bare} {
		var source bytes.Buffer
		if err := text.Execute(&source, sourcesOf(twin)); err != nil {
			return "", err
		}
		file := filepath.Join(classes, twin+".java")
		if err := os.WriteFile(file, source.Bytes(), 0o644); err != nil {
			return "", err
		}
		files = append(files, file)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "17", "-d", classes}, files...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return classes, nil
}

// A program is the Java program, running.
type program struct {
	*driver.Program
	calls    map[string]int // of a case, that make a batch
	profiles int            // so far
}

func start(jdk jvmtest.JDK, classes string, options ...string) (*program, error) {
	p, err := driver.Start(jdk, slices.Concat([]string{"-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"}, options,
		[]string{"-cp", classes, "truth.Driver"})...)
	if err != nil {
		return nil, err
	}
	return &program{Program: p, calls: make(map[string]int)}, nil
}

const (
	batch     = 5 * time.Millisecond
	warmTurns = 60 // batches of each case, before anything is kept
)

// warm has everything compiled, and settles how many calls make a batch.
func (p *program) warm(names []string) error {
	for _, name := range names {
		p.calls[name] = 1
		for range warmTurns {
			t, err := p.turns(name, 1)
			if err != nil {
				return err
			}
			growth := min(float64(batch)/t.parts[0][0], 4)
			p.calls[name] = max(int(float64(p.calls[name])*growth), 1)
		}
	}
	return nil
}

// turns are batches in which a root, with hooks or without, and the bare twin took
// turns.
type turns struct {
	parts [][]float64 // of each batch, the times of the bare twin's parts
	ran   float64     // the part of the time in which the program had a processor
}

func (p *program) turns(name string, batches int) (turns, error) {
	const others = 2 // columns: the root's time by the clock, and by the processor
	rows, err := p.batches("turns", name, others+partsOf(name), batches)
	if err != nil {
		return turns{}, err
	}
	var t turns
	var clock, processor float64
	for _, row := range rows {
		clock, processor = clock+row[0], processor+row[1]
		t.parts = append(t.parts, row[others:])
	}
	t.ran = processor / clock
	return t, nil
}

// alone runs batches of the twin that gets hooks: each is the times of its parts.
func (p *program) alone(name string, batches int) ([][]float64, error) {
	return p.batches("alone", name, partsOf(name), batches)
}

func (p *program) batches(command, name string, columns, batches int) ([][]float64, error) {
	numbers, err := p.Ask(command, name, p.calls[name], batches)
	if err != nil {
		return nil, err
	}
	if len(numbers) != columns*batches {
		return nil, fmt.Errorf("the Java program answered %q by %d numbers, %d are due", command, len(numbers), columns*batches)
	}
	rows := make([][]float64, batches)
	for i := range rows {
		rows[i] = numbers[i*columns : (i+1)*columns]
	}
	return rows, nil
}
