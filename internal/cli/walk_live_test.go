package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// TestWalkOfOneClass searches a plain program of one class in the background, and has its result
// from the history. Its class gets hooks, and the cause is one of its own methods.
func TestWalkOfOneClass(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/walked/OneClass.java"}})
			program := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-Xmx64m", "-cp", classes, "OneClass"}})
			must := func(args ...string) string {
				t.Helper()
				code, out, stderr := sonde(t, args...)
				if code != exitOK {
					t.Fatalf("sonde %v: exit code %d: %s", args, code, stderr)
				}
				return out + stderr
			}
			said := must("walk", strconv.Itoa(program.PID), "--sampling", "3s", "--period", "200 calls", "--period", "300ms", "--background")
			var look string
			if _, err := fmt.Sscanf(said, "look %s of process", &look); err != nil {
				t.Fatalf("%v: %q", err, said)
			}
			if shown := must("show", look); !strings.Contains(shown, "own packages: the unnamed package (from folders on the class path; --own changes it)") {
				t.Errorf("the result does not show the own packages:\n%s", shown)
			}
			page := filepath.Join(t.TempDir(), "causes.html")
			must("show", look, "-o", page)
			if info, err := os.Stat(page); err != nil || info.Size() == 0 {
				t.Errorf("the page of a look that has ended: %v", err)
			}
			text := must("show", look, "--json")
			var found document.RootCause
			if err := json.Unmarshal([]byte(text), &found); err != nil {
				t.Fatal(err)
			}
			if len(found.Spots) == 0 || found.Spots[0].Cause == nil {
				t.Fatalf("no hot spot with a cause: %s", text)
			}
			// On a busy machine a few samples decide which of the two callers has more.
			spot := found.Spots[0]
			hot, cause := found.Methods[spot.Method].Name, found.Methods[spot.Cause.Method].Name
			if hot != "burn" || cause != "prices" && cause != "taxes" && cause != "sell" || found.Cost.Hooked == 0 {
				t.Errorf("%s is caused by %s, with %d hooks, want burn, prices and some", hot, cause, found.Cost.Hooked)
			}
		})
	}
}
