package document

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func indented(t *testing.T, document any) []byte {
	t.Helper()
	encoded, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(encoded, '\n')
}

func TestRootCause(t *testing.T) {
	reporttest.Golden(t, "climb.json", indented(t, NewRootCause(reporttest.RootCause())))
}

// TestEmptyRootCause checks that lists without elements are empty, not null.
func TestEmptyRootCause(t *testing.T) {
	encoded, err := json.Marshal(NewRootCause(&rootcause.Climb{}))
	if want := `"own":{"packages":[]},"methods":[],"ownMethods":[],"spots":[],"callerList":[],"hooks":[],"batches":[]`; err != nil || !bytes.Contains(encoded, []byte(want)) {
		t.Errorf("%v: %s", err, encoded)
	}
}

func TestTrace(t *testing.T) {
	reporttest.Golden(t, "trace.json", indented(t, NewTrace(tracetest.Sample())))
}

// TestLinesAreOneObjectEach checks what sonde trace --json writes.
func TestLinesAreOneObjectEach(t *testing.T) {
	traced := tracetest.Sample()
	for _, one := range traced.Transactions {
		text, err := json.Marshal(NewTransaction(traced.Target, one))
		if err != nil || !json.Valid(text) || bytes.ContainsRune(text, '\n') {
			t.Errorf("%v: %s", err, text)
		}
	}
	text, err := json.Marshal(NewTraceEnd(traced))
	if err != nil || !bytes.HasPrefix(text, []byte(`{"final":true,"kept":3,`)) || bytes.Contains(text, []byte("transactions")) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestHotSpots(t *testing.T) {
	r := reporttest.HotSpots()
	r.Wall = true
	reporttest.Golden(t, "hot.json", indented(t, NewHot(r, r.Methods)))
}

func TestDrill(t *testing.T) {
	reporttest.Golden(t, "drill.json", indented(t, NewDrill(reporttest.Drill())))
	encoded, err := json.Marshal(NewDrill(&drill.Result{}))
	if want := `"path":[]`; err != nil || !bytes.Contains(encoded, []byte(want)) {
		t.Errorf("%v: got %s, want %s", err, encoded, want)
	}
}
