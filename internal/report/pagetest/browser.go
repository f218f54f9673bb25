// Package pagetest tests the pages that Sonde writes: it opens them in headless Chromium, acts
// as a user does, and reads the result from the page.
//
// Without Chromium, tests are skipped; if the environment variable SONDE_REQUIRE_CHROMIUM is
// set, they fail.
package pagetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// required names the environment variable that makes a missing Chromium a failure.
const required = "SONDE_REQUIRE_CHROMIUM"

// A Browser is a Chromium without a window.
type Browser struct {
	wire *wire

	mu    sync.Mutex
	pages map[string]*Page // by session
}

// shared is the browser of all tests, if Shared runs them.
var shared struct {
	sync.Mutex
	isOn    bool
	browser *Browser
	end     func() error
}

// Shared runs tests that open their pages in one browser: starting it takes longer than most pages. Each page
// has a storage of its own. It returns the exit code of the tests; not 0 if the browser has crashed.
func Shared(run func() int) int {
	shared.isOn = true
	code := run()
	if shared.end == nil {
		return code
	}
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Start starts a browser that ends with the test, or with all of them: see Shared. Without Chromium it skips the
// test, or fails it if Chromium is required.
func Start(t *testing.T) *Browser {
	t.Helper()
	program, err := lookup()
	if err != nil {
		const remedy = "install the Debian package chromium (.ci/setup chromium does)"
		if os.Getenv(required) != "" {
			t.Fatalf("Chromium is required by %s and not installed: %s", required, remedy)
		}
		t.Skipf("NOT TESTED: Chromium is not installed, so no page was opened: %s", remedy)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		return shared.browser
	}
	b, end, err := start(program)
	if err != nil {
		t.Fatal(err)
	}
	if shared.isOn {
		shared.browser, shared.end = b, end
		return b
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func lookup() (string, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		program, err = exec.LookPath("chromium-browser")
	}
	return program, err
}

// start starts the program with its own profile and the two ends of the protocol as files 3 and
// 4. It ends when they are closed, so also if the test is killed.
func start(program string) (b *Browser, end func() error, err error) {
	home, err := os.MkdirTemp("", "sonde-chromium-")
	if err != nil {
		return nil, nil, err
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	var said bytes.Buffer
	browser := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad",
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-extensions", "--disable-component-update",
		"--disable-sync", "--disable-default-apps", "--disable-domain-reliability", "--disable-features=MediaRouter,OptimizationHints,Translate",
		"--in-process-gpu", "--renderer-process-limit=1", "--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")
	browser.Env = append(os.Environ(), "HOME="+home)
	browser.ExtraFiles = []*os.File{theirIn, theirOut}
	browser.Stderr = &said // Wait returns when the last process that holds it has ended
	browser.WaitDelay = 20 * time.Second
	err = browser.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", program, err)
	}
	b = &Browser{pages: map[string]*Page{}}
	b.wire = newWire(ourIn, ourOut, b.heard)
	return b, func() error {
		crashed := b.wire.call("", "Browser.close", struct{}{}, nil)
		_ = ourOut.Close()
		limit := time.AfterFunc(callLimit, func() { _ = browser.Process.Kill() })
		_ = browser.Wait()
		limit.Stop()
		_ = ourIn.Close()
		_ = os.RemoveAll(home) // of the temporary directory
		if crashed != nil {
			return fmt.Errorf("%s: %w; it said:\n%s", program, crashed, said.String())
		}
		return nil
	}, nil
}

// heard records errors of a page.
func (b *Browser) heard(m message) {
	b.mu.Lock()
	page := b.pages[m.Session]
	b.mu.Unlock()
	if page != nil {
		page.heard(m)
	}
}

// callLimit bounds every wait for the browser. It is long because a loaded machine
// may be slow; a working page needs milliseconds.
const callLimit = 60 * time.Second

var (
	errSlow = errors.New("the browser did not answer in time")
	errGone = errors.New("the browser has ended")
)

// A wire carries the DevTools protocol: JSON objects, each followed by a zero byte.
type wire struct {
	out io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	heard   func(message) // called for each event, in order
	gone    chan struct{}
}

// A message is a command, its reply or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func newWire(in io.Reader, out io.Writer, heard func(message)) *wire {
	w := &wire{out: out, waiting: map[int]chan message{}, heard: heard, gone: make(chan struct{})}
	go w.listen(in)
	return w
}

// listen delivers replies until the browser closes the pipe.
func (w *wire) listen(in io.Reader) {
	defer close(w.gone)
	for from := bufio.NewReader(in); ; {
		text, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		if m.ID == 0 {
			w.heard(m)
			continue
		}
		w.mu.Lock()
		answer := w.waiting[m.ID]
		delete(w.waiting, m.ID)
		w.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// call sends a command and decodes its result into result, unless that is nil.
func (w *wire) call(session, method string, params, result any) error {
	given, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	answer := make(chan message, 1)
	w.mu.Lock()
	w.last++
	text, err := json.Marshal(message{ID: w.last, Session: session, Method: method, Params: given})
	if err == nil {
		w.waiting[w.last] = answer
		_, err = w.out.Write(append(text, 0))
	}
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-w.gone:
		return fmt.Errorf("%s: %w", method, errGone)
	case <-time.After(callLimit):
		return fmt.Errorf("%s: %w", method, errSlow)
	}
}
