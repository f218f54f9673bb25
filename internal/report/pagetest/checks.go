package pagetest

import (
	_ "embed" // for the script
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

//go:embed layout.js
var layoutScript string

// CheckLayout fails the test if the page extends beyond the window, cuts something off or has
// text that is hard to read. It writes a screenshot to the directory SONDE_PAGES, if set.
func (p *Page) CheckLayout(state string) {
	p.t.Helper()
	p.settle()
	if folder := os.Getenv("SONDE_PAGES"); folder != "" {
		p.Screenshot(filepath.Join(folder, state+".png"))
	}
	for _, fault := range p.faults() {
		p.t.Errorf("%s: %s", state, fault)
	}
}

func (p *Page) faults() []string {
	p.t.Helper()
	var faults []string
	p.Eval(layoutScript, &faults)
	return faults
}

// widths are the widths of a phone, a small window and a screen.
var widths = []int{400, 1000, 1500}

// EachWindow opens a page light and dark, checks its layout at each width and its theme,
// and calls check at the middle width. What a user does and where parts of a page are is the
// same light and dark, so outside a soak check acts on the light page only, and the dark page
// has one width, where its contrasts are checked.
func EachWindow(t *testing.T, name, html string, layout func(p *Page, state string), check func(t *testing.T, p *Page)) {
	t.Helper()
	browser := Start(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			isWhole, at := scheme == "light" || jvmtest.Soak(), widths
			if !isWhole {
				at = widths[1:2]
			}
			p := browser.Open(t, html, at[0], scheme == "dark")
			for _, width := range at {
				p.Resize(width, 900)
				layout(p, fmt.Sprintf("%s-%d-%s", name, width, scheme))
			}
			p.Resize(1000, 900)
			if isWhole {
				check(t, p)
			}
			p.CheckTheme(scheme)
		})
	}
}

// CheckTheme fails the test unless the page has the theme that the system prefers, and its
// button switches to the other one, which the page remembers.
func (p *Page) CheckTheme(wished string) {
	p.t.Helper()
	other := map[string]string{"light": "dark", "dark": "light"}[wished]
	const theme, paper = "document.documentElement.dataset.theme", "getComputedStyle(document.body).backgroundColor"
	var now, before, after string
	if p.Eval(theme, &now); now != wished {
		p.t.Errorf("the theme is %q where the system wishes %q", now, wished)
	}
	p.Eval(paper, &before)
	p.Click("#theme")
	p.Wait(theme + " === '" + other + "'")
	if p.Eval(paper, &after); after == before {
		p.t.Errorf("the paper stays %s in the other theme", before)
	}
	p.Reload()
	p.Wait(theme + " === '" + other + "'")
}

// Until calls act after each drawing of the page until it returns true.
func (p *Page) Until(what string, act func() bool) {
	p.t.Helper()
	for end := time.Now().Add(callLimit); !act(); p.settle() {
		if time.Now().After(end) {
			p.t.Fatalf("never happened: %s", what)
		}
	}
}

var (
	inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	definition   = regexp.MustCompile(`(?m)^(?:async )?(?:function|class|const|let) (\w+)`)
	noCode       = regexp.MustCompile(`(?m)//.*$|"(?:[^"\\\n]|\\.)*"`)
	identifier   = regexp.MustCompile(`\.?[\w$]+:?`)
)

// CheckScripts fails if the script of a page uses a name that it does not define but another
// script in folders does: then that script is missing from the list of the page.
func CheckScripts(t *testing.T, html string, folders ...string) {
	t.Helper()
	found := inlineScript.FindStringSubmatch(html)
	if found == nil {
		t.Fatal("the page has no script")
	}
	definedIn := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.js"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts in %s: %v", folder, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range definition.FindAllStringSubmatch(string(source), -1) {
				definedIn[name[1]] = file
			}
		}
	}
	for _, name := range undefined(found[1], definedIn) {
		t.Errorf("the page uses %s and does not include %s", name, definedIn[name])
	}
}

// undefined returns the names that a script uses but does not define, of those defined
// elsewhere. Properties and keys do not count.
func undefined(script string, elsewhere map[string]string) []string {
	defined := map[string]bool{}
	for _, name := range definition.FindAllStringSubmatch(script, -1) {
		defined[name[1]] = true
	}
	var missing []string
	for _, word := range identifier.FindAllString(noCode.ReplaceAllString(script, ""), -1) {
		if _, known := elsewhere[word]; known && !defined[word] && !slices.Contains(missing, word) {
			missing = append(missing, word)
		}
	}
	slices.SortFunc(missing, strings.Compare)
	return missing
}
