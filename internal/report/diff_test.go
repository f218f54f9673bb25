package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func TestDiffText(t *testing.T) {
	after := shop(1.5)
	after.Target.JDK = "25.0.3"
	pay := after.Merged.Children[0]
	pay.Children = pay.Children[1:] // socketRead0 was hottest
	sumUp(after.Merged)
	after.Threads = nil // they have it still
	for i, width := range []int{0, 80} {
		var out bytes.Buffer
		if err := Diff(shop(1), after).WriteText(&out, 2, width); err != nil {
			t.Fatal(err)
		}
		golden(t, []string{"diff.txt", "diff80.txt"}[i], out.Bytes())
	}
}

func TestOnlyIntervalsApartAreChanges(t *testing.T) {
	self := func(nanos, low, high float64, known bool) Figures {
		return Figures{Calls: 1, roots: 100, reach: 1, Self: cct.Time{Nanos: nanos, Low: low, High: high}, Known: known}
	}
	for _, tt := range []struct {
		before, after Figures
		want          Verdict
	}{
		{self(100, 90, 110, true), self(200, 190, 210, true), Slower},
		{self(200, 190, 210, true), self(100, 90, 110, true), Faster},
		{self(100, 90, 110, true), self(120, 105, 130, true), Same},
		{self(100, 90, 110, true), self(0, 0, 0, false), Untimed},
		{Figures{Known: true, roots: 100}, self(1, 1, 1, true), New},
		{self(1, 1, 1, true), Figures{Known: true, roots: 100}, Gone},
		{self(100, 0, 300, true), Figures{Calls: 2, Self: cct.Time{Nanos: 200, High: 500}, Known: true}, Calls},
	} {
		if got := newChange([]string{"a"}, tt.before, tt.after); got.Verdict != tt.want {
			t.Errorf("%+v to %+v: %s, want %s", tt.before, tt.after, got.Verdict, tt.want)
		}
	}
}

func TestDiffIsPerRootCall(t *testing.T) {
	long := shop(1)
	long.Merged = shopTree(1, 15)
	if d := Diff(shop(1), long); slicesAnySure(d.Methods) || d.Total.Low > 0 || d.Total.High < 0 {
		t.Errorf("a run ten times as long differs: %+v", d)
	}
}

func TestDiffJSON(t *testing.T) {
	var out bytes.Buffer
	if err := Diff(shop(1), shop(1.5)).WriteJSON(&out, 3); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Before struct {
			RootCalls int `json:"rootCalls"`
		}
		Methods []struct {
			Path    []string
			Verdict string
			Change  []float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Before.RootCalls != 3000 || len(got.Methods) != 3 || got.Methods[0].Path[0] != "com.example.shop.Cart.total" || got.Methods[0].Verdict != "slower" || got.Methods[0].Change[0] != 62500 {
		t.Errorf("%s", out.Bytes())
	}
}
