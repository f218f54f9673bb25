package text

import (
	"bytes"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestDrill(t *testing.T) {
	var wide, narrow bytes.Buffer
	if err := WriteDrill(&wide, reporttest.Drill(), 0); err != nil {
		t.Fatal(err)
	}
	if err := WriteDrill(&narrow, reporttest.Drill(), 60); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "drill.txt", append(wide.Bytes(), narrow.Bytes()...))
	titles, rows := DrillRows(reporttest.Drill().Path, 80)
	if len(rows) != 5 || titles == "" || rows[1].Method != "shop.Pricing.quote" || rows[4].Depth != 3 {
		t.Errorf("got %q, %+v, want the path, a callee beside it, and the own time", titles, rows)
	}
	if _, rows := DrillRows(nil, 80); len(rows) > 0 {
		t.Errorf("got %+v, want nothing", rows)
	}
}

func TestDrillWithoutHooks(t *testing.T) {
	var out bytes.Buffer
	if err := WriteDrill(&out, reporttest.DrillWithoutHooks(), 0); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "drillwithouthooks.txt", out.Bytes())
}

func TestDrillTraced(t *testing.T) {
	var out bytes.Buffer
	if err := WriteDrill(&out, reporttest.DrillTraced(), 0); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "drilltraced.txt", out.Bytes())
}

func TestDrillHealthy(t *testing.T) {
	var out bytes.Buffer
	if err := WriteDrill(&out, &drill.Result{Methods: []string{"a.B.c"}, Normal: drill.Calls{Calls: 3}, Removed: true}, 0); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("healthy: no call of a.B.c")) {
		t.Errorf("%v: %s", err, out.String())
	}
}
