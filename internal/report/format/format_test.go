package format_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ have, want string }{
		{format.Grouped(0), "0"},
		{format.Grouped(999), "999"},
		{format.Grouped(1000), "1,000"},
		{format.Grouped(-999), "-999"},
		{format.Grouped(-123456), "-123,456"},
		{format.Grouped(math.MinInt), "-9,223,372,036,854,775,808"},
		{format.Grouped(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{format.Count(1, "child", "children"), "1 child"},
		{format.Count(0, "child", "children"), "0 children"},
		{format.Count(uint64(12345), "child", "children"), "12,345 children"},
		{format.Plural(1, "class"), "1 class"},
		{format.Plural(2, "class"), "2 classes"},
		{format.Plural(uint64(1000), "hot spot"), "1,000 hot spots"},
	} {
		if test.have != test.want {
			t.Errorf("have %q, want %q", test.have, test.want)
		}
	}
}

// TestGroupsAreOfThree checks that commas only separate groups of three digits.
func TestGroupsAreOfThree(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 2000 {
		n := int(r.Uint64()) >> r.IntN(64)
		text := format.Grouped(n)
		if plain := strings.ReplaceAll(text, ",", ""); plain != strconv.Itoa(n) {
			t.Fatalf("%d is written %s", n, text)
		}
		for i, group := range strings.Split(strings.TrimPrefix(text, "-"), ",") {
			if len(group) != 3 && (i > 0 || len(group) == 0 || len(group) > 3) {
				t.Fatalf("%d is written %s", n, text)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	for nanos, want := range map[float64]string{
		0: "0 ns", -0.3: "0 ns", 0.5: "0 ns", 0.6: "1 ns", -0.7: "-1 ns", 999: "999 ns", 999.4: "999 ns",
		999.6: "1.00 µs", 1234: "1.23 µs", 12_345: "12.3 µs", 99_960: "100 µs", 999_499: "999 µs", 999_600: "1.00 ms",
		2.5e6: "2.50 ms", 45_600: "45.6 µs", 1_234_567: "1.23 ms", 49.6: "50 ns", -2e9: "-2.00 s", 9.996e6: "10.0 ms", 1.5e9: "1.50 s", 90e9: "90.0 s", 12_345e9: "12345 s", -2.5e6: "-2.50 ms",
	} {
		if have := format.Nanos(nanos); have != want {
			t.Errorf("%v: have %q, want %q", nanos, have, want)
		}
	}
	if have := format.Duration(1500 * time.Microsecond); have != "1.50 ms" {
		t.Errorf("have %q", have)
	}
	for nanos, want := range map[float64]string{0: "< 50 ns", 49.9: "< 50 ns", 50: "50 ns", 1e6: "1.00 ms"} {
		if have := format.Call(nanos); have != want {
			t.Errorf("%v: have %q, want %q", nanos, have, want)
		}
	}
}

func TestTexts(t *testing.T) {
	const wild = "a\x1b[2Jb\nc\td\u200be\xff?"
	for _, test := range []struct{ have, want string }{
		{format.Printable(wild), "a?[2Jb?c?d?e\uFFFD?"},
		{format.Line(wild), "a\uFFFD[2Jb c d\uFFFDe\uFFFD?"},
		{format.ShortClass("org.h2.index.Cursor"), "o.h2.index.Cursor"},
		{format.ShortClass("org.springframework.web.servlet.DispatcherServlet"), "o.s.w.servlet.DispatcherServlet"},
		{format.ShortClass("shop.Cart"), "shop.Cart"},
		{format.ShortClass("Main"), "Main"},
		{format.ShortClass("größe.a.Ä..B"), "g.a.Ä..B"},
		{format.ShortClass(""), ""},
		{format.Printable("Größe λ 值"), "Größe λ 值"},
		{format.Cut("Größe", 5), "Größe"},
		{format.Cut("Größen", 5), "Größ…"},
		{format.Cut("abc", 1), "…"},
		{format.Cut("abc", 0), "…"},
	} {
		if test.have != test.want {
			t.Errorf("have %q, want %q", test.have, test.want)
		}
	}
}

func TestWrapLines(t *testing.T) {
	for _, test := range []struct {
		width      int
		text, want string
	}{
		{0, "coming out: unknown\n", "coming out: unknown\n"},
		{16, "  1  aligned\ncoming out: 10.0 ms of CPU\n", "  1  aligned\ncoming out:\n  10.0 ms of CPU\n"},
		{6, "go on? [Y/n] ", "go on?\n  [Y/n] "},
		{6, "\x1b[1mcoloured text\x1b[0m\n", "\x1b[1mcoloured text\x1b[0m\n"},
		{4, "\n", "\n"},
	} {
		if got := format.WrapLines(test.text, test.width); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
