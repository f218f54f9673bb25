package pagetest

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A Page is a page in a browser. What its methods cannot do ends the test.
type Page struct {
	t       *testing.T
	browser *Browser
	session string

	mu       sync.Mutex
	problems []string
	loaded   chan struct{}
}

// Open opens a page from a file, as users do, in a window of a width and with the
// system's wish for light or dark. The page is closed with the test; every error it
// reported until then fails the test.
func (b *Browser) Open(t *testing.T, html string, width int, dark bool) *Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, browser: b, loaded: make(chan struct{}, 1)}
	var context struct{ BrowserContextID string }
	p.must(b.wire.call("", "Target.createBrowserContext", struct{}{}, &context)) // with a storage of its own
	var target struct{ TargetID string }
	p.must(b.wire.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.BrowserContextID}, &target))
	var attached struct{ SessionID string }
	p.must(b.wire.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	t.Cleanup(func() {
		for _, problem := range p.takeProblems() {
			t.Errorf("the page reports: %s", problem)
		}
		_ = b.wire.call("", "Target.disposeBrowserContext", context, nil)
	})
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", struct{}{}, nil)
	}
	p.Resize(width, 900)
	p.Prefer(dark)
	p.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: file}).String()}, nil)
	p.awaitLoad()
	return p
}

// Reload loads the page again.
func (p *Page) Reload() {
	p.t.Helper()
	p.call("Page.reload", struct{}{}, nil)
	p.awaitLoad()
}

func (p *Page) awaitLoad() {
	p.t.Helper()
	select {
	case <-p.loaded:
	case <-p.browser.wire.gone:
		p.t.Fatal(errGone)
	case <-after():
		p.t.Fatalf("the page did not load: %v", errSlow)
	}
}

// Resize makes the window so wide and high.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.Wait("innerWidth === " + strconv.Itoa(width))
	p.settle()
}

// Prefer sets the system's wish for light or dark.
func (p *Page) Prefer(dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.settle()
}

// settle waits until the page has been laid out and drawn after a change.
func (p *Page) settle() {
	p.t.Helper()
	p.Eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))", nil)
}

// Eval evaluates an expression in the page, waits for it where it is a promise, and
// puts its value into result unless nil.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *exception
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// Text returns the text of an element as it is seen, without space around it and with
// plain spaces.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var text string
	p.Eval("document.querySelector("+strconv.Quote(selector)+")?.innerText ?? '(no such element)'", &text)
	return strings.TrimSpace(strings.ReplaceAll(text, "\u00a0", " "))
}

// Count returns how many elements a selector finds.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	var n int
	p.Eval("document.querySelectorAll("+strconv.Quote(selector)+").length", &n)
	return n
}

// Wait waits until a condition holds in the page, looking each time it is drawn.
func (p *Page) Wait(condition string) {
	p.t.Helper()
	var holds bool
	p.Eval(`new Promise((done) => {
		const end = performance.now() + `+strconv.Itoa(int(callLimit.Milliseconds()/2))+`;
		const look = () => {
			if (`+condition+`) done(true);
			else if (performance.now() > end) done(false);
			else requestAnimationFrame(look);
		};
		look();
	})`, &holds)
	if !holds {
		p.t.Fatalf("never became true in the page: %s", condition)
	}
}

// Screenshot writes the whole page as a PNG.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	p.must(err)
	p.must(os.WriteFile(file, picture, 0o600))
}

func (p *Page) call(method string, params, result any) {
	p.t.Helper()
	p.must(p.browser.wire.call(p.session, method, params, result))
}

func (p *Page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}
