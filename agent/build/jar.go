package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// compilerMajor is the version whose javac makes the committed jar: another
// version may order a constant pool differently.
const compilerMajor = 17

// entryTime stands on every entry: the earliest a zip file can express.
var entryTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

const manifest = "Manifest-Version: 1.0\r\nImplementation-Title: sonde-runtime\r\n\r\n"

func jarPath(agentDir string) string { return filepath.Join(agentDir, "dist", "sonde-runtime.jar") }

func findJavac() (string, error) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == compilerMajor {
			return jdk.Tool("javac"), nil
		}
	}
	return "", fmt.Errorf("no JDK %d found: install openjdk-%[1]d-jdk-headless or name its home in SONDE_JDKS", compilerMajor)
}

// buildJar compiles what is under src and packs the classes, sorted by name.
func buildJar(javac, agentDir string) ([]byte, error) {
	classes, err := os.MkdirTemp("", "sonde-runtime-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	if err := compileTo(classes, javac, filepath.Join(agentDir, "src")); err != nil {
		return nil, err
	}
	var jar bytes.Buffer
	archive := zip.NewWriter(&jar)
	if err := addEntry(archive, "META-INF/MANIFEST.MF", []byte(manifest)); err != nil {
		return nil, err
	}
	err = eachFile(classes, ".class", func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(classes, path)
		if err != nil {
			return err
		}
		return addEntry(archive, filepath.ToSlash(name), data)
	})
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return jar.Bytes(), nil
}

func compileTo(classes, javac, src string) error {
	// Java 8 is the oldest target. Lines are kept for stack traces, local names are of no use to anyone.
	args := []string{"--release", "8", "-g:source,lines", "-Xlint:all", "-Werror", "-proc:none", "-encoding", "UTF-8", "-d", classes}
	err := eachFile(src, ".java", func(path string) error {
		args = append(args, path)
		return nil
	})
	if err != nil {
		return err
	}
	if out, err := exec.Command(javac, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", javac, err, out)
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

// addEntry stores without compressing: what a deflater gives depends on its
// version, and the jar is small.
func addEntry(archive *zip.Writer, name string, data []byte) error {
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: entryTime})
	if err != nil {
		return err
	}
	_, err = entry.Write(data)
	return err
}
