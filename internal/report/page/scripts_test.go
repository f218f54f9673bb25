package page

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/report/pagetest"
)

// TestPagesIncludeTheScriptsTheyUse finds a script that is missing from the list of a
// page, without a browser.
func TestPagesIncludeTheScriptsTheyUse(t *testing.T) {
	for name, html := range map[string]string{
		"profile": write(t, richProfile()), "samples": samplesPage(t, "com.acme.Main"), "climb": writeClimb(t, shopClimb(t)),
	} {
		t.Run(name, func(t *testing.T) { pagetest.CheckScripts(t, html, "assets", "samples") })
	}
}
