package session

import (
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

func TestUnmatchedPatternsSuggestClasses(t *testing.T) {
	var classes []control.Class
	for _, name := range []string{"com.acme.Order", "com.acme.Order$Item", "org.acme.Item", "b.Pay", "c.Pay", "d.Pay", "e.Pay"} {
		classes = append(classes, control.Class{Name: name})
	}
	for text, want := range map[string][]string{
		"com.acme.Order.pay":        nil, // its class is loaded
		"com.acme.**":               nil,
		"acme.Order.pay(int)":       {"com.acme.Order"},
		"acme.Order.**":             {"com.acme.Order"},
		"com.acme.Item.*":           {"com.acme.Order$Item", "org.acme.Item"},
		"a.Pay":                     {"b.Pay", "c.Pay", "d.Pay"},
		"x.*.*":                     {},
		"acme.Order.pay:com.x.Item": {"com.acme.Order"},
	} {
		set, err := pattern.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		lost := unmatched(set.Includes(), classes)
		if (len(lost) == 1) != (want != nil) || len(lost) == 1 && (lost[0].Pattern != text || !slices.Equal(lost[0].Near, want)) {
			t.Errorf("%s: %+v, want %v", text, lost, want)
		}
	}
}

func TestHookCostIsAMedian(t *testing.T) {
	if got, want := hookCost([]Timing{{Plain: 500, Hooked: 5000}, {Hooked: 100}, {Plain: 50, Hooked: 250}}), (HookCost{200, 100, 4500, 3}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := hookCost([]Timing{{Hooked: 200}, {Hooked: 100}}).Median; got != 150 {
		t.Errorf("%v", got)
	}
}
