package json

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func indented(t *testing.T, encoded []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", " "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

func TestRootCause(t *testing.T) {
	encoded, err := EncodeRootCause(reporttest.RootCause())
	reporttest.Golden(t, "climb.json", indented(t, encoded, err))
}

// TestEmptyRootCause checks that lists without elements are empty, not null.
func TestEmptyRootCause(t *testing.T) {
	encoded, err := EncodeRootCause(&rootcause.Climb{})
	if want := `"methods":[],"spots":[],"callerList":[],"hooks":[],"batches":[]`; err != nil || !bytes.Contains(encoded, []byte(want)) {
		t.Errorf("%v: %s", err, encoded)
	}
}

func TestTrace(t *testing.T) {
	encoded, err := EncodeTrace(tracetest.Sample())
	reporttest.Golden(t, "trace.json", indented(t, encoded, err))
}

// TestLinesAreOneObjectEach checks what sonde trace --json writes.
func TestLinesAreOneObjectEach(t *testing.T) {
	traced := tracetest.Sample()
	for _, one := range traced.Transactions {
		text, err := EncodeTransaction(&traced.Target, one)
		if err != nil || !json.Valid(text) || bytes.ContainsRune(text, '\n') {
			t.Errorf("%v: %s", err, text)
		}
	}
	text, err := EncodeTraceEnd(traced)
	if err != nil || !bytes.HasPrefix(text, []byte(`{"final":true,"kept":3,`)) || bytes.Contains(text, []byte("transactions")) {
		t.Errorf("%v: %s", err, text)
	}
}
