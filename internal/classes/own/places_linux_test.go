package own

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func TestPlaces(t *testing.T) {
	dir := place(t, "classes/shop/Main.class", "lib/a.jar: com/acme/A.class BOOT-INF/classes/com/acme/B.class", "lib/b.jar: com/acme/A.class=x", "broken.jar")
	at := func(name string) string { return filepath.Join(dir, name) }
	p := FindPlaces(&process.JVM{PID: os.Getpid(), ClassPath: []string{at("classes"), at("lib/*"), at("broken.jar"), at("none"), at("none.jar")}})
	for class, want := range map[string][]string{
		"shop/Main": {at("classes")}, "com/acme/A": {at("lib/a.jar"), at("lib/b.jar")}, "com/acme/B": {at("lib/a.jar")}, "com/acme/C": nil,
	} {
		if got := p.Of(class); !slices.Equal(got, want) {
			t.Errorf("%s is in %q, want %q", class, got, want)
		}
		if got := p.Read(class); (got != nil) != (want != nil) {
			t.Errorf("%s: read %d bytes, want some: %t", class, len(got), want != nil)
		}
	}
}
