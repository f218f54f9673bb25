package tenants

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sondePath is the program, as it ships.
var sondePath string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "tenants")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	sondePath = filepath.Join(folder, "sonde")
	if err := os.Setenv("SONDE_CACHE", "off"); err != nil { // what is woven here is of no use to the user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if out, err := exec.Command("go", "build", "-o", sondePath, "../../cmd/sonde").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sonde: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A tracing is a `sonde trace` that has put its hooks in.
type tracing struct {
	*exec.Cmd
	out, stderr bytes.Buffer
	settled     chan struct{} // closed when slow calls are kept from then on
	read        chan struct{}
}

// settleCalls is how many calls a trace of slow ones waits for before it keeps any.
const settleCalls = 10

// settle makes the calls that the trace waits for, and waits until it keeps slow ones.
func (r *tracing) settle(t *testing.T, call func()) {
	t.Helper()
	for range settleCalls {
		call()
	}
	select {
	case <-r.settled:
	case <-r.read:
		t.Fatalf("the trace ended before the program had settled: %s", r.stderr.String())
	}
}

// startTracing returns when the hooks are in.
func startTracing(t *testing.T, pid int, args ...string) *tracing {
	t.Helper()
	args = append([]string{"trace", strconv.Itoa(pid)}, args...)
	r := &tracing{Cmd: exec.Command(sondePath, args...), settled: make(chan struct{}), read: make(chan struct{})}
	r.Stdout = &r.out
	pipe, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	ready := make(chan struct{})
	go func() {
		defer close(r.read)
		lines := bufio.NewScanner(pipe)
		for waiting := true; lines.Scan(); {
			r.stderr.WriteString(lines.Text() + "\n")
			if waiting && strings.HasPrefix(lines.Text(), "hooks in ") {
				waiting = false
				close(ready)
			}
			if strings.HasPrefix(lines.Text(), "settled after ") {
				close(r.settled)
			}
		}
	}()
	select {
	case <-ready:
	case <-r.read:
		t.Fatalf("sonde %s ended: %s", strings.Join(args, " "), r.stderr.String())
	}
	return r
}

// running tells whether it has not ended yet.
func (r *tracing) running() bool {
	select {
	case <-r.read:
		return false
	default:
		return true
	}
}

// end waits until it has ended by itself, which it must do well.
func (r *tracing) end(t *testing.T) {
	t.Helper()
	<-r.read
	if err := r.Wait(); err != nil {
		t.Fatalf("sonde: %v\n%s", err, r.stderr.String())
	}
}

// nothingLeft expects that nothing of Sonde's is inside a program.
func nothingLeft(t *testing.T, pid int) {
	t.Helper()
	out, err := exec.Command(sondePath, "status", strconv.Itoa(pid)).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || !strings.HasPrefix(string(out), "nothing of Sonde's") {
		t.Errorf("status: %v\n%s", err, out)
	}
}
