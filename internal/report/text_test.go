package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

var update = flag.Bool("update", false, "write the goldens anew; read the difference before you commit it")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as in %s (-update writes it):\n%s", path, got)
	}
}

func TestText(t *testing.T) {
	for name, width := range map[string]int{"shop.txt": 0, "shop80.txt": 80} {
		var out bytes.Buffer
		if err := WriteText(&out, shop(1), width); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	var deep *cct.Node
	for range 300 {
		deep = &cct.Node{Method: 3, Calls: 5, Timed: 5, Self: sure(1e6), Children: nonNil(deep)}
	}
	p := shop(1)
	p.Merged = &cct.Node{Method: -1, Children: []*cct.Node{deep}}
	addUp(p.Merged)
	for _, width := range []int{70, 80, 100, 120, 200} {
		var out bytes.Buffer
		if err := WriteText(&out, p, width); err != nil {
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

func TestTextOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := WriteText(&out, &cct.Profile{Merged: &cct.Node{Method: -1}}, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no call of the root", "not calibrated"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
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
	if got := names([]cct.Method{{Class: "A", Name: "b\x1b[31m\n"}})[0]; got != "A.b?[31m?" {
		t.Errorf("a name that moves the cursor: %q", got)
	}
}
