package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// packedReader is what was left, as if its JVM ran.
func packedReader(t *testing.T) *results.Reader {
	t.Helper()
	f := madeArena(t, filepath.Join(t.TempDir(), "shop.arena"), nobody)
	h, err := results.Open(context.Background(), f.Path, madePack(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if h.State != results.Ended || h.Title != "shop.jar" || len(h.Set.Probes) != 2 {
		t.Fatalf("%+v", h)
	}
	h.JVM = &process.JVM{PID: nobody, Main: "a.Main", Pack: &process.Pack{Arena: f.Path, Path: "/x/shop.pack"}}
	return h
}

func TestAttachTable(t *testing.T) {
	for by, want := range map[string]string{
		byPattern: `CALLS  ERRORS     MEAN      P50      P90      P99      MAX  RUNNING  STALLED  METHOD
1,001       3  2.00 ms  2.03 ms  30.0 ms  30.0 ms  30.0 ms        1        0  paying [within x.Y.z >; tier=gold]
1,000       0   500 µs        -        -        -  1.00 ms        0        0  charging
    2       0  2.50 ms        -        -        -  4.00 ms        0        0  paying [within x.Y.z >; (unknown)]
2,003       3  1.99 ms  2.03 ms  30.0 ms  30.0 ms  30.0 ms        1        0  total`,
		byMethod: `CALLS  ERRORS     MEAN      P50      P90      P99      MAX  RUNNING  STALLED  METHOD
1,001       3  2.00 ms  2.03 ms  30.0 ms  30.0 ms  30.0 ms        1        0  a.Order.pay [within x.Y.z >; tier=gold]
1,000       0   500 µs        -        -        -  1.00 ms        0        0  a.Pay.charge
    2       0  2.50 ms        -        -        -  4.00 ms        0        0  a.Order.pay [within x.Y.z >; (unknown)]
2,003       3  1.99 ms  2.03 ms  30.0 ms  30.0 ms  30.0 ms        1        0  total`,
	} {
		h := packedReader(t)
		r := newPackLiveRun(&packLiveCommand{applyCommand: applyCommand{targetFlags: targetFlags{pid: nobody}}, sort: "calls", by: by, stall: time.Second}, h)
		r.table.view.by = by
		r.table.begin(monitor.Start(0))
		if err := r.table.read(); err != nil {
			t.Fatal(err)
		}
		table := r.table.look(r.table.first)
		texts := r.table.texts(table, r.table.view.rows(table))
		for i := range texts {
			texts[i] = append(texts[i][:1], texts[i][2:]...) // without rates
		}
		columns := append(append([]format.Column{}, monitorColumns[:1]...), monitorColumns[2:]...)
		if got := strings.Join(format.TableLines(columns, texts, 0), "\n"); got != want {
			t.Errorf("by %s: got\n%s\nwant\n%s", by, got, want)
		}
		if got := r.accountLine(nil); got != "classes of pack /x/shop.pack: 12 woven, 2 different from the packed classes, 1 with a class loader that cannot find the hooks" {
			t.Errorf("%s", got)
		}
	}
}

func TestAttachCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "PID is missing"},
		{"x", exitUsage, "neither a process number nor the name of a JVM"},
		{"1 --by pattern", exitUsage, "probe or method"},
		{"1 --sort total", exitUsage, "calls, errors, mean"},
		{"1 --once --duration 3s", exitUsage, "--duration cannot be used with --once"},
		{"1 --once --interval 3s", exitUsage, "--interval cannot be used with --once"},
		{"1 --once --by method", exitUsage, "--by cannot be used with --once"},
		{"1 --once --stall 3s", exitUsage, "--stall cannot be used with --once"},
		{"1 --once --sort running", exitUsage, "must be one of calls, max, mean, name, self, threw, total with --once"},
		{"1 --once --sort self", exitError, "not a JVM"},
		{"1 --interval 1ms", exitUsage, "--interval \"1ms\": must be"},
		{"1 --yes", exitUsage, "--yes needs --weave"},
		{"1 -f x.yaml", exitUsage, "--probes needs --weave"},
		{"1 --weave --once", exitUsage, "--once cannot be used with --weave"},
		{"1 --weave -f /none/x.yaml", exitError, "no such file"},
		{"1", exitError, "not a JVM"},
		{"1 --weave", exitError, "not a JVM"},
		{"999999999", exitError, "there is no such process"},
	} {
		code, out, stderr := runHere(context.Background(), append([]string{"pack", "live"}, strings.Fields(tt.args)...)...)
		if code != tt.code || out != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("sonde pack live %s: exit code %d, %s%s", tt.args, code, out, stderr)
		}
	}
}
