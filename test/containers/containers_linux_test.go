package containers

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A container is a JVM with processes and files of its own: its JDK, the libraries of that, its classes and Sonde.
type container struct {
	pid   int // of the JVM, outside; inside it is 1
	sonde string
}

// start makes a root directory and starts the program in it.
func start(t *testing.T, jdk jvmtest.JDK) *container {
	t.Helper()
	folder, err := os.MkdirTemp("/var/tmp", "sonde-container") // another container has its own /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	c := &container{sonde: filepath.Join(folder, "sonde")}
	if out, err := exec.Command("cp", built, c.sonde).CombinedOutput(); err != nil {
		t.Fatalf("make build makes %s: %v\n%s", built, err, out)
	}
	if out, err := exec.Command("chroot", folder, "/sonde", "--version").CombinedOutput(); err != nil {
		t.Fatalf("sonde does not start where there is nothing else: %v\n%s", err, out)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/app/Busy.java"}, Flags: []string{"--release", "8"}})
	home, err := filepath.EvalSymlinks(jdk.Home)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(folder, "root")
	// Some JDKs of Debian have links from their homes to /etc.
	script := fmt.Sprintf(`set -e
mount --make-rprivate /
mkdir -p %[1]s && mount -t tmpfs none %[1]s
cd %[1]s
mkdir -p .%[2]s app proc tmp dev etc lib lib64 usr/lib
mount --bind %[2]s .%[2]s
for d in lib lib64 usr/lib; do mount --rbind /$d $d; done
[ ! -d /etc/java* ] || for d in /etc/java*; do mkdir -p .$d; mount --bind $d .$d; done
cp -r %[3]s/. app
cp %[4]s sonde
mount -t proc proc proc
exec chroot %[1]s %[2]s/bin/java -Xmx64m -cp /app app.Busy`, root, home, classes, c.sonde)
	program := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
	program.Env = []string{"PATH=" + os.Getenv("PATH")}
	var said bytes.Buffer
	program.Stderr = &said
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = program.Wait()
	})
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		_ = stdin.Close()
		_ = program.Wait()
		t.Fatalf("the program says %q: %s", line, said.String())
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", program.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if c.pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
		t.Fatal(err)
	}
	return c
}

// built is what make build makes.
const built = "../../bin/sonde"

// TestBuildIsStatic: what make build makes needs no library, so that it starts in images that have none.
func TestBuildIsStatic(t *testing.T) {
	file, err := elf.Open(built)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("NOT TESTED: there is no %s: run make build", built)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("%s has a segment %v, want none: it is linked dynamically", built, part.Type)
		}
	}
}

// A place is where Sonde runs.
type place struct {
	name string
	wrap func(c *container) []string
}

var places = []place{
	{"inside", func(c *container) []string {
		return []string{"nsenter", "--target", strconv.Itoa(c.pid), "--mount", "--pid", "--root", "--wd", "/sonde"}
	}},
	{"sibling", func(c *container) []string {
		return []string{
			"nsenter", "--target", strconv.Itoa(c.pid), "--pid", "unshare", "--mount", "sh", "-c",
			`mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs none /tmp && exec "$@"`, "sh", c.sonde,
		}
	}},
}

// TestContainers measures a JVM from both places, by all means: samples, hooks, profiles.
func TestContainers(t *testing.T) {
	if os.Getenv("SONDE_CONTAINERS") == "" {
		t.Skip("make containers runs it")
	}
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: namespaces need root")
	}
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			c := start(t, jdk)
			for _, p := range places {
				t.Run(p.name, func(t *testing.T) { c.measure(t, p) })
			}
		})
	}
}

func (c *container) measure(t *testing.T, p place) {
	for _, tt := range []struct {
		args string
		want func(d map[string]any) bool
	}{
		{"ps --json", func(d map[string]any) bool { return d["pid"] == 1.0 && d["main"] == "app.Busy" }},
		{"hot . -d 2 --json", func(d map[string]any) bool { return d["samples"].(float64) > 0 }},
		{"count . app.Busy.* -d 1 --json", func(d map[string]any) bool { return d["calls"].(float64) > 1000 }},
		{"profile . --root app.Busy.round --timing exact -d 1 --no-settle --json", func(d map[string]any) bool { return d["format"] == "sonde-profile" }},
		{"find 1 Busy --json", func(d map[string]any) bool { return len(d["classes"].([]any)) == 1 }},
		{"undo 1 --json", func(d map[string]any) bool { return d["pid"] == 1.0 }},
		{"status 1 --json", func(d map[string]any) bool { return d["inside"] == false }},
	} {
		wrap := p.wrap(c)
		command := exec.Command(wrap[0], append(wrap[1:], strings.Fields(tt.args)...)...)
		command.Env = []string{"PATH=" + os.Getenv("PATH")} // a container may have no HOME
		var said bytes.Buffer
		command.Stderr = &said
		out, err := command.Output()
		var d map[string]any
		if err != nil || json.Unmarshal(out, &d) != nil || !tt.want(d) {
			t.Errorf("sonde %s: %v\n%s%s", tt.args, err, out[:min(len(out), 2000)], said.String())
		}
	}
}
