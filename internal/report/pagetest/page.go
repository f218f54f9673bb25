package pagetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// A Page is a page in a browser. Its methods end the test on errors.
type Page struct {
	t       *testing.T
	browser *Browser
	session string

	mu       sync.Mutex
	problems []string
	forgiven string // a text in problems that do not count
	loaded   chan struct{}
}

// Open opens a page from a file, as users do, in a window of a width and with a
// preference for light or dark. The page is closed with the test; every error that it reported
// fails the test.
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

// Resize sets the size of the window.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.Wait("innerWidth === " + strconv.Itoa(width))
	p.settle()
}

// Prefer sets the system's preference for light or dark.
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

// Eval evaluates an expression in the page, waits if it is a promise, and decodes its
// value into result, unless that is nil.
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

// Text returns the visible text of an element, trimmed and with plain spaces.
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

// Wait waits until a condition holds, testing it each time the page is drawn.
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

// A Point is a place in the window, in pixels.
type Point struct{ X, Y float64 }

// Place scrolls an element into sight and returns the point at parts of its width and
// height. It ends the test if something else covers that point.
func (p *Page) Place(selector string, right, down float64) Point {
	p.t.Helper()
	var place struct {
		X, Y  float64
		Error string
	}
	p.Eval(`(() => {
		const element = document.querySelector(`+strconv.Quote(selector)+`);
		if (!element) return { Error: "is not in the page" };
		element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
		const box = element.getBoundingClientRect();
		const X = box.left + box.width * `+number(right)+`;
		const Y = box.top + box.height * `+number(down)+`;
		const hit = document.elementFromPoint(X, Y);
		if (element.contains(hit)) return { X, Y };
		return { Error: "cannot be reached: there is " + (hit ? hit.outerHTML.slice(0, 120) : "nothing") };
	})()`, &place)
	if place.Error != "" {
		p.t.Fatalf("%s %s", selector, place.Error)
	}
	return Point{place.X, place.Y}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Click clicks the middle of an element. On a busy machine the part of the browser that receives
// the mouse may still have the page as it was before it was scrolled, and the click hits something
// else: then it clicks again.
func (p *Page) Click(selector string) {
	p.t.Helper()
	const mostTries = 5
	for range mostTries {
		at := p.Place(selector, 0.5, 0.5)
		p.Eval(`window.clicked = undefined; addEventListener("click", (event) => {
			window.clicked = document.querySelector(`+strconv.Quote(selector)+`)?.contains(event.target) ?? false;
		}, { capture: true, once: true })`, nil)
		p.ClickAt(at)
		p.Wait("window.clicked !== undefined")
		var isHit bool
		if p.Eval("window.clicked", &isHit); isHit {
			return
		}
	}
	p.t.Fatalf("%s was not hit by %d clicks", selector, mostTries)
}

// ClickAt moves the mouse to a point and clicks.
func (p *Page) ClickAt(at Point) {
	p.t.Helper()
	p.Drag(at, at)
}

// Hover moves the mouse to a point.
func (p *Page) Hover(at Point) {
	p.t.Helper()
	p.mouse("mouseMoved", at, "none", 0)
}

// Drag presses the mouse at a point and releases it at another.
func (p *Page) Drag(from, to Point) {
	p.t.Helper()
	p.Hover(from)
	p.mouse("mousePressed", from, "left", 1)
	if from != to {
		p.mouse("mouseMoved", to, "left", 0)
	}
	p.mouse("mouseReleased", to, "left", 1)
	p.settle()
}

// DoubleClick clicks the middle of an element twice.
func (p *Page) DoubleClick(selector string) {
	p.t.Helper()
	at := p.Place(selector, 0.5, 0.5)
	p.ClickAt(at)
	p.mouse("mousePressed", at, "left", 2)
	p.mouse("mouseReleased", at, "left", 2)
	p.settle()
}

func (p *Page) mouse(kind string, at Point, button string, clicks int) {
	p.t.Helper()
	held := 0
	if button == "left" && kind != "mouseReleased" {
		held = 1
	}
	p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": button, "buttons": held, "clickCount": clicks}, nil)
}

// Type presses the keys of a text.
func (p *Page) Type(text string) {
	p.t.Helper()
	for _, key := range text {
		p.key(string(key))
	}
	p.settle()
}

// Press presses a key, by the name that scripts see: a character, Enter, ArrowDown.
func (p *Page) Press(key string) {
	p.t.Helper()
	p.key(key)
	p.settle()
}

func (p *Page) key(key string) {
	p.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key}
	if utf8.RuneCountInString(key) == 1 {
		params["text"] = key
	}
	p.call("Input.dispatchKeyEvent", params, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

func after() <-chan time.Time { return time.After(callLimit) }

// An exception is an uncaught exception of the page.
type exception struct {
	Text      string
	Exception struct{ Description string }
}

func (e *exception) String() string {
	return strings.TrimSpace(e.Text + " " + e.Exception.Description)
}

// heard notes exceptions, errors and warnings on the console, and what the browser
// refused the page, such as scripts that its policy does not allow.
func (p *Page) heard(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		p.loaded <- struct{}{}
	case "Runtime.exceptionThrown":
		var thrown struct{ ExceptionDetails exception }
		p.note(json.Unmarshal(m.Params, &thrown), thrown.ExceptionDetails.String())
	case "Runtime.consoleAPICalled":
		var called struct {
			Type string
			Args []struct{ Value any }
		}
		err := json.Unmarshal(m.Params, &called)
		if slices.Contains([]string{"error", "warning", "assert"}, called.Type) {
			p.note(err, fmt.Sprintf("console %s: %v", called.Type, called.Args))
		}
	case "Log.entryAdded":
		var added struct {
			Entry struct{ Level, Text, URL string }
		}
		err := json.Unmarshal(m.Params, &added)
		if added.Entry.Level == "error" || added.Entry.Level == "warning" {
			p.note(err, added.Entry.Level+": "+added.Entry.Text+" "+added.Entry.URL)
		}
	}
}

func (p *Page) note(err error, problem string) {
	if err != nil {
		problem = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// takeProblems returns what the page has reported, and forgets it.
func (p *Page) takeProblems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.problems
	p.problems = nil
	return slices.DeleteFunc(taken, func(problem string) bool { return p.forgiven != "" && strings.Contains(problem, p.forgiven) })
}

// Forgive ignores problems that contain a text, for pages that Sonde did not write.
func (p *Page) Forgive(text string) { p.forgiven = text }
