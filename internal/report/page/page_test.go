package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/record"
)

func encode(t *testing.T, p *cct.Profile) []byte {
	t.Helper()
	encoded, err := record.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func write(t *testing.T, p *cct.Profile) string {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, p, encode(t, p)); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestPagesToLookAt leaves sample pages in the folder SONDE_PAGES names, for eyes.
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
}

func TestPageCarriesTheProfile(t *testing.T) {
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
		if _, err := record.Read(bytes.NewReader(carried)); err != nil {
			t.Errorf("%s: the page's profile cannot be read back: %v", name, err)
		}
	}
}

// TestAHookThatWasOffIsNamed, in the list and with how long it was on.
func TestAHookThatWasOffIsNamed(t *testing.T) {
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
		`<span class="class">Part</span><span class="member">.part</span></span></th><td>on for 4.00` + space + `s</td><td>late</td>`,
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

func TestPageNeedsNothingFromOutside(t *testing.T) {
	checkAlone(t, write(t, richProfile()), opening, sheets, scripts)
	checkAlone(t, writeClimb(t, shopClimb(t)), climbOpening, climbSheets, climbScripts)
}

// checkAlone finds what a page would fetch, and what its policy would refuse.
func checkAlone(t *testing.T, page, opening string, parts ...[]string) {
	t.Helper()
	markup := page[:strings.Index(page, "<style>")] + page[strings.Index(page, "</style>"):strings.Index(page, opening)]
	for _, fetching := range []string{" src=", " href=", "<link", "<iframe", " style=", " onclick="} {
		if strings.Contains(markup, fetching) {
			t.Errorf("the page's markup has %q: it must fetch nothing, and its policy forbids inline styles and handlers", fetching)
		}
	}
	for _, names := range parts {
		source, err := join(names)
		if err != nil {
			t.Fatal(err)
		}
		for _, fetching := range []string{"@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import("} {
			if bytes.Contains(source, []byte(fetching)) {
				t.Errorf("%v contain %q", names, fetching)
			}
		}
		if bytes.Contains(source, []byte("</")) {
			t.Errorf("%v contain \"</\", which could end the element they stand in", names)
		}
		if !strings.Contains(page, string(source)) {
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
	for _, names := range [][]string{sheets, scripts, layouts, climbSheets, climbScripts, climbLayouts} {
		for _, name := range names {
			used[filepath.Base(name)] = true
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
		t.Errorf("the page has %d bytes beside its profile; 150,000 are allowed", overhead)
	}
}

func TestPageOfNothing(t *testing.T) {
	page := write(t, &cct.Profile{})
	for _, text := range []string{"A Java program", "No call of the root was seen."} {
		if !strings.Contains(page, text) {
			t.Errorf("the page of an empty profile does not say %q", text)
		}
	}
}

func TestSummaryTellsUntimedMethods(t *testing.T) {
	p := &cct.Profile{Methods: []cct.Method{{Class: "a/B", Name: "counted"}}}
	p.Merged = &cct.Node{Method: -1, Children: []*cct.Node{{Method: 0, Calls: 1234567}}}
	page := write(t, p)
	if !strings.Contains(page, "<td>–</td><td>–</td><td>–</td><td>–</td><td>1,234,567</td>") {
		t.Error("a method whose calls were counted and not timed is not shown with dashes for its times")
	}
}

func TestRefusesWhatIsNoJSON(t *testing.T) {
	if err := Write(&bytes.Buffer{}, &cct.Profile{}, []byte(`{"format":`)); !errors.Is(err, ErrNotJSON) {
		t.Errorf("a profile cut short gives %v, want ErrNotJSON", err)
	}
}

func TestEmbeddedNeedsAPage(t *testing.T) {
	for _, html := range []string{"", "<html></html>", opening + `{"format":`} {
		if _, err := Embedded([]byte(html)); !errors.Is(err, ErrNoProfile) {
			t.Errorf("%q gives %v, want ErrNoProfile", html, err)
		}
	}
}
