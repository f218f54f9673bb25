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

// A twin is a set of the same methods; its name is their Java package.
type twin string

const (
	bare    twin = "bare"    // as they are
	clocked twin = "clocked" // with two readings of System.nanoTime around each body
	hooked  twin = "hooked"  // as bare, until they are woven
)

// mixed is of how many methods the mix is.
const mixed = 200

// shapes are the classes of a twin: ways for methods to call each other.
var shapes = []string{"Leaf", "Chain", "Recursion", "Mix"}

// hookedMethods are those that get hooks; what loops over them does not.
var hookedMethods = []string{
	"hooked.Leaf.work", "hooked.Chain.first", "hooked.Chain.second", "hooked.Chain.third",
	"hooked.Recursion.down", "hooked.Mix.*.work",
}

// hookedCount is how many methods those patterns name; the interface's has no
// code.
const hookedCount = 5 + mixed

// compile makes the classes of the program and its twins, in a new folder.
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-overhead-")
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
		return "", fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by --sources", sources)
	}
	text, err := template.ParseFiles(filepath.Join(sources, "twin.tmpl"))
	if err != nil {
		return "", err
	}
	for _, t := range []twin{bare, clocked, hooked} {
		file := filepath.Join(folder, string(t)+".java")
		if err := writeTwin(file, text, t); err != nil {
			return "", err
		}
		files = append(files, file)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "11", "-d", folder}, files...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return folder, nil
}

// start runs the program.
func start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	return driver.Start(jdk, "-Xms128m", "-Xmx128m", "-cp", classes, "overhead.Driver")
}

func writeTwin(path string, text *template.Template, t twin) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data := struct {
		Package       twin
		Before, After string
		Mixed         []int
	}{Package: t}
	if t == clocked {
		data.Before, data.After = "long begun = System.nanoTime();", "Body.clock += System.nanoTime() - begun;"
	}
	for i := range mixed {
		data.Mixed = append(data.Mixed, i)
	}
	if err := text.Execute(file, data); err != nil {
		return err
	}
	return file.Close()
}
