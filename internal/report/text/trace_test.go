package text

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestTrace(t *testing.T) {
	for name, terminal := range map[string]Terminal{
		"trace.txt": {}, "trace80.txt": {Width: 80}, "trace-colours.txt": {Width: 120, Colours: true},
	} {
		var out bytes.Buffer
		if err := WriteTrace(&out, tracetest.Sample(), terminal); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name, out.Bytes())
	}
}

func TestTraceFitsTheTerminal(t *testing.T) {
	for _, width := range []int{60, 70, 80, 100, 133, 200} {
		var out bytes.Buffer
		if err := WriteTrace(&out, tracetest.Sample(), Terminal{Width: width}); err != nil {
			t.Fatal(err)
		}
		for text := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(text, "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, text)
			}
			if strings.ContainsAny(text, "\x1b\r\u202e") {
				t.Errorf("a text steers the terminal: %q", text)
			}
		}
	}
}

func TestOnlyTheLongestRowsAreDrawn(t *testing.T) {
	rows := rowsOf(tracetest.Sample().Transactions[0])
	all := flat(rows)
	pruned, left := choice{most: 4}.choose(rows)
	kept := flat(pruned)
	if len(kept) != 4 || left == 0 || len(all) <= 4 {
		t.Fatalf("%d kept of %d, %d left out", len(kept), len(all), left)
	}
	if kept[0] != rows[0] || kept[1].name() != "c.a.pay.PaymentGatewayClient.charge" {
		t.Errorf("kept %s, %s", kept[0].name(), kept[1].name())
	}
}

// TestSliversAreLeftOut checks that short rows are not drawn unless they are remarkable.
func TestSliversAreLeftOut(t *testing.T) {
	rows := rowsOf(tracetest.Sample().Transactions[0])
	pruned, left := choice{most: 100, least: 25 * time.Millisecond}.choose(rows)
	var names []string
	for _, r := range flat(pruned) {
		names = append(names, r.name())
	}
	want := []string{
		"c.a.shop.Shop.checkout", "c.a.shop.CartRepository.load", "c.a.pay.PaymentGatewayClient.charge", "c.a.pay.Bank.authorise",
		"c.a.mail.Mailer.send", "⇢ c.a.audit.Audit.write", "⇢ c.a.search.Indexer.update",
	}
	if !slices.Equal(names, want) || left != 38 {
		t.Errorf("%d left out, kept %v", left, names)
	}
	if last := pruned[0].children[2]; !last.isLast || pruned[0].children[1].isLast {
		t.Error("what hangs last is not known")
	}
}

// TestNarrowTraceList: the list of a narrow terminal fits, and shows durations and roots.
func TestNarrowTraceList(t *testing.T) {
	one := tracetest.Sample().Transactions[0]
	for _, width := range []int{40, 60, 69, 80, 200} {
		terminal := Terminal{Width: width}
		head, line := TraceHeader(terminal), TraceLine(12, one, terminal)
		if max(utf8.RuneCountInString(head), utf8.RuneCountInString(line)) > width || !strings.Contains(head, "ROOT") ||
			!strings.Contains(line, one.Root.Method) || !strings.Contains(line, format.Duration(one.Duration)) {
			t.Errorf("in %d columns:\n%s\n%s", width, head, line)
		}
	}
}
