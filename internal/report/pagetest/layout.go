package pagetest

import (
	_ "embed" // for the script
	"os"
	"path/filepath"
)

//go:embed layout.js
var layoutScript string

// CheckLayout fails the test where the page reaches beyond the window, cuts something
// off or has text that is hard to read, as it is now. It leaves a picture of the page
// in the folder that SONDE_PAGES names, for eyes.
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
