package jvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// OtherNamespaces is a command that runs another in pid and mount namespaces of
// its own, with a /tmp of its own that has these mount options ("rw", "ro").
// Where that is not permitted the test ends here, as a skip that can be seen.
func OtherNamespaces(t testing.TB, mountOptions string) []string {
	t.Helper()
	const setUp = `mount -t tmpfs -o "$0" none /tmp && mount -t proc proc /proc && exec "$@"`
	wrap := []string{"unshare", "--pid", "--mount", "--fork", "sh", "-c", setUp, mountOptions}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: namespaces cannot be made here (be root): %v %s", err, out)
	}
	return wrap
}

// AsNobody is a command that runs another as the user nobody. Where that is not
// permitted the test ends here, as a skip that can be seen.
func AsNobody(t testing.TB) []string {
	t.Helper()
	wrap := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: another user cannot be taken on here (be root): %v %s", err, out)
	}
	return wrap
}

// Child is the process a wrapping command runs as its only child.
func (r *Running) Child(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", r.PID, r.PID))
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if n, err := fmt.Sscan(string(text), &child); n != 1 {
		t.Fatalf("process %d has no child: %q, %v", r.PID, text, err)
	}
	return child
}

// AgainAsNobody runs one test of this binary again as the user nobody, with a
// variable added to its environment.
func AgainAsNobody(t *testing.T, variable string) {
	t.Helper()
	wrap := AsNobody(t)
	binary := filepath.Join(PublicDirectory(t), "again.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	again := exec.Command(wrap[0], append(wrap[1:], binary, "-test.run="+pattern, "-test.v", "-test.timeout="+startLimit.String())...)
	again.Env = append(cleanEnv(), variable)
	again.Dir = filepath.Dir(binary)
	again.WaitDelay = time.Second
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// PublicDirectory is a new directory that every user may read, and that a /tmp
// of one's own does not hide.
func PublicDirectory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sonde-jvmtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
