package jvmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Fixture is a set of Java sources compiled together.
type Fixture struct {
	Sources   []string // .java files
	Classpath []string // jars and class directories
	Flags     []string // further flags of javac, such as "--release", "8"
}

// Compile compiles the fixture with the JDK's javac and returns the directory
// of its classes. Results are kept in the user's cache by what went into them,
// so the directory is shared: copy before changing anything in it.
func Compile(t testing.TB, jdk JDK, f Fixture) string {
	t.Helper()
	dir, err := compile(jdk, f)
	if err != nil {
		t.Fatalf("compiling %s with JDK %s: %v", strings.Join(f.Sources, " "), jdk.Version, err)
	}
	return dir
}

func compile(jdk JDK, f Fixture) (string, error) {
	key, err := f.key(jdk)
	if err != nil {
		return "", err
	}
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fresh, err := os.MkdirTemp(root, "compiling-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	args := []string{"-d", fresh, "-encoding", "UTF-8", "-proc:none", "-implicit:none", "-g", "-nowarn"}
	if len(f.Classpath) > 0 {
		args = append(args, "-cp", strings.Join(f.Classpath, string(os.PathListSeparator)))
	}
	for _, option := range briefly { // of the JVM that compiles
		args = append(args, "-J"+option)
	}
	args = append(append(args, f.Flags...), f.Sources...)
	javac := exec.Command(jdk.Tool("javac"), args...)
	javac.Env = cleanEnv()
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	// Another test binary may have been first: its result is as good.
	if err := os.Rename(fresh, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return "", err
		}
	}
	return dir, nil
}

// cacheRoot is the user's cache where there is one, else a directory of this
// process.
var cacheRoot = sync.OnceValues(func() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil {
		root := filepath.Join(cache, "sonde", "jvmtest")
		if os.MkdirAll(root, 0o755) == nil {
			return root, nil
		}
	}
	return os.MkdirTemp("", "sonde-jvmtest-")
})

// key names everything the compiled classes depend on.
func (f Fixture) key(jdk JDK) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%q\n", jdk.Home, jdk.Version, f.Flags)
	for _, path := range slices.Concat(f.Sources, f.Classpath) {
		if err := addTree(sum, path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// addTree adds the names and contents of a file, or of all files below a
// directory, in a fixed order.
func addTree(sum hash.Hash, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(filepath.Dir(root), path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", relative, len(data))
		_, err = io.Copy(sum, bytes.NewReader(data))
		return err
	})
}
