package html

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/pagetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func encode(t *testing.T, p *cct.Profile) []byte {
	t.Helper()
	encoded, err := json.Marshal(document.NewProfile(p))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func write(t *testing.T, p *cct.Profile) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteProfile(&page, p); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestPagesToLookAt writes sample pages to the directory SONDE_PAGES, for inspection.
func TestPagesToLookAt(t *testing.T) {
	folder := os.Getenv("SONDE_PAGES")
	if folder == "" {
		t.Skip("SONDE_PAGES names no folder")
	}
	for name, p := range map[string]*cct.Profile{"rich": richProfile(), "huge": hugeProfile(50_000), "empty": {}} {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(write(t, p)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range map[string]string{"hot": writeSamples(t, "shop.jar"), "diff": writeDiff(t)} {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageContainsTheProfile(t *testing.T) {
	for name, p := range map[string]*cct.Profile{"rich": richProfile(), "hostile": hostileProfile(), "empty": {}} {
		encoded := encode(t, p)
		carried, err := Embedded([]byte(write(t, p)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var wrote, read any
		if err := json.Unmarshal(encoded, &wrote); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(carried, &read); err != nil {
			t.Fatalf("%s: the page's profile is no JSON: %v", name, err)
		}
		again, _ := json.Marshal(read)
		if want, _ := json.Marshal(wrote); !bytes.Equal(again, want) {
			t.Errorf("%s: the page carries another profile than was written", name)
		}
		if _, err := document.ReadProfile(bytes.NewReader(carried)); err != nil {
			t.Errorf("%s: the page's profile cannot be read back: %v", name, err)
		}
	}
}

// TestHookThatWasOffIsNamed checks the list and how long the hook was on.
func TestHookThatWasOffIsNamed(t *testing.T) {
	p := richProfile()
	p.Took = 10 * time.Second
	p.Methods = append(p.Methods, cct.Method{Class: "a/Off", Name: "off"}, cct.Method{Class: "a/Part", Name: "part"})
	last := len(p.Methods) - 1
	p.Quiet = []cct.Quiet{{Method: last - 1, Reason: "dear"}, {Method: last, On: 4 * time.Second, Reason: "late"}}
	p.Merged = &cct.Node{Method: -1}
	page := write(t, p)
	for _, want := range []string{
		`<span class="class">Off</span><span class="member">.off</span></span></th><td>–</td><td>–</td><td>–</td><td>–</td><td>off</td>`,
		`<span class="class">Off</span><span class="member">.off</span></span></th><td>off</td><td>dear</td>`,
		`<span class="class">Part</span><span class="member">.part</span></span></th><td>on for 4.00 s of 10.0 s</td><td>late</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// hostileProfile has markup wherever the target could have put some.
func hostileProfile() *cct.Profile {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	p := richProfile()
	p.Target.Command, p.Target.JDK = evil, evil
	p.Roots, p.Why, p.Scheme = []string{evil}, evil, evil
	p.Notes = []string{evil}
	for i := range p.Methods {
		p.Methods[i].Class, p.Methods[i].Name, p.Methods[i].Descriptor = "a/"+evil, evil, evil
	}
	for i := range p.Threads {
		p.Threads[i].Name = evil
	}
	p.Quiet[0].Reason = evil
	p.LeftAlone[0] = cct.LeftAlone{Class: evil, Method: evil, Reason: evil}
	return p
}

var tag = regexp.MustCompile(`<[a-zA-Z!/][^>]*>`)

// tagsOf counts a page's tags by name.
func tagsOf(page string) map[string]int {
	found := map[string]int{}
	for _, markup := range tag.FindAllString(page, -1) {
		found[strings.FieldsFunc(markup, func(r rune) bool { return strings.ContainsRune("<> \n", r) })[0]]++
	}
	return found
}

func TestHostileNamesAddNoMarkup(t *testing.T) {
	plain, hostile := tagsOf(write(t, richProfile())), tagsOf(write(t, hostileProfile()))
	for _, name := range []string{"script", "/script", "img", "!--", "style"} {
		if hostile[name] != plain[name] {
			t.Errorf("hostile names change the number of <%s from %d to %d", name, plain[name], hostile[name])
		}
	}
}

func TestPageFetchesNothing(t *testing.T) {
	checkAlone(t, write(t, richProfile()), profilePage)
	checkAlone(t, writeDiff(t), diffPage)
	checkAlone(t, writeClimb(t, reporttest.RootCause()), rootCausePage)
	checkAlone(t, writeTrace(t, tracetest.Sample()), tracePage)
	checkAlone(t, writeDrill(t, reporttest.Drill()), drillPage)
}

// resultElement begins the element with the result.
const resultElement = `<script type="application/`

// checkAlone finds what a page would fetch, and what its policy would refuse.
func checkAlone(t *testing.T, html string, parts page) {
	t.Helper()
	markup := html[:strings.Index(html, "<style>")] + html[strings.Index(html, "</style>"):strings.Index(html, resultElement)]
	markup = strings.Join(tag.FindAllString(markup, -1), "")
	for _, fetching := range []string{" src=", " href=", "<link", "<iframe", " style=", " onclick="} {
		if strings.Contains(markup, fetching) {
			t.Errorf("the page's markup has %q: it must fetch nothing, and its policy forbids inline styles and handlers", fetching)
		}
	}
	for _, names := range [][]string{parts.sheets, parts.scripts} {
		source := join(names)
		for _, fetching := range []string{"@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import("} {
			if bytes.Contains(source, []byte(fetching)) {
				t.Errorf("%v contain %q", names, fetching)
			}
		}
		if bytes.Contains(source, []byte("</")) {
			t.Errorf("%v contain \"</\", which could end the element they stand in", names)
		}
		if !strings.Contains(html, string(source)) {
			t.Errorf("%v do not stand in the page as they are, so its policy would refuse them", names)
		}
	}
}

func TestEveryAssetIsUsed(t *testing.T) {
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range commonLayouts {
		used[name] = true
	}
	for _, names := range []page{profilePage, rootCausePage, samplesPage, diffPage, tracePage, drillPage} {
		for _, name := range slices.Concat(names.layouts, names.sheets, names.scripts) {
			used[name] = true
		}
	}
	for _, file := range files {
		if !used[file.Name()] {
			t.Errorf("assets/%s is embedded and not part of the page", file.Name())
		}
	}
}

func TestPageStaysSmall(t *testing.T) {
	p := hugeProfile(2_000)
	if overhead := len(write(t, p)) - len(encode(t, p)); overhead > 150_000 {
		t.Errorf("the page has %d bytes besides its profile; 150,000 are allowed", overhead)
	}
}

func TestEmptyProfilePage(t *testing.T) {
	page := write(t, &cct.Profile{})
	for _, text := range []string{"A Java program", "No call of the root was seen."} {
		if !strings.Contains(page, text) {
			t.Errorf("the page of an empty profile does not say %q", text)
		}
	}
}

func TestSummaryShowsUntimedMethods(t *testing.T) {
	p := &cct.Profile{Methods: []cct.Method{{Class: "a/B", Name: "counted"}}}
	p.Merged = &cct.Node{Method: -1, Children: []*cct.Node{{Method: 0, Calls: 1234567}}}
	page := write(t, p)
	if !strings.Contains(page, "<td>–</td><td>–</td><td>–</td><td>–</td><td>1,234,567</td>") {
		t.Error("a method whose calls were counted and not timed is not shown with dashes for its times")
	}
}

func TestEmbeddedNeedsAPage(t *testing.T) {
	for _, html := range []string{"", "<html></html>", opening + `{"format":`} {
		if _, err := Embedded([]byte(html)); !errors.Is(err, ErrNoResult) {
			t.Errorf("%q gives %v, want ErrNoResult", html, err)
		}
	}
}

// TestPagesIncludeTheScriptsTheyUse finds a script that is missing from the list of a
// page, without a browser.
func TestPagesIncludeTheScriptsTheyUse(t *testing.T) {
	for name, html := range map[string]string{
		"profile": write(t, richProfile()), "samples": writeSamples(t, "com.acme.Main"), "diff": writeDiff(t), "climb": writeClimb(t, reporttest.RootCause()), "trace": writeTrace(t, tracetest.Sample()),
		"drill": writeDrill(t, reporttest.Drill()),
	} {
		t.Run(name, func(t *testing.T) { pagetest.CheckScripts(t, html, "assets") })
	}
}

// TestFigures and the tests of the scripts read the same table, so that Go and scripts
// format numbers alike.
func TestFigures(t *testing.T) {
	table, err := os.ReadFile("testdata/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var figures []struct {
		Rule, Written string
		Given         float64
	}
	if err := json.Unmarshal(table, &figures); err != nil {
		t.Fatal(err)
	}
	rules := map[string]func(float64) string{
		"nanos": nanos, "mean": mean, "share": share,
		"count": func(n float64) string { return format.Grouped(uint64(n)) },
	}
	for _, f := range figures {
		if got := strings.ReplaceAll(rules[f.Rule](f.Given), space, " "); got != f.Written {
			t.Errorf("%s of %v is %q, want %q", f.Rule, f.Given, got, f.Written)
		}
	}
	if got := nanos(math.Inf(1)); got != "∞" {
		t.Errorf("a bound that is none is %q, want ∞", got)
	}
	for _, tt := range []struct {
		time cct.Time
		want string
	}{
		{cct.Time{Nanos: 1000, Low: 900, High: 1200}, "± 200 ns"},
		{cct.Time{Nanos: 1000, Low: 0, High: 2000}, "± 1.00 µs"},
		{cct.Time{Nanos: 1000, Low: 0, High: 2001}, "± unknown"},
		{cct.Time{Nanos: 1000, Low: 900, High: math.Inf(1)}, "± unknown"},
		{cct.Time{}, "± 0 ns"},
	} {
		if got := strings.ReplaceAll(within(tt.time), space, " "); got != tt.want {
			t.Errorf("the error of %+v is %q, want %q", tt.time, got, tt.want)
		}
	}
}

// TestScripts runs the tests of the scripts if node is installed.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the tests of the scripts did not run")
	}
	out, err := exec.Command(node, "--test", "testdata/scripts.test.mjs", "testdata/trace.test.mjs").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Names as frameworks make them: nothing in a page may rely on short ones.
const (
	longClass = "org/springframework/transaction/interceptor/TransactionInterceptorDelegatingBeanFactoryPostProcessor$$EnhancerBySpringCGLIB$$4f1c2d3e"
	longName  = "lambda$invokeWithinTransactionAndCleanUpAfterCommitOrRollback$17"
	longArgs  = "(Lorg/springframework/beans/factory/config/ConfigurableListableBeanFactory;Ljava/util/function/BiFunction;J[[Ljava/lang/String;)Ljava/util/concurrent/CompletableFuture;"
)

// bigProfile is the sample with long names, deep stacks and many methods.
func bigProfile() *cct.Profile {
	p := richProfile()
	p.Target.Command = strings.ReplaceAll(longClass, "/", ".") + " --spring.config.location=/srv/applications/warehouse/config/application-production.yaml"
	p.Roots = append(p.Roots, strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	p.Threads[0].Name = "org.springframework.kafka.KafkaListenerEndpointContainer#0-0-C-1-warehouse-events-partition-17"
	root := p.Merged.Children[0]
	at := root
	for depth := range 70 {
		p.Methods = append(p.Methods, cct.Method{Class: fmt.Sprintf("%s%d", longClass, depth), Name: longName, Descriptor: longArgs})
		n := &cct.Node{Method: len(p.Methods) - 1, Calls: 123_456_789, Timed: 123_456_789, Self: cct.Time{Nanos: 3e9, Low: 2.9e9, High: 3.2e9}, Threw: 1_234_567, Running: 1, Missed: 3, Late: true}
		at.Children = append(at.Children, n)
		at = n
	}
	for i := range 400 {
		p.Methods = append(p.Methods, cct.Method{Class: fmt.Sprintf("com/acme/module%d/Service%d", i%23, i), Name: "process", Descriptor: "()V"})
		root.Children = append(root.Children, &cct.Node{Method: len(p.Methods) - 1, Calls: 1, Timed: 1, Self: cct.Time{Nanos: 1e6, Low: 1e6, High: 1e6}})
	}
	sum(p.Merged)
	p.Quiet = append(p.Quiet, cct.Quiet{Method: root.Children[0].Method, Reason: "at 1.2 M calls per second its hook would cost 1.4 %, so it was switched off; the method's time is included in that of its callers"})
	p.LeftAlone = append(p.LeftAlone, cct.LeftAlone{Class: longClass, Method: longName, Reason: "a native method whose prefix " + longName + " is not known"})
	p.Notes = append(p.Notes, "left alone: "+strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	return p
}

// sum brings the totals of a tree up to date.
func sum(n *cct.Node) {
	for _, child := range n.Children {
		sum(child)
	}
	withTotal(n)
}

// bigSamples has the tree of bigProfile as samples.
func bigSamples(t *testing.T) string {
	t.Helper()
	p := bigProfile()
	for n := range p.Merged.All() {
		n.Kinds = map[string]float64{"compiled": 0.8, "inlined": 0.2}
	}
	return writeHot(t, &hotspots.Result{
		Table:  hotspots.Restored(hotspots.Table{From: p.Began, To: p.Began.Add(p.Took), Samples: 123_456}, &hotspots.Tree{Methods: p.Methods, Top: p.Merged}, nil),
		Target: p.Target, Source: "flight recorder", Bias: "threads were asked at safepoints: a hot method may be a neighbour of the one named",
	})
}

func writeHot(t *testing.T, r *hotspots.Result) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteHot(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// bigClimb is the sample with long names.
func bigClimb() *rootcause.Climb {
	c := reporttest.RootCause()
	c.Target.Command = strings.ReplaceAll(longClass, "/", ".")
	for i := range c.Methods {
		if i%2 == 0 {
			c.Methods[i].Class, c.Methods[i].Name, c.Methods[i].Descriptor = fmt.Sprintf("%s%d", longClass, i), longName, longArgs
		}
	}
	c.Batches[0].Why = "the hooks of " + strings.ReplaceAll(longClass, "/", ".") + " and of all that calls it"
	c.Notes = append(c.Notes, "left alone: "+strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	return c
}

func writeSamples(t *testing.T, name string) string {
	t.Helper()
	r := reporttest.HotSpots()
	r.Target.Command, r.Bias = name, "by "+name
	return writeHot(t, r)
}

// writeDiff compares two runs of the shop with two in which a method is slower.
func writeDiff(t *testing.T) string {
	t.Helper()
	slower := func(p *cct.Profile) *cct.Profile {
		for n := range p.Merged.All() {
			if n.Method >= 0 && p.Methods[n.Method].Name == "verify" {
				n.Self = cct.Time{Nanos: 3 * n.Self.Nanos, Low: 3 * n.Self.Low, High: 3 * n.Self.High}
			}
		}
		sum(p.Merged)
		p.Threads = nil
		return p
	}
	before := []*cct.Profile{richProfile(), richProfile()}
	for _, p := range before {
		p.Threads = nil
	}
	var page bytes.Buffer
	if err := WriteDiff(&page, diff.Compare(before, []*cct.Profile{slower(richProfile()), slower(richProfile())})); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestSamplesPage(t *testing.T) {
	page := writeSamples(t, "com.acme.Main")
	for _, part := range []string{"<title>com.acme.Main – hot</title>", "1,000 samples in 10.0 s by the kernel", "kernel 9.0\u00a0%", `"name":"find"`, `"C2":0.75`, `"lines":[{"line":88,"samples":300,"nanos":3000000000},`} {
		if !strings.Contains(page, part) {
			t.Errorf("lacks %q", part)
		}
	}
	hostile := writeSamples(t, "</script><script>alert(1)</script><!--")
	for _, tag := range []string{"<script", "</script", "<!--"} {
		if strings.Count(hostile, tag) != strings.Count(page, tag) {
			t.Errorf("a hostile name adds %s", tag)
		}
	}
	for _, names := range [][]string{samplesPage.sheets, samplesPage.scripts} {
		source := join(names)
		if !strings.Contains(page, string(source)) || bytes.Contains(source, []byte("</")) {
			t.Errorf("%v do not stand in the page as they are, so its policy would refuse them", names)
		}
	}
}
