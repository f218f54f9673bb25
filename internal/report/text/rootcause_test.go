package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestRootCause(t *testing.T) {
	for name, width := range map[string]int{"climb.txt": 0, "climb80.txt": 80} {
		var out bytes.Buffer
		if err := WriteRootCause(&out, reporttest.RootCause(), width); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name, out.Bytes())
	}
}

// TestRootCauseFitsTheTerminal writes deep call paths and long names.
func TestRootCauseFitsTheTerminal(t *testing.T) {
	c := reporttest.RootCause()
	for range 100 { // ways that divide at every level
		s := &c.Spots[0]
		s.Callers = []*rootcause.Caller{
			{Method: 19, Share: rootcause.Share{Part: 0.9, Low: 0.8, High: 1}, By: rootcause.Estimated, Calls: 1_000_000, Above: s.Callers},
			{Method: 21, Share: rootcause.Share{Part: 0.1, Low: 0.05, High: 0.2}, By: rootcause.BySamples, State: rootcause.Left, Reason: "its bytes are not known"},
		}
	}
	for _, width := range []int{70, 80, 120, 200} {
		var out bytes.Buffer
		if err := WriteRootCause(&out, c, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String() + rootCauseLines(c, width, 40)) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
			}
		}
	}
}

func TestEmptyRootCause(t *testing.T) {
	var out bytes.Buffer
	if err := WriteRootCause(&out, &rootcause.Climb{}, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no hot spot", "no hook was installed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

// rootCauseLines returns the lines of a search in progress.
func rootCauseLines(c *rootcause.Climb, width, most int) string {
	titles, rows := RootCauseRows(c, width, most)
	for _, row := range rows {
		titles += "\n" + row.Text
	}
	return titles
}

// TestRootCauseRows checks that callers with the largest shares are kept, with their callees.
func TestRootCauseRows(t *testing.T) {
	c := reporttest.RootCause()
	c.List[1].State = rootcause.Watched
	want := `SHARE  CALLS     MEAN      P99     HOT SPOTS, AND THEIR CALLERS
 41 %  1,000  38.0 µs   228 µs     com.shop.pricing.Rules.match
 70 %    700   212 µs  1.27 ms  ●    ├ com.shop.cart.Cart.total
 70 %  1,002  1.90 ms  11.4 ms       │ ↑ com.shop.order.Checkout.place
 62 %    886  4.00 ms  24.0 ms       │ ├ com.shop.web.CheckoutHandler.handle
 22 %      –        –        –     java.util.HashMap.getNode
 11 %      –        –        –     java.util.zip.Deflater.deflateBytesBytes
6.0 %  1,000  9.00 µs  54.0 µs     com.shop.report.Export.format`
	if got := rootCauseLines(c, 0, 7); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, rows := RootCauseRows(c, 0, 7)
	for i, depth := range []int{0, 1, 2, 3} {
		if rows[i].Depth != depth {
			t.Errorf("%s has %d callees, want %d", rows[i].Method, rows[i].Depth, depth)
		}
	}
}
