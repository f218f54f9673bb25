package html

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

// deepClimb is a walk of milliseconds on a way of sixty calls, after long sampling.
func deepClimb() *rootcause.Climb {
	c := reporttest.RootCause()
	c.Spots, c.Hooks, c.Batches = c.Spots[:1], nil, c.Batches[:1]
	top := &rootcause.Caller{Method: 20, Share: rootcause.Share{Part: 0.6, Low: 0.55, High: 0.65}, By: rootcause.BySamples, Top: true, Reason: "a thread's entry"}
	at := 5450 * time.Millisecond
	for level := range 60 {
		top = &rootcause.Caller{Method: level % 20, Share: rootcause.Share{Part: 0.6, Low: 0.55, High: 0.65}, By: rootcause.ByHooks, State: rootcause.Done, Above: []*rootcause.Caller{top}}
	}
	for level := range 18 {
		lasts := time.Duration(level%5+1) * 7 * time.Millisecond
		for branch := range 1 + level%3 {
			c.Hooks = append(c.Hooks, rootcause.Live{Method: (level + branch) % 20, Level: level, From: at, Until: at + lasts, Calls: 1000, Drawn: 1000})
		}
		at += lasts
	}
	c.Spots[0].Callers = []*rootcause.Caller{top, {Method: 4, Share: rootcause.Share{Part: 0.4, Low: 0.3, High: 0.5}, By: rootcause.Estimated, State: rootcause.Left, Reason: "its bytes are not known"}}
	return c
}

func writeClimb(t *testing.T, c *rootcause.Climb) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteRootCause(&page, c); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestRootCauseToLookAt writes sample pages to the directory SONDE_PAGES, for inspection.
func TestRootCauseToLookAt(t *testing.T) {
	folder := os.Getenv("SONDE_PAGES")
	if folder == "" {
		t.Skip("SONDE_PAGES names no folder")
	}
	for name, c := range map[string]*rootcause.Climb{"climb": reporttest.RootCause(), "deepclimb": deepClimb(), "noclimb": {}} {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(writeClimb(t, c)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRootCausePageContainsTheResult(t *testing.T) {
	for name, c := range map[string]*rootcause.Climb{"shop": reporttest.RootCause(), "hostile": hostileClimb(), "deep": deepClimb(), "empty": {}} {
		carried, err := Embedded([]byte(writeClimb(t, c)))
		if want, _ := json.Marshal(document.NewRootCause(c)); err != nil || string(carried) != string(want) {
			t.Errorf("%s: the page contains another result than was written: %v", name, err)
		}
	}
}

// hostileClimb has markup wherever the target could have put some.
func hostileClimb() *rootcause.Climb {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	c := reporttest.RootCause()
	c.Target.Command, c.Target.JDK, c.Sampled.By, c.Notes = evil, evil, evil, []string{evil}
	for i := range c.Methods {
		c.Methods[i].Class, c.Methods[i].Name, c.Methods[i].Descriptor = "a/"+evil, evil, evil
	}
	for i := range c.Spots {
		c.Spots[i].Above, c.Spots[i].Kind = evil, evil
		c.Spots[i].Callers[0].Reason = evil
	}
	c.Batches[0].Why, c.List[0].Reason = evil, evil
	return c
}

func TestHostileRootCauseAddsNoMarkup(t *testing.T) {
	plain, hostile := tagsOf(writeClimb(t, reporttest.RootCause())), tagsOf(writeClimb(t, hostileClimb()))
	for _, name := range []string{"script", "/script", "img", "!--", "style"} {
		if hostile[name] != plain[name] {
			t.Errorf("hostile names change the number of <%s from %d to %d", name, plain[name], hostile[name])
		}
	}
}

// TestRootCausePageShows looks for what a reader must find without scripts.
func TestRootCausePageShows(t *testing.T) {
	page := writeClimb(t, reporttest.RootCause())
	shown := page[:strings.Index(page, resultElement)]
	for text, times := range map[string]int{
		`<section class="spot"`:      4,
		`class="box hot"`:            4,
		" cause\"":                   4,
		`<rect class="live `:         15,
		`<svg class="batch-mark in"`: 3, `<svg class="batch-mark out"`: 1,
		`<circle class="joined"`: 1, `<circle class="cooled"`: 1,
		"Several callers of <b>Rules.match</b> matter": 1,
		"executed <b>48,213</b> times":                 1,
		"limit 8":                                      1,
	} {
		if got := strings.Count(shown, text); got != times {
			t.Errorf("%s: %d times, want %d", text, got, times)
		}
	}
	if nothing := writeClimb(t, &rootcause.Climb{}); !strings.Contains(nothing, "No hot spot was found") {
		t.Error("the page of an empty climb does not say so")
	}
}

func TestRootCausePageStaysSmall(t *testing.T) {
	c := reporttest.RootCause()
	encoded, err := json.Marshal(document.NewRootCause(c))
	if err != nil {
		t.Fatal(err)
	}
	if overhead := len(writeClimb(t, c)) - len(encoded); overhead > 100_000 {
		t.Errorf("the page has %d bytes besides its result; 100,000 are allowed", overhead)
	}
}
