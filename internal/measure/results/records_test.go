package results

import "testing"

func TestLabelTexts(t *testing.T) {
	for want, label := range map[string]Label{
		"":                          {},
		"(other)":                   {Other: true},
		"(not known yet)":           {Unknown: true},
		"tier=gold, no tenant":      {Tags: []TagValue{{Name: "tier", Value: "gold", Set: true}, {Name: "tenant"}}},
		"by a.B.c < a.b.Web.handle": {Callers: []string{"a/B.c()V", "a/b/Web.handle(Ljava/lang/Object;)V"}},
	} {
		if have := label.Text(); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
