package html

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func writeDrill(t *testing.T, r *drill.Result) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteDrill(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// bigDrill is the sample with a long path and long names.
func bigDrill() *drill.Result {
	r := reporttest.Drill()
	dotted := strings.ReplaceAll(longClass, "/", ".")
	r.Target.Command, r.Methods = dotted, append(r.Methods, dotted+"."+longName)
	last := len(r.Path) - 1
	for range 30 {
		between := r.Path[last]
		between.Class, between.Method = dotted, longName
		r.Path = append(r.Path[:last:last], between, r.Path[last])
		last++
	}
	r.Cause.Class, r.Cause.Method, r.Cause.Lock.Class = dotted, longName, dotted
	r.Cause.Lock.Holding = append(r.Cause.Lock.Holding, dotted+"."+longName)
	r.Cause.Describe()
	r.When.Terms[0].Value = strings.Repeat("long value ", 9)
	r.Steps = append(r.Steps, drill.Step{Text: "callees of " + dotted + "." + longName})
	r.Notes = append(r.Notes, dotted+"."+longName+" was left alone")
	return r
}

// TestDrillToLookAt writes sample pages to the directory SONDE_PAGES, for inspection.
func TestDrillToLookAt(t *testing.T) {
	folder := os.Getenv("SONDE_PAGES")
	if folder == "" {
		t.Skip("SONDE_PAGES names no folder")
	}
	for name, r := range map[string]*drill.Result{"drill": reporttest.Drill(), "drillwithouthooks": reporttest.DrillWithoutHooks(), "nodrill": {}} {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(writeDrill(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrillPageContainsTheResult(t *testing.T) {
	for name, r := range map[string]*drill.Result{"found": reporttest.Drill(), "hostile": hostileDrill(), "without hooks": reporttest.DrillWithoutHooks(), "empty": {}} {
		carried, err := Embedded([]byte(writeDrill(t, r)))
		if want, _ := json.Marshal(document.NewDrill(r)); err != nil || string(carried) != string(want) {
			t.Errorf("%s: the page contains another result than was written: %v", name, err)
		}
	}
}

// hostileDrill has markup wherever the target could have put some.
func hostileDrill() *drill.Result {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	r := reporttest.Drill()
	r.Target.Command, r.Target.JDK, r.Methods, r.Values, r.Notes, r.Disturbed, r.SampledBy = evil, evil, []string{evil}, []string{evil}, []string{evil}, evil, evil
	for i := range r.Path {
		r.Path[i].Class, r.Path[i].Method = evil, evil
	}
	r.Path[0].Others[0].Class, r.Path[0].Others[0].Method = evil, evil
	r.Cause.Class, r.Cause.Method, r.Cause.Text, r.Cause.States[0].In = evil, evil, evil, evil
	r.Cause.Lock = &drill.Lock{Class: evil, Holder: evil, In: evil, Holding: []string{evil, evil}}
	r.When.Terms[0].Name, r.When.Terms[0].Value, r.Steps[0].Text = evil, evil, evil
	return r
}

func TestHostileDrillAddsNoMarkup(t *testing.T) {
	plain, hostile := tagsOf(writeDrill(t, reporttest.Drill())), tagsOf(writeDrill(t, hostileDrill()))
	for _, name := range []string{"script", "/script", "img", "!--", "style"} {
		if hostile[name] != plain[name] {
			t.Errorf("hostile names change the number of <%s from %d to %d", name, plain[name], hostile[name])
		}
	}
}

// TestDrillPageShows looks for what a reader must find without scripts.
func TestDrillPageShows(t *testing.T) {
	for name, test := range map[string]struct {
		result *drill.Result
		texts  map[string]int
	}{
		"found": {reporttest.Drill(), map[string]int{
			`<tr class="cause">`: 1, `<tr class="beside">`: 2, `class="slow" y=`: 5,
			"&lt;evil&gt;":      1 + 1, // in the path and in the summary
			"on another thread": 1,
			"customer.tier=PREMIUM and lines.size &gt; 40": 3,
			"60 of 61 slow calls, 3 of 410 normal ones":    3,
			"held by the thread <b>archiver</b>":           1,
			"java.io.FileOutputStream.write":               1,
			"waits for a monitor":                          1,
			"callees of shop.Checkout.place":               1,
			"All hooks are removed.":                       1,
			"one call in 20 was traced":                    1,
			"of a budget of 2.0\u00a0%":                    1 + 1, // and for screen readers
		}},
		"without hooks": {reporttest.DrillWithoutHooks(), map[string]int{
			"its option -XX:-EnableDynamicAgentLoading forbids loading agents": 1,
			"slow calls are not distinguished":                                 2,
			"<td>1,125</td>":                                                   1,
			`class="slow" y=`:                                                  0,
			"Nothing was put into the JVM.":                                    1,
		}},
		"traced": {reporttest.DrillTraced(), map[string]int{
			"method tracing, no agent":        1,
			"What was traced":                 1,
			"at most 1,210 calls in a second": 1,
			"has restored the classes":        1,
			"hooks":                           0,
		}},
		"healthy":    {&drill.Result{Methods: []string{"a.B.c"}, Normal: drill.Calls{Calls: 3}, Removed: true}, map[string]int{"healthy: no call was slow": 1, "healthy: no call of a.B.c": 1}},
		"not called": {&drill.Result{Methods: []string{"a.B.c"}}, map[string]int{"the method was not called": 1, "Hooks may be left": 1}},
	} {
		page := writeDrill(t, test.result)
		shown := page[strings.Index(page, "<body>"):strings.Index(page, resultElement)]
		for text, times := range test.texts {
			if got := strings.Count(shown, text); got != times {
				t.Errorf("%s: %s: %d times, want %d", name, text, got, times)
			}
		}
	}
}

func TestDrillPageStaysSmall(t *testing.T) {
	r := reporttest.Drill()
	encoded, err := json.Marshal(document.NewDrill(r))
	if err != nil {
		t.Fatal(err)
	}
	if overhead := len(writeDrill(t, r)) - len(encoded); overhead > 60_000 {
		t.Errorf("the page has %d bytes besides its result; 60,000 are allowed", overhead)
	}
}
