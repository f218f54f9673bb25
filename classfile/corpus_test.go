package classfile_test

import (
	"archive/zip"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// oneIn is the sampling rate: of oneIn classes of the JDKs, one is tested by
// default; modules are few and all looked at.
const oneIn = 40

// eachOfCorpus calls f for a sample of the classes of every JDK that is installed.
// SONDE_CORPUS=full takes all classes and the jars of Debian packages as well.
func eachOfCorpus(t *testing.T, f func(name string, data []byte)) {
	t.Helper()
	full := os.Getenv("SONDE_CORPUS") == "full"
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		t.Skip("no JDK is installed: real classes were not looked at")
	}
	classes := 0
	count := func(name string, data []byte) {
		classes++
		f(name, data)
	}
	for _, jdk := range jdks {
		before := classes
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Fatalf("JDK %s: %v", jdk.Version, err)
		}
		err = image.Each(func(module, path string, data []byte) error {
			if !strings.HasSuffix(path, ".class") {
				return nil
			}
			if full || strings.HasSuffix(path, "module-info.class") || chosen(module+"/"+path) {
				count(module+"/"+path, data)
			}
			return nil
		})
		if err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
		if err := image.Close(); err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
		t.Logf("JDK %s: %d classes", jdk.Version, classes-before)
	}
	if full {
		before := classes
		eachOfJars(t, "/usr/share/java/*.jar", count)
		t.Logf("jars: %d classes", classes-before)
	}
	if classes < 1000 {
		t.Errorf("only %d classes were looked at", classes)
	}
}

func chosen(name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()%oneIn == 0
}

func eachOfJars(t *testing.T, pattern string, f func(name string, data []byte)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		jar, err := zip.OpenReader(file)
		if err != nil {
			t.Logf("%s is left out: %v", file, err)
			continue
		}
		for _, entry := range jar.File {
			if !strings.HasSuffix(entry.Name, ".class") {
				continue
			}
			in, err := entry.Open()
			if err != nil {
				t.Errorf("%s!%s: %v", file, entry.Name, err)
				continue
			}
			data, err := io.ReadAll(in)
			_ = in.Close() // read to its end, its checksum tested
			if err != nil {
				t.Errorf("%s!%s: %v", file, entry.Name, err)
				continue
			}
			f(file+"!"+entry.Name, data)
		}
		_ = jar.Close() // only read
	}
}
