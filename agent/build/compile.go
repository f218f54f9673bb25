package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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

func findJava() (string, error) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == compilerMajor {
			return jdk.Tool("java"), nil
		}
	}
	return "", fmt.Errorf("no JDK %d found: install openjdk-%[1]d-jdk-headless or name its home in SONDE_JDKS", compilerMajor)
}

// A compiler compiles folders of Java sources to folders of classes, in a temporary directory. One JVM does
// it all: javac takes far longer in a new one.
type compiler struct {
	work    string
	steps   int
	java    *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

// resident runs javac with the arguments in each file that a line of its input names. It prints what javac
// prints, then its exit code.
const resident = `
import java.nio.file.*;
import java.util.*;
import java.util.spi.ToolProvider;

class Resident {
    public static void main(String[] args) {
        ToolProvider javac = ToolProvider.findFirst("javac").orElseThrow();
        for (Scanner in = new Scanner(System.in); in.hasNextLine();) {
            System.out.println("` + exitCode + `" + javac.run(System.out, System.out, "@" + in.nextLine()));
        }
    }
}
`

const exitCode = "exit code "

func newCompiler(java string) (*compiler, error) {
	work, err := os.MkdirTemp("", "sonde-agent-build-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(work, "Resident.java")
	c := &compiler{work: work, java: exec.Command(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", program)}
	c.java.Stderr = os.Stderr
	c.orders, err = c.java.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.java.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.answers = bufio.NewScanner(out)
	return c, errors.Join(os.WriteFile(program, []byte(resident), 0o644), c.java.Start())
}

func (c *compiler) close() {
	_ = c.orders.Close()
	_ = c.java.Wait() // it has done what was wanted
	os.RemoveAll(c.work)
}

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
	if err := c.javac(filepath.Join(base, "arguments"), args); err != nil {
		return nil, fmt.Errorf("javac --release %d: %w", m.release, err)
	}
	return read(out, ".class")
}

// javac runs javac with arguments, which it writes to a file. It prints nothing if it succeeds.
func (c *compiler) javac(file string, args []string) error {
	if err := os.WriteFile(file, []byte(strings.Join(args, "\n")), 0o644); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.orders, file); err != nil {
		return err
	}
	var text []string
	for c.answers.Scan() {
		if c.answers.Text() == exitCode+"0" {
			return nil
		}
		if strings.HasPrefix(c.answers.Text(), exitCode) {
			return errors.New(strings.Join(text, "\n"))
		}
		text = append(text, c.answers.Text())
	}
	return errors.Join(errors.New("it has ended"), c.answers.Err())
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
