package original

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestAnotherAgentsChangeIsKept gives a JVM what is chosen for a class that another
// agent has changed, and demands that the change runs and nothing is forgotten.
func TestAnotherAgentsChangeIsKept(t *testing.T) {
	const class = "fixture.Shapes$Plain"
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			v := mustParse(t, jdk.Version)
			classpath, _ := shapes(t, jdk, "-parameters")
			w := newWitness(t, jdk, classpath)
			w.tell(t, []string{"null"}, class)
			changed := answering(t, w.left(t, class, "0"), "chosen")
			choice, err := Choose(Input{JDK: v, File: w.left(t, class, "file"), Given: changed})
			if err != nil {
				t.Fatal(err)
			}
			want := FromGiven
			if parameterNames.In(v) {
				want = FromGraft
			}
			if choice.Source != want {
				t.Errorf("woven from %s, want %s", choice.Source, want)
			}
			w.answer(t, class, "chosen", choice.Weave)
			runs := false
			for _, r := range w.tell(t, []string{"@chosen"}, class) {
				if !strings.HasPrefix(r.fact, "answer = ") {
					t.Errorf("not as it was: %v", r)
				}
				runs = runs || r.kind == "gained" && r.fact == "answer = chosen"
			}
			if !runs {
				t.Error("the other agent's change does not run")
			}
		})
	}
}
