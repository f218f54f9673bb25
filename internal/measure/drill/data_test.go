package drill

import (
	"fmt"
	"strconv"
	"testing"
)

// observe returns n observations. values gives those of each; it is slow if isSlow says so.
func observe(n int, values func(i int) map[string]string, isSlow func(map[string]string) bool) (all []Observation) {
	for i := range n {
		v := values(i)
		all = append(all, Observation{Slow: isSlow(v), Values: v})
	}
	return all
}

func TestSeparate(t *testing.T) {
	tiers, payments := []string{"PREMIUM", "REGULAR", "GUEST"}, []string{"INVOICE", "CARD"}
	order := func(i int) map[string]string {
		return map[string]string{"tier": tiers[i%3], "payment": payments[i/3%2], "id": strconv.Itoa(7000 + i*31%997), "size": strconv.Itoa(i * 7 % 50 * 100), "text": fmt.Sprint("order ", i)}
	}
	number := func(v map[string]string, name string) int {
		n, _ := strconv.Atoi(v[name])
		return n
	}
	tests := map[string]struct {
		n      int
		isSlow func(map[string]string) bool
		want   string
	}{
		"one value": {90, func(v map[string]string) bool { return v["tier"] == "PREMIUM" }, "slow when tier=PREMIUM (30 of 30 slow calls, 0 of 60 normal ones)"},
		"a pair": {
			180, func(v map[string]string) bool { return v["tier"] == "PREMIUM" && v["payment"] == "INVOICE" },
			"slow when payment=INVOICE and tier=PREMIUM (30 of 30 slow calls, 0 of 150 normal ones)",
		},
		"a threshold":     {200, func(v map[string]string) bool { return number(v, "size") > 4000 }, "slow when size > 4000 (36 of 36 slow calls, 0 of 164 normal ones)"},
		"below a number":  {200, func(v map[string]string) bool { return number(v, "size") <= 500 }, "slow when size <= 500 (24 of 24 slow calls, 0 of 176 normal ones)"},
		"nothing in data": {200, func(v map[string]string) bool { return number(v, "id")*7919%13 == 0 }, ""},
		"too few":         {6, func(v map[string]string) bool { return v["tier"] == "PREMIUM" }, ""},
		"all are slow":    {90, func(map[string]string) bool { return true }, ""},
	}
	for name, test := range tests {
		got := ""
		if rule := Separate(observe(test.n, order, test.isSlow)); rule != nil {
			got = rule.String()
		}
		if got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

// TestSeparateByChance: with many values and few slow calls, some value always fits by chance.
func TestSeparateByChance(t *testing.T) {
	values := func(i int) map[string]string {
		v := map[string]string{}
		for j := range 8 {
			v[fmt.Sprint("v", j)] = strconv.Itoa(i * (j + 3) / (j + 1) % 2)
		}
		return v
	}
	all := observe(60, values, func(map[string]string) bool { return false })
	for i := range 4 {
		all[i*11].Slow = true
	}
	if rule := Separate(all); rule != nil {
		t.Errorf("got %v, want none", rule)
	}
}

// TestMissingValues: a value that could not be read fits no term.
func TestMissingValues(t *testing.T) {
	var all []Observation
	for i := range 40 {
		o := Observation{Slow: i%4 == 0, Values: map[string]string{}}
		if i%4 == 0 {
			o.Values["tenant"] = "acme"
		} else if i%2 == 0 {
			o.Values["tenant"] = "globex"
		}
		all = append(all, o)
	}
	rule := Separate(all)
	if want := "slow when tenant=acme (10 of 10 slow calls, 0 of 30 normal ones)"; rule == nil || rule.String() != want {
		t.Errorf("got %v, want %s", rule, want)
	}
}

func TestDataIsBounded(t *testing.T) {
	var d Data
	for i := range 3 * mostObserved {
		d.Add(Observation{Slow: i%2 == 0, Values: map[string]string{"a": "b"}})
	}
	d.Add(Observation{})
	if len(d.all) != 2*mostObserved {
		t.Errorf("got %d observations, want %d", len(d.all), 2*mostObserved)
	}
}
