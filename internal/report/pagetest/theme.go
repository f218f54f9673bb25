package pagetest

import (
	"fmt"
	"testing"
	"time"
)

// widths are those of a telephone, a small window and a screen.
var widths = []int{400, 1000, 1500}

// EachWindow opens a page light and dark, checks its layout at each width, then has
// check act on it at the middle one.
func EachWindow(t *testing.T, name, html string, layout func(p *Page, state string), check func(t *testing.T, p *Page)) {
	t.Helper()
	browser := Start(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			p := browser.Open(t, html, widths[0], scheme == "dark")
			for _, width := range widths {
				p.Resize(width, 900)
				layout(p, fmt.Sprintf("%s-%d-%s", name, width, scheme))
			}
			p.Resize(1000, 900)
			check(t, p)
			p.CheckTheme(scheme)
		})
	}
}

// CheckTheme fails the test unless the page has the theme that the system wishes, and
// its button switches to the other, which the page remembers.
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

// Until acts until it gives true, each time after the page was drawn.
func (p *Page) Until(what string, act func() bool) {
	p.t.Helper()
	for end := time.Now().Add(callLimit); !act(); p.settle() {
		if time.Now().After(end) {
			p.t.Fatalf("never happened: %s", what)
		}
	}
}
