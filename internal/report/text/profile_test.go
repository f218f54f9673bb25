package text

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestProfile(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile *cct.Profile
		width   int
	}{{"shop.txt", reporttest.Shop(1), 0}, {"shop80.txt", reporttest.Shop(1), 80}, {"shopstacks.txt", reporttest.ShopStacks(), 0}} {
		var out bytes.Buffer
		if err := WriteProfile(&out, tt.profile, tt.width, 0); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, tt.name, out.Bytes())
	}
}

func TestProfileFitsTheTerminal(t *testing.T) {
	var deep *cct.Node
	for range 300 {
		deep = &cct.Node{Method: 3, Calls: 5, Timed: 5, Self: cct.Time{Nanos: 1e6, Low: 1e6, High: 1e6}, Children: nonNil(deep)}
	}
	p := reporttest.Shop(1)
	p.Merged = &cct.Node{Method: -1, Children: []*cct.Node{deep}}
	reporttest.SumUp(p.Merged)
	for _, width := range []int{70, 80, 100, 120, 200} {
		var out bytes.Buffer
		if err := WriteProfile(&out, p, width, 0); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
			}
		}
	}
}

func nonNil(n *cct.Node) []*cct.Node {
	if n == nil {
		return nil
	}
	return []*cct.Node{n}
}

func TestHandedWork(t *testing.T) {
	var text, collapsed strings.Builder
	if err := WriteProfile(&text, reporttest.Handed(), 0, 0); err != nil {
		t.Fatal(err)
	}
	if want := "└ com.example.Task.run  [on another thread]\n"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
	}
	if err := WriteCollapsed(&collapsed, reporttest.Handed()); err != nil {
		t.Fatal(err)
	}
	want := "com.example.Serve.serve 6000\ncom.example.Serve.serve;(on another thread);com.example.Task.run 9000\n"
	if collapsed.String() != want {
		t.Errorf("got %q, want %q", &collapsed, want)
	}
}

func TestEmptyProfile(t *testing.T) {
	var out bytes.Buffer
	if err := WriteProfile(&out, &cct.Profile{Merged: &cct.Node{Method: -1}}, 80, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no call of the root", "not calibrated"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

func TestReplacedRoots(t *testing.T) {
	p := reporttest.Shop(1)
	for _, isReplaced := range []bool{false, true} {
		p.Methods[p.Merged.Children[0].Method].LowerBound = isReplaced
		if got := rootCalls(p); strings.HasPrefix(got, "≥ ") != isReplaced {
			t.Errorf("a root that HotSpot may replace, %v: %q", isReplaced, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		time cct.Time
		want string
	}{
		{cct.Time{Nanos: 1000, Low: 1000, High: 1000}, "0 %"},
		{cct.Time{Nanos: 1000, Low: 999.5, High: 1000}, "< 0.1 %"},
		{cct.Time{Nanos: 1000, Low: 900, High: 1250}, "25 %"},
		{cct.Time{Nanos: 1000, Low: 0, High: 2000}, "100 %"},
		{cct.Time{Nanos: 1000, Low: 0, High: 2001}, "unknown"},
		{cct.Time{Nanos: 0, Low: 0, High: 5}, "unknown"},
		{cct.Time{Nanos: 1000, Low: 0, High: math.Inf(1)}, "unknown"},
	} {
		if got := errorText(tt.time); got != tt.want {
			t.Errorf("the error of %+v is %q, want %q", tt.time, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name string
		room int
		want string
	}{
		{"com.example.shop.Cart.total", 27, "com.example.shop.Cart.total"},
		{"com.example.shop.Cart.total", 26, "c.example.shop.Cart.total"},
		{"com.example.shop.Cart.total", 20, "c.e.shop.Cart.total"},
		{"com.example.shop.Cart.total(a.b.C)", 24, "c.e.s.Cart.total(a.b.C)"},
		{"com.example.shop.Cart.total", 14, "….s.Cart.total"},
		{"method #77", 5, "method #77"},
	} {
		if got := shorten(tt.name, tt.room); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.name, tt.room, got, tt.want)
		}
	}
	if got := cct.Names([]cct.Method{{Class: "A", Name: "b\x1b[31m\n"}})[0]; got != "A.b?[31m?" {
		t.Errorf("a name that moves the cursor: %q", got)
	}
}
