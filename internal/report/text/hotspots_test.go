package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestHotSpots(t *testing.T) {
	for _, test := range []struct {
		name  string
		view  HotView
		wall  bool
		width int
	}{
		{"hot.txt", HotView{Sort: BySelf}, false, 0},
		{"hot60.txt", HotView{Sort: ByTotal}, false, 60},
		{"hotthreads.txt", HotView{Sort: BySelf, Form: HotThreads}, false, 0},
		{"hotflame80.txt", HotView{Sort: BySelf, Form: HotFlame}, false, 80},
		{"hotfiltered.txt", HotView{Sort: BySelf, Form: HotFlame, Filter: "TREE"}, false, 0},
		{"hotwall.txt", HotView{Sort: BySelf}, true, 0},
		{"hotwallthreads.txt", HotView{Sort: BySelf, Form: HotThreads}, true, 0},
		{"hotwallflame.txt", HotView{Sort: BySelf, Form: HotFlame}, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reporttest.HotSpots()
			r.Wall = test.wall
			var out bytes.Buffer
			if err := WriteHot(&out, r, test.view, 40, test.width); err != nil {
				t.Fatal(err)
			}
			reporttest.Golden(t, test.name, out.Bytes())
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); test.width > 0 && n > test.width {
					t.Errorf("%d columns on a terminal of %d: %s", n, test.width, line)
				}
			}
		})
	}
}

func TestHiddenRowsAreCounted(t *testing.T) {
	r := reporttest.HotSpots()
	for _, form := range []HotForm{HotMethods, HotThreads, HotFlame} {
		_, all, none := HotView{Sort: BySelf, Form: form}.Rows(r, 0, 0)
		_, some, hidden := HotView{Sort: BySelf, Form: form}.Rows(r, 2, 0)
		if none != 0 || len(some) != 2 || hidden != len(all)-2 {
			t.Errorf("form %d: %d of %d lines, %d hidden", form, len(some), len(all), hidden)
		}
	}
	if _, lines, hidden := (HotView{Sort: BySelf, Form: HotFlame, Filter: "nothing has this name"}).Rows(r, 5, 80); len(lines) != 0 || hidden != 0 {
		t.Errorf("%+v, %d hidden; want nothing", lines, hidden)
	}
}

func TestBars(t *testing.T) {
	for _, test := range []struct {
		from, part float64
		want       string
	}{
		{0, 1, "████████"}, {0, 0.5, "████    "}, {0.5, 0.5, "    ████"}, {0.25, 0.3125, "  ██▌   "}, {0.999, 0.001, "       ▏"}, {0, 0, "▏       "},
	} {
		if got := barText(test.from, test.part, 8); got != test.want {
			t.Errorf("from %v, %v: %q, want %q", test.from, test.part, got, test.want)
		}
	}
}

func TestMethodOfOverload(t *testing.T) {
	m := cct.Method{Class: "a.B", Name: "c", Descriptor: "(JLjava/lang/String;)I"}
	if got := methodOf(m, "a.B.c"); got != "a.B.c" {
		t.Errorf("alone: %s", got)
	}
	if got := methodOf(m, "a.B.c(long,String)"); got != "a.B.c(long,java.lang.String):int" {
		t.Errorf("overloaded: %s", got)
	}
}
