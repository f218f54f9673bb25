package jvmtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// AllReleases are the major versions that Sonde supports and tests, oldest first.
var AllReleases = []int{8, 11, 17, 21, 25, 26}

// Releases returns the JDKs of these major versions, as JDKs does. Those that are not installed are
// looked for in .tools/jdks, where `.ci/setup jdks` unpacks JDKs that Debian 12 lacks, with the C
// library they need. They run in a chroot, with mounts that no other process sees. Such a JDK has no
// compiler that Compile can use, and sees only files that Visible has copied.
func Releases(t *testing.T, majors ...int) []JDK {
	t.Helper()
	var jdks []JDK
	for _, major := range majors {
		jdk, ok := lookup(major)
		if !ok {
			jdk, ok = unpacked(major)
		}
		if ok {
			jdks = append(jdks, jdk)
			continue
		}
		t.Run(fmt.Sprintf("jdk%d", major), func(t *testing.T) { missing(t, major) })
	}
	return jdks
}

func unpacked(major int) (JDK, bool) {
	root, err := unpackedRoot()
	if err != nil {
		return JDK{}, false
	}
	homes, _ := filepath.Glob(filepath.Join(root, "usr/lib/jvm/java-"+strconv.Itoa(major)+"-openjdk-*")) // the pattern is well formed
	if len(homes) != 1 {
		return JDK{}, false
	}
	// Debian's JDK 8 has no release file.
	return JDK{Home: homes[0][len(root):], Major: major, Version: strconv.Itoa(major), Root: root}, true
}

// Module returns the directory with go.mod, above where the test runs.
func Module() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; directory = filepath.Dir(directory) {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			return directory, nil
		}
		if directory == filepath.Dir(directory) {
			return "", os.ErrNotExist
		}
	}
}

// unpackedRoot returns the directory with unpacked JDKs; an error if there is none or if programs
// cannot run in it.
var unpackedRoot = sync.OnceValues(func() (string, error) {
	module, err := Module()
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(filepath.Join(module, ".tools", "jdks"))
	if err != nil {
		return "", err
	}
	return root, exec.Command("unshare", "--mount", "sh", "-c", mounts, root).Run()
})

// mounts gives a chroot its devices and processes.
const mounts = `mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc"`

// command returns the words that run one of the JDK's programs, as the process that is started.
func (j JDK) command(tool string) []string {
	if j.Root == "" {
		return []string{j.Tool(tool)}
	}
	return []string{"unshare", "--mount", "sh", "-c", mounts + ` && exec chroot "$0" "$@"`, j.Root, j.Tool(tool)}
}

// commandOfNobody is like command, for the user nobody.
func (j JDK) commandOfNobody(tool string) []string {
	if j.Root == "" {
		return append(slices.Clone(asNobody), j.Tool(tool))
	}
	const enter = ` && exec chroot --userspec=+65534:+65534 --groups=+65534 "$0" "$@"`
	return []string{"unshare", "--mount", "sh", "-c", mounts + enter, j.Root, j.Tool(tool)}
}

// Visible returns the path by which programs of a JDK find a directory. It copies the directory if
// the JDK runs in a chroot, to one that every user may read.
func Visible(t testing.TB, jdk JDK, directory string) string {
	t.Helper()
	if jdk.Root == "" {
		return directory
	}
	inside, err := os.MkdirTemp(filepath.Join(jdk.Root, "tmp"), "sonde-jvmtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(inside) })
	if err := errors.Join(os.Chmod(inside, 0o755), os.CopyFS(inside, os.DirFS(directory))); err != nil {
		t.Fatal(err)
	}
	return inside[len(jdk.Root):]
}
