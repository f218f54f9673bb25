package monitor

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var update = flag.Bool("update", false, "write goldens anew")

func TestExposition(t *testing.T) {
	since := &Interval{Lost: 2, Rows: []Row{
		{
			Key: Key{Pattern: "a.Order.pay"}, Calls: 1_234_567, Errors: 2, Timed: 4, Nanos: 5e9, Running: 3, Stalled: 1, Oldest: 1500 * time.Millisecond,
			Spread: spread(10, 2000, 2000, 5_000_000_000),
		},
		{Key: Key{Pattern: "b.**"}},
	}}
	compare(t, "testdata/pattern.prom", &Exposition{PID: 4711, Up: true, Since: since})
	odd := &Interval{Rows: []Row{{Key: Key{Method: Method{"a.B", `odd"\` + "\n", "(I)V"}}, Calls: 1, Spread: &arena.Spread{}}}}
	compare(t, "testdata/method.prom", &Exposition{PID: 1, Since: odd})
}

func compare(t *testing.T, golden string, e *Exposition) {
	t.Helper()
	var text strings.Builder
	if err := e.Write(&text); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("%s:\n%s", golden, text.String())
	}
}

// TestContextLabels: rows by context are series of their own.
func TestContextLabels(t *testing.T) {
	key := Key{Pattern: "a.B.c", Within: "x.Y.z >", Tags: "tier=gold\nkind=a=b", Callers: "a.C.d"}
	var out strings.Builder
	e := &Exposition{PID: 7, Since: &Interval{Rows: []Row{{Key: key, Calls: 3}}}}
	if err := e.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `sonde_calls_total{pid="7",pattern="a.B.c",within="x.Y.z >",tag_tier="gold",tag_kind="a=b",callers="a.C.d"} 3` + "\n"
	if !strings.Contains(out.String(), want) {
		t.Error(out.String())
	}
}
