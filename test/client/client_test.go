package client

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// What the test installs from PyPI.
var packages = []string{"openapi-python-client==0.29.1", "openapi-spec-validator==0.9.0"}

const document = "../../docs/formats/service.json"

// TestGeneratedClient: the document is valid OpenAPI, a client is generated from it without a
// warning, and a program that uses the client measures a JVM.
func TestGeneratedClient(t *testing.T) {
	if os.Getenv("SONDE_CLIENT") != "1" {
		t.Skip("NOT TESTED: the test installs a generator from PyPI: make client, or SONDE_CLIENT=1, runs it")
	}
	jdk := jvmtest.Need(t, 17)
	python := install(t)
	generated := generate(t, python)

	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/shop/Shop.java"}})
	shop := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classes, "shop.Shop"}})
	host := startService(t)

	path, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command(python, "testdata/program.py", host.address, host.tokenFile, host.socket, strconv.Itoa(shop.PID), path)
	program.Env = append(os.Environ(), "PYTHONPATH="+generated, "PYTHONDONTWRITEBYTECODE=1")
	converse(t, program, func(line string) string {
		if _, err := fmt.Fprintln(shop.Stdin, line); err != nil {
			t.Error(err)
		}
		return shop.Await(t, "done")
	})
}

// install installs the generator, and returns the Python that has it.
func install(t *testing.T) (python string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: there is no python3")
	}
	dir := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: python3 cannot make an environment: %v\n%s", err, out)
	}
	python = filepath.Join(dir, "bin", "python")
	pip := exec.Command(python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	if out, err := pip.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: PyPI does not give %s: %v\n%s", strings.Join(packages, " and "), err, out)
	}
	return python
}

// generate checks the document, generates a client, and returns the directory of its package.
func generate(t *testing.T, python string) (dir string) {
	t.Helper()
	tool := func(name string, args ...string) {
		t.Helper()
		command := exec.Command(filepath.Join(filepath.Dir(python), name), args...)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH")) // it runs a formatter
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	tool("openapi-spec-validator", "--schema", "3.1", document)
	dir = t.TempDir()
	tool("openapi-python-client", "generate", "--path", document, "--meta", "none", "--output-path", filepath.Join(dir, "sonde_client"), "--fail-on-warning")
	return dir
}

// A host is a running service.
type host struct{ address, tokenFile, socket string }

// startService starts a service of its own, which ends with the test.
func startService(t *testing.T) host {
	t.Helper()
	dir, err := os.MkdirTemp("", "sonde") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sonde, err := jvmtest.BuildSonde(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := host{tokenFile: filepath.Join(dir, "token")}
	command := exec.Command(sonde, "serve", "--listen", "127.0.0.1:0", "--token-file", h.tokenFile)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	messages, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("the service has ended with %v", err)
		}
	})
	h.address = firstLine(t, out)
	line := firstLine(t, messages)
	_, rest, _ := strings.Cut(line, "the service listens at ")
	h.socket, _, _ = strings.Cut(rest, ";")
	if !filepath.IsAbs(h.socket) || !strings.HasPrefix(h.address, "http://127.0.0.1:") {
		t.Fatalf("the service prints %q and %q", h.address, line)
	}
	return h
}

func firstLine(t *testing.T, from io.Reader) string {
	t.Helper()
	reader := bufio.NewReader(from)
	line, err := reader.ReadString('\n')
	if err != nil {
		t.Fatalf("the service has printed %q: %v", line, err)
	}
	go func() { _, _ = io.Copy(os.Stderr, reader) }()
	return strings.TrimSpace(line)
}

// converse runs a program and answers each of its lines until it prints that it has passed.
func converse(t *testing.T, program *exec.Cmd, answer func(line string) string) {
	t.Helper()
	const patience = 5 * time.Minute // only bounds a program that hangs
	var problems strings.Builder
	program.Stderr = &problems
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { _ = program.Process.Kill() }).Stop()
	hasPassed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if hasPassed = lines.Text() == "passed"; hasPassed {
			break
		}
		if _, err := fmt.Fprintln(in, answer(lines.Text())); err != nil {
			t.Error(err)
		}
	}
	if err := program.Wait(); err != nil || !hasPassed {
		t.Errorf("the program has ended with %v\n%s", err, problems.String())
	}
}
