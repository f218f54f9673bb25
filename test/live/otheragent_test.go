package live

import (
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestOtherAgentFromTheStart(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		agent := OtherAgent(t, jdk)
		for order, lasts := range map[string]bool{"change": true, "change-once": false} {
			t.Run(order, func(t *testing.T) {
				p := Start(t, jdk, JavaAgent(agent+"="+order+" neighbour.Spoken original-word changed"), Neighbour)
				if word, _ := p.Say(); word != "changed" {
					t.Fatalf("after the start it says %s", word)
				}
				// What a transformer did that takes no part in retransformation is kept by the JVM.
				p.Order(agent, "retransform neighbour.Spoken")
				if word, _ := p.Say(); word != "changed" {
					t.Errorf("after a retransformation it says %s", word)
				}
				p.Order(agent, "forget;retransform neighbour.Spoken")
				if word, _ := p.Say(); (word == "changed") == lasts {
					t.Errorf("after a retransformation without the agent it says %s", word)
				}
				p.Run(1)
			})
		}
	})
}

// TestReflectSeesWhatRetransformationLoses shows that the dump would tell: JDK 17
// before 17.0.20 loses parameter names whenever a class is retransformed.
func TestReflectSeesWhatRetransformationLoses(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	p := Start(t, jdk, Attach, Reflected)
	p.Run(1)
	before := p.Reflect()
	p.Order(OtherAgent(t, jdk), "retransform reflected.Main")
	if lost := p.Reflect() != before; lost != losesParameterNames(t, jdk) {
		t.Errorf("JDK %s: something is lost: %v", jdk.Version, lost)
	}
}

func losesParameterNames(t *testing.T, jdk jvmtest.JDK) bool {
	t.Helper()
	var patch int
	if _, err := fmt.Sscanf(jdk.Version, "17.0.%d", &patch); err != nil {
		t.Fatalf("version %s: %v", jdk.Version, err)
	}
	return patch < 20
}

func TestFootprintIsStable(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Calls)
		p.Run(10)
		p.Footprint()
		first, second := p.Footprint(), p.Footprint()
		if len(first.Descriptors) != len(second.Descriptors) || first.Metaspace == 0 {
			t.Errorf("footprint %v, then %v", first, second)
		}
	})
}
