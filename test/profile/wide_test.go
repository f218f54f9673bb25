package profile_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

// TestLazyInstrumentsAThirdOfEager: of a wide hierarchy, of which the root uses
// little, lazy puts hooks into at most a third of the methods that eager does.
func TestLazyInstrumentsAThirdOfEager(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			t.Parallel()
			hooks := make(map[profile.Scheme]int)
			for _, scheme := range []profile.Scheme{profile.Lazy, profile.Eager} {
				p := start(t, jdk, doorFor(t, jdk, scheme), "wide")
				result := p.profiled(profile.Options{Roots: []string{"wide.Main.root"}, Scheme: scheme, Timing: cct.Exact},
					func() { p.turn("wide", rounds, 1) })
				truth := p.contexts()
				for _, line := range truth.diff(contextsOf(result, result.Merged, truth.methods())) {
					t.Errorf("%s: %s", scheme, line)
				}
				sound(t, result)
				hooks[scheme] = result.Cost.Hooks
			}
			lazy, eager := hooks[profile.Lazy], hooks[profile.Eager]
			t.Logf("methods with hooks: lazy %d, eager %d (%.2f)", lazy, eager, float64(lazy)/float64(eager))
			if least := wideClasses * (wideHelpers + 1); eager < least {
				t.Errorf("eager put hooks into %d methods; %d can be reached", eager, least)
			}
			if 3*lazy > eager {
				t.Errorf("lazy put hooks into %d methods, more than a third of the %d of eager", lazy, eager)
			}
		})
	}
}
