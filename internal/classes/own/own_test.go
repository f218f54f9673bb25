package own

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func TestRoot(t *testing.T) {
	for pkg, want := range map[string]string{
		"": "", "shop": "shop", "shop/web/rest": "shop", "com/acme": "com/acme", "com/acme/shop/web": "com/acme", "de/acme/shop": "de/acme",
		"uk/co/acme/shop": "uk/co/acme", "org/apache/kafka/clients": "org/apache/kafka", "io/github/someone/app": "io/github/someone", "io/acme/x": "io/acme",
	} {
		if got, ok := root(pkg); got != want || !ok {
			t.Errorf("the root of %q is %q, %t, want %q", pkg, got, ok, want)
		}
	}
	for _, pkg := range []string{"com", "org/apache", "uk/co"} {
		if got, ok := root(pkg); ok {
			t.Errorf("the root of %q is %q, want none", pkg, got)
		}
	}
}

func TestHas(t *testing.T) {
	for _, tt := range []struct {
		packages Packages
		class    string
		want     bool
	}{
		{Packages{Names: []string{"com.acme"}}, "com/acme/Main", true},
		{Packages{Names: []string{"com.acme"}}, "com/acme/web/Main$Inner", true},
		{Packages{Names: []string{"com.acme"}}, "com/acmeother/Main", false},
		{Packages{Names: []string{"com.acme"}}, "Main", false},
		{Packages{Names: []string{""}}, "Main", true},
		{Packages{Names: []string{""}}, "com/acme/Main", false},
		{Packages{Names: []string{"org.h2"}}, "org/h2/engine/Session", true},
		{Packages{Rest: true}, "org/h2/engine/Session", false},
		{Packages{Rest: true}, "java/util/List", false},
		{Packages{Rest: true}, "com/acme/Main", true},
		{Given([]string{"com.acme.**", "org.shop."}), "org/shop/Main", true},
		{Given([]string{"com.acme.**", "org.shop."}), "com/acme/Main", true},
		{Packages{}, "com/acme/Main", false},
	} {
		if got := tt.packages.Has(tt.class); got != tt.want {
			t.Errorf("%v has %s: %t, want %t", tt.packages, tt.class, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	for want, p := range map[string]Packages{
		"own packages: com.acme (from the main jar; --own changes it)":                                   {Names: []string{"com.acme"}, From: "the main jar"},
		"own packages: the unnamed package, shop (from folders on the class path; --own changes it)":     {Names: []string{"", "shop"}, From: "folders on the class path"},
		"own packages: com.acme (--own)":                                                                 Given([]string{"com.acme.*"}),
		"own packages: a, b, c, d, e, f, … (from x; --own changes it)":                                   {Names: []string{"a", "b", "c", "d", "e", "f", "g"}, From: "x"},
		"own packages: all that are not of a known library (from a list of libraries; --own changes it)": {Rest: true, From: "a list of libraries"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMainClass(t *testing.T) {
	for main, want := range map[string]string{
		"com.acme.Main": "com/acme/Main", "Main": "Main", "acme.app/com.acme.Main": "com/acme/Main", "com/acme/Main": "com/acme/Main", "/opt/app.jar": "", "app.war": "",
	} {
		if got := mainClass(&process.JVM{Main: main}); got != want {
			t.Errorf("the main class of %s is %q, want %q", main, got, want)
		}
	}
}

// FuzzClassPath reads any text as the class path that a manifest adds to that of its jar.
func FuzzClassPath(f *testing.F) {
	f.Add("lib/a.jar file:/b.jar ../c%20d.jar http://x/y.jar %zz :")
	f.Fuzz(func(t *testing.T, attribute string) {
		entries := classPathOf("/app/main.jar", attribute)
		if len(entries) > len(attribute) {
			t.Errorf("%d entries in %d bytes", len(entries), len(attribute))
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry, "/") {
				t.Errorf("%q: an entry %q", attribute, entry)
			}
		}
	})
}
