package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// compilerMajor is the JDK whose javac builds the committed files: another version may order a constant pool differently.
const compilerMajor = 17

func findJavac() (string, error) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == compilerMajor {
			return jdk.Tool("javac"), nil
		}
	}
	return "", fmt.Errorf("no JDK %d found: install openjdk-%[1]d-jdk-headless or name its home in SONDE_JDKS", compilerMajor)
}

// A compiler compiles folders of Java sources to folders of classes, in a temporary directory.
type compiler struct {
	javac string
	work  string
	steps int
}

func newCompiler(javac string) (*compiler, error) {
	work, err := os.MkdirTemp("", "sonde-agent-build-")
	return &compiler{javac: javac, work: work}, err
}

func (c *compiler) close() { os.RemoveAll(c.work) }

// A module is sources compiled together for one version of Java.
type module struct {
	release int
	sources folder
	// needs are classes that the sources refer to, and that are not part of the result.
	needs folder
}

func (c *compiler) compile(m module) (folder, error) {
	c.steps++
	base := filepath.Join(c.work, strconv.Itoa(c.steps))
	src, classpath, out := filepath.Join(base, "src"), filepath.Join(base, "needs"), filepath.Join(base, "classes")
	for dir, files := range map[string]folder{src: m.sources, classpath: m.needs, out: nil} {
		if err := write(dir, files); err != nil {
			return nil, err
		}
	}
	// Line numbers are kept for stack traces, names of local variables are not needed. String concatenation must not use
	// invokedynamic, which would generate classes at run time.
	args := []string{
		"--release", strconv.Itoa(m.release), "-g:source,lines", "-Xlint:all", "-Werror", "-proc:none",
		"-encoding", "UTF-8", "-implicit:none", "-XDstringConcat=inline", "-cp", classpath, "-d", out,
	}
	err := eachFile(src, ".java", func(path string) error {
		args = append(args, path)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if text, err := exec.Command(c.javac, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s --release %d: %w\n%s", c.javac, m.release, err, text)
	}
	return read(out, ".class")
}

// read reads the files with this extension below root.
func read(root, extension string) (folder, error) {
	files := make(folder)
	err := eachFile(root, extension, func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = data
		return err
	})
	return files, err
}

func write(root string, files folder) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// eachFile visits the files with this extension below root in lexical order.
func eachFile(root, extension string, visit func(path string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, extension) {
			return err
		}
		return visit(path)
	})
}
