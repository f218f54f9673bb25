package chrome

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func write(t *testing.T, traced *trace.Trace) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, traced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWrite(t *testing.T) {
	reporttest.Golden(t, "trace.trace.json", write(t, tracetest.Sample()))
}

type document struct {
	Events []struct {
		Name, Cat, Ph string
		Ts, Dur       float64
		PID, ID       int
		TID           uint64
		Args          map[string]any
	} `json:"traceEvents"`
}

func read(t *testing.T, encoded []byte) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(encoded, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSlicesNest checks what viewers require of the slices of a thread.
func TestSlicesNest(t *testing.T) {
	type slice struct{ from, to float64 }
	open := map[uint64][]slice{}
	for _, e := range read(t, write(t, tracetest.Sample())).Events {
		if e.Ph != complete {
			continue
		}
		now := slice{e.Ts, e.Ts + e.Dur}
		for _, other := range open[e.TID] {
			if now.from < other.to && other.from < now.to && !(other.from <= now.from && now.to <= other.to) {
				t.Errorf("%s from %v to %v crosses one from %v to %v", e.Name, now.from, now.to, other.from, other.to)
			}
		}
		open[e.TID] = append(open[e.TID], now)
	}
}

func TestThreadsAreNamedAndArrowsHaveEnds(t *testing.T) {
	var named, used []uint64
	arrows := map[int]int{}
	for _, e := range read(t, write(t, tracetest.Sample())).Events {
		switch e.Ph {
		case metadata:
			if e.Name == "thread_name" {
				named = append(named, e.TID)
			}
		case complete:
			used = append(used, e.TID)
		case flowStart:
			arrows[e.ID]++
		case flowEnd:
			arrows[e.ID]--
		}
	}
	slices.Sort(named)
	slices.Sort(used)
	if !slices.Equal(named, slices.Compact(used)) {
		t.Errorf("threads %v have names, %v slices", named, used)
	}
	if len(arrows) != 2 {
		t.Errorf("%d arrows, want 2", len(arrows))
	}
	for id, balance := range arrows {
		if balance != 0 {
			t.Errorf("arrow %d has not both ends", id)
		}
	}
}

func TestEmpty(t *testing.T) {
	if events := read(t, write(t, &trace.Trace{})).Events; len(events) != 1 {
		t.Errorf("events %v", events)
	}
}
