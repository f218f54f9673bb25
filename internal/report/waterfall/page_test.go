package waterfall

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/pagetest"
)

func writePage(t *testing.T, traced *trace.Trace) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteHTML(&page, traced); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestPageToLookAt leaves the sample page in the folder SONDE_PAGES names, for eyes.
func TestPageToLookAt(t *testing.T) {
	folder := os.Getenv("SONDE_PAGES")
	if folder == "" {
		t.Skip("SONDE_PAGES names no folder")
	}
	if err := os.WriteFile(filepath.Join(folder, "trace.html"), []byte(writePage(t, tracetest.Sample())), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	styles   = regexp.MustCompile(`(?s)<style>.*</style>`)
	scripts  = regexp.MustCompile(`(?s)<script>.*</script>`)
	elements = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	policy   = regexp.MustCompile(`sha256-(?:[^&]|&#43;)*`)
)

// TestPage holds what the page says without a script, and what it carries for one.
func TestPage(t *testing.T) {
	page := writePage(t, tracetest.Sample())
	page = policy.ReplaceAllString(scripts.ReplaceAllString(styles.ReplaceAllString(page, "<style/>"), "<script/>"), "sha256-")
	golden(t, "trace.html", []byte(page))
}

func TestJSON(t *testing.T) {
	var out, indented bytes.Buffer
	if err := WriteJSON(&out, tracetest.Sample()); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, out.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, "trace.json", indented.Bytes())
}

// TestLinesAreOneObjectEach holds what --json writes to one line an object.
func TestLinesAreOneObjectEach(t *testing.T) {
	traced := tracetest.Sample()
	for _, one := range traced.Transactions {
		text, err := EncodeTransaction(&traced.Target, one)
		if err != nil || !json.Valid(text) || bytes.ContainsRune(text, '\n') {
			t.Errorf("%v: %s", err, text)
		}
	}
	text, err := EncodeEnd(traced)
	if err != nil || !bytes.HasPrefix(text, []byte(`{"final":true,"kept":3,`)) || bytes.Contains(text, []byte("transactions")) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestHostileNamesAddNoMarkup(t *testing.T) {
	hostile := tracetest.Sample()
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	hostile.Target.Command, hostile.Target.JDK, hostile.Methods, hostile.Conditions, hostile.Notes = evil, evil, []string{evil}, []string{evil}, []string{evil}
	page := writePage(t, hostile)
	for name, want := range map[string]int{"<script": 2, "</script": 2, "<img": 0, "<!--": 0, "</style": 1} {
		if got := strings.Count(page, name); got != want {
			t.Errorf("%d times %s, want %d", got, name, want)
		}
	}
}

func TestPageNeedsNothingFromOutside(t *testing.T) {
	page := writePage(t, tracetest.Sample())
	markup := scripts.ReplaceAllString(styles.ReplaceAllString(page, ""), "")
	markup = strings.Join(elements.FindAllString(markup[:strings.Index(markup, `<script type="application/json"`)], -1), "")
	for _, fetching := range []string{" src=", " href=", "<link", "<iframe", " style=", " onclick="} {
		if strings.Contains(markup, fetching) {
			t.Errorf("the page's markup has %q: it must fetch nothing, and its policy forbids inline styles and handlers", fetching)
		}
	}
	for _, name := range append(shell.OwnSheets, shell.OwnScripts...) {
		source, err := assets.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, refused := range []string{"@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import(", "</"} {
			if bytes.Contains(source, []byte(refused)) {
				t.Errorf("%s contains %q", name, refused)
			}
		}
		if !strings.Contains(page, string(source)) {
			t.Errorf("%s does not stand in the page as it is, so its policy would refuse it", name)
		}
	}
}

func TestPageOfNothing(t *testing.T) {
	page := writePage(t, &trace.Trace{})
	for _, text := range []string{"A Java program", "No transaction was seen."} {
		if !strings.Contains(page, text) {
			t.Errorf("the page of an empty trace does not say %q", text)
		}
	}
}

// TestPageIncludesTheScriptsItUses finds a script that is missing from the page's list,
// without a browser.
func TestPageIncludesTheScriptsItUses(t *testing.T) {
	pagetest.CheckScripts(t, writePage(t, tracetest.Sample()), "assets", "../page/assets")
}

func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node to run the page's scripts with")
	}
	if out, err := exec.Command(node, "--test", "testdata/scripts.test.mjs").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
