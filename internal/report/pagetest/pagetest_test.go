package pagetest

import (
	"slices"
	"strings"
	"testing"
)

// TestBrokenPagesAreNoticed checks that each check finds its fault.
func TestBrokenPagesAreNoticed(t *testing.T) {
	browser := Start(t)
	for name, broken := range map[string]struct{ html, report string }{
		"a script that stops":     {`<script>recall("theme")</script>`, "recall is not defined"},
		"a console error":         {`<script>console.error("oh")</script>`, "console error"},
		"a script that is denied": {`<meta http-equiv="Content-Security-Policy" content="script-src 'none'"><script>1</script>`, "Content Security Policy"},
	} {
		t.Run(name, func(t *testing.T) {
			page := browser.Open(t, "<!doctype html>"+broken.html, 400, false)
			page.settle()
			if got := page.takeProblems(); !slices.ContainsFunc(got, func(problem string) bool { return strings.Contains(problem, broken.report) }) {
				t.Errorf("reports %q, want %q among them", got, broken.report)
			}
		})
	}
	for name, broken := range map[string]struct{ html, fault string }{
		"too wide":        {`<div style="width: 500px; height: 9px"></div>`, "wider than the window"},
		"off to the left": {`<div style="position: absolute; left: -9px; width: 50px">text</div>`, "reaches from -9"},
		"cut off":         {`<div style="overflow: hidden; width: 50px; white-space: nowrap">much more than that</div>`, "does not scroll"},
		"unreadable":      {`<p style="color: #999">text</p>`, "contrast"},
	} {
		t.Run(name, func(t *testing.T) {
			page := browser.Open(t, "<!doctype html>"+broken.html, 400, false)
			if got := page.faults(); len(got) != 1 && name != "too wide" || !strings.Contains(strings.Join(got, "\n"), broken.fault) {
				t.Errorf("finds %q, want %q", got, broken.fault)
			}
		})
	}
}

func TestUserActions(t *testing.T) {
	page := Start(t).Open(t, `<!doctype html><button id="a" onclick="this.textContent += 'b'">a</button>
<input id="i" onkeydown="if (event.key === 'Enter') document.title = this.value">`, 400, true)
	page.Click("#a")
	page.DoubleClick("#a")
	page.Click("#i")
	page.Type("x/y")
	page.Press("Enter")
	page.Wait(`document.title === "x/y"`)
	if text := page.Text("#a"); text != "abbb" {
		t.Errorf("three clicks made %q", text)
	}
	if page.Count("button, input") != 2 {
		t.Error("there is a button and an input")
	}
}

func TestMissingScriptsAreNoticed(t *testing.T) {
	elsewhere := map[string]string{"recall": "memory.js", "count": "format.js", "Rows": "rows.js"}
	script := "// recall is gone\nfunction start() { recall(1); new Rows({ count: 3 }, \"count\").count; }\nfunction own() {}\n"
	if got := undefined(script, elsewhere); !slices.Equal(got, []string{"Rows", "recall"}) {
		t.Errorf("%v are missing, want Rows and recall", got)
	}
}
