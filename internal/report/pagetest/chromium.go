package pagetest

import (
	"bytes"
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

// Start starts a browser that ends with the test. Where there is no Chromium the test
// ends here: skipped, or failed if it is required.
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
	b := &Browser{pages: map[string]*Page{}}
	b.run(t, program)
	return b
}

func lookup() (string, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		program, err = exec.LookPath("chromium-browser")
	}
	return program, err
}

// run starts the program with a profile of its own and the two ends of the protocol
// as its files 3 and 4. It ends when they are closed, so also with a test that is killed.
func (b *Browser) run(t *testing.T, program string) {
	t.Helper()
	home, err := os.MkdirTemp("", "sonde-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	browser := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad",
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-extensions", "--disable-component-update",
		"--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")
	browser.Env = append(os.Environ(), "HOME="+home)
	browser.ExtraFiles = []*os.File{theirIn, theirOut}
	browser.Stderr = &said // Wait returns when the last process that holds it has ended
	browser.WaitDelay = 20 * time.Second
	err = browser.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	b.wire = newWire(ourIn, ourOut, b.heard)
	t.Cleanup(func() {
		crashed := b.wire.call("", "Browser.close", struct{}{}, nil)
		_ = ourOut.Close()
		limit := time.AfterFunc(callLimit, func() { _ = browser.Process.Kill() })
		_ = browser.Wait()
		limit.Stop()
		_ = ourIn.Close()
		if err := os.RemoveAll(home); err != nil {
			t.Logf("the browser's files were not removed: %v", err)
		}
		if crashed != nil {
			t.Errorf("%s: %v; it said:\n%s", program, crashed, said.String())
		}
	})
}

// heard notes what goes wrong in a page.
func (b *Browser) heard(m message) {
	b.mu.Lock()
	page := b.pages[m.Session]
	b.mu.Unlock()
	if page != nil {
		page.heard(m)
	}
}
