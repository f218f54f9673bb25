package handover

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
)

func TestLabelTexts(t *testing.T) {
	for want, label := range map[string]liveprobes.Label{
		"":                          {},
		"(other)":                   {Other: true},
		"(not known yet)":           {Unknown: true},
		"tier=gold, no tenant":      {Tags: []liveprobes.TagValue{{Name: "tier", Value: "gold", Set: true}, {Name: "tenant"}}},
		"by a.B.c < a.b.Web.handle": {Callers: []string{"a/B.c()V", "a/b/Web.handle(Ljava/lang/Object;)V"}},
	} {
		if have := labelText(label); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
