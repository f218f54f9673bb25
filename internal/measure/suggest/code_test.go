package suggest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestNatureOfCode reads classes of a program that does a little of everything.
func TestNatureOfCode(t *testing.T) {
	classes := jvmtest.Compile(t, jvmtest.Need(t, 17), jvmtest.Fixture{Sources: []string{"testdata/shop/Shop.java"}})
	p, err := ReadArchives(t.Context(), []string{classes}, 40)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range p.Lines() {
		for i, pattern := range line.Patterns {
			var kinds []string
			for _, use := range line.Choices[i].Uses {
				kinds = append(kinds, string(use.Kind))
			}
			got = append(got, fmt.Sprintf("%s: %s %s by %s", line.Name, line.Choices[i].Why, pattern, strings.Join(kinds, ",")))
		}
	}
	want := []string{
		"Shop.requests: request shop.Shop.handle by ",
		"Shop.database: nature shop.Shop.query by database",
		"Shop.database: nature shop.Shop.stock by database", // by a small method that it calls
		"Shop.network: nature shop.Shop.ask by network",
		"Shop.files: nature shop.Shop.read by files",
		"Shop.lock: nature shop.Shop.block by lock",
		"Shop.lock: nature shop.Shop.guarded by lock",
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s is missing", line)
		}
	}
	if strings.Contains(strings.Join(got, "\n"), "main") || strings.Contains(strings.Join(got, "\n"), "order") {
		t.Errorf("proposed are\n%s", strings.Join(got, "\n"))
	}
	set, err := probeset.Parse(p.YAML(), "probes.yaml")
	if err != nil || len(probeset.Diff(p.Set(), set)) > 0 {
		t.Errorf("%v\n%s", err, p.YAML())
	}
	few, err := ReadArchives(t.Context(), []string{classes}, 2)
	if err != nil || len(few.Lines()) != 2 || few.More == 0 {
		t.Errorf("%v, %+v", err, few)
	}
}

func TestArchivesWithoutClasses(t *testing.T) {
	if _, err := ReadArchives(t.Context(), []string{t.TempDir()}, 40); !errors.Is(err, ErrNoClass) {
		t.Error(err)
	}
}
