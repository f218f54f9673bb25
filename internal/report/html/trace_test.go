package html

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func writeTrace(t *testing.T, traced *trace.Trace) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteTrace(&page, traced); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestTraceToLookAt writes the sample page to the directory SONDE_PAGES, for inspection.
func TestTraceToLookAt(t *testing.T) {
	folder := os.Getenv("SONDE_PAGES")
	if folder == "" {
		t.Skip("SONDE_PAGES names no folder")
	}
	if err := os.WriteFile(filepath.Join(folder, "trace.html"), []byte(writeTrace(t, tracetest.Sample())), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	styleElements  = regexp.MustCompile(`(?s)<style>.*</style>`)
	scriptElements = regexp.MustCompile(`(?s)<script>.*</script>`)
	policyHash     = regexp.MustCompile(`sha256-(?:[^&]|&#43;)*`)
)

// TestTrace compares the page without styles and scripts.
func TestTrace(t *testing.T) {
	page := writeTrace(t, tracetest.Sample())
	page = policyHash.ReplaceAllString(scriptElements.ReplaceAllString(styleElements.ReplaceAllString(page, "<style/>"), "<script/>"), "sha256-")
	reporttest.Golden(t, "trace.html", []byte(page))
}

func TestHostileTraceAddsNoMarkup(t *testing.T) {
	hostile := tracetest.Sample()
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	hostile.Target.Command, hostile.Target.JDK, hostile.Methods, hostile.Conditions, hostile.Notes = evil, evil, []string{evil}, []string{evil}, []string{evil}
	page := writeTrace(t, hostile)
	for name, want := range map[string]int{"<script": 2, "</script": 2, "<img": 0, "<!--": 0, "</style": 1} {
		if got := strings.Count(page, name); got != want {
			t.Errorf("%d times %s, want %d", got, name, want)
		}
	}
}

func TestEmptyTrace(t *testing.T) {
	page := writeTrace(t, &trace.Trace{})
	for _, text := range []string{"A Java program", "No transaction was seen."} {
		if !strings.Contains(page, text) {
			t.Errorf("the page of an empty trace does not say %q", text)
		}
	}
}
