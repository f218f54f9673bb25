package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// The amounts of orders that meet the condition, and of others.
const (
	enough = 200
	little = 20
)

// compile makes the classes of the program and its twins, in a new folder.
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-context-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	files, err := filepath.Glob(filepath.Join(sources, "*.java"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by -sources", sources)
	}
	text, err := template.ParseFiles(filepath.Join(sources, "twin.tmpl"))
	if err != nil {
		return "", err
	}
	for _, m := range twins() {
		file := filepath.Join(folder, m.twin+".java")
		if err := writeTwin(file, text, m); err != nil {
			return "", err
		}
		files = append(files, file)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "11", "-g", "-d", folder}, files...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return folder, nil
}

func writeTwin(path string, text *template.Template, m mode) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data := struct {
		Package, Before string
		Amount          int
	}{m.twin, m.before, little}
	if m.met {
		data.Amount = enough
	}
	if err := text.Execute(file, data); err != nil {
		return err
	}
	return file.Close()
}

// start runs the program.
func start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	return driver.Start(jdk, "-Xms256m", "-Xmx256m", "-cp", classes, "driven.Driver")
}
