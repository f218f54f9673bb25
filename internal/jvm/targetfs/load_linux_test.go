package targetfs

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const loaded = `public class Loaded {
    public static void agentmain(String options) { System.out.println("loaded " + options); }
}
`

// loadable is the jar of an agent that says it was loaded; remark makes it
// another build.
func loadable(t *testing.T, jdk jvmtest.JDK, remark string) []byte {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Loaded.java")
	if err := os.WriteFile(source, []byte(loaded), 0o600); err != nil {
		t.Fatal(err)
	}
	class, err := os.ReadFile(filepath.Join(jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{source}}), "Loaded.class"))
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	manifest := "Manifest-Version: 1.0\r\nAgent-Class: Loaded\r\nRemark: " + remark + "\r\n\r\n"
	for _, entry := range []struct{ name, content string }{{"META-INF/MANIFEST.MF", manifest}, {"Loaded.class", string(class)}} {
		file, err := w.Create(entry.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(entry.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

// TestManyLoads: an agent is loaded again, and the JVM holds one file open for each build,
// however often. Its jar stays as long as the JVM runs.
func TestManyLoads(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		for name, wrap := range kinds(t) {
			t.Run(fmt.Sprintf("%s/jdk%d", name, jdk.Major), func(t *testing.T) {
				g := startGuest(t, jdk, wrap)
				conn, err := attach.Open(t.Context(), g.jvm.PID)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				for i, build := range []string{"one", "one", "one", "two", "one", "two"} {
					f := mustMake(t, g.jvm)
					jar := mustPlace(t, f, string(loadable(t, jdk, build)))
					if err := f.Loads(jar); err != nil {
						t.Fatal(err)
					}
					if err := conn.LoadAgent(t.Context(), jar.Path, fmt.Sprint(i)); err != nil {
						t.Fatal(err)
					}
					g.Await(t, fmt.Sprintf("loaded %d", i))
					if err := f.Remove(); err != nil {
						t.Error(err)
					}
					sweep(t)
					isPrivate(t, g.seen(jar.Path), os.ModeSticky|0o600, g.jvm)
				}
				if n := g.openJars(t); n < 1 || n > 2 {
					t.Errorf("%d jars of ours are open", n)
				}
			})
		}
	}
}

func (g guest) openJars(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.jvm.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, "/.sonde-") {
			n++
		}
	}
	return n
}
