package demo

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	sources = "../../demo/shop/src"
	h2Jar   = "/usr/share/java/h2.jar"
)

// Every fourth customer is premium. The number is one that passes for a card's.
const (
	regular = 3
	premium = 4
	card    = "4000001234567899"
)

// requestLimit bounds a request that hangs; nothing depends on how long one takes.
const requestLimit = 2 * time.Minute

// A shop is the demo's shop, running.
type shop struct {
	url, classpath string
}

// onAll runs a test against a new shop on every supported JDK.
func onAll(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, s shop)) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2Jar)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			test(t, jdk, open(t, jdk))
		})
	}
}

func open(t *testing.T, jdk jvmtest.JDK) shop {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: javaFiles(t), Classpath: []string{h2Jar}, Flags: []string{"--release", "17"},
	})
	s := shop{classpath: classes + string(os.PathListSeparator) + h2Jar}
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", s.classpath, "shop.Main"}})
	const listening = "listening "
	for line := range strings.Lines(running.Stdout()) {
		if url, ok := strings.CutPrefix(line, listening); ok {
			s.url = strings.TrimSpace(url)
			return s
		}
	}
	t.Fatalf("the shop is ready and did not say where: %q", running.Stdout())
	return s
}

func javaFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(sources, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// get and post return what a request is answered, and want this status.
func (s shop) get(t *testing.T, status int, path string) string {
	t.Helper()
	return s.ask(t, status, http.MethodGet, path)
}

func (s shop) post(t *testing.T, status int, path string) string {
	t.Helper()
	return s.ask(t, status, http.MethodPost, path)
}

func (s shop) ask(t *testing.T, status int, method, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: requestLimit}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s /%s: %v", method, path, err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s /%s was answered %d, want %d: %s", method, path, response.StatusCode, status, body)
	}
	return string(body)
}
