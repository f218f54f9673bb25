package cli

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
)

// appliedJSON is what `sonde apply --json` writes while it holds a JVM, and at the end.
type appliedJSON struct {
	PID          int                `json:"pid"`
	JDK          string             `json:"jdk"`
	Main         string             `json:"main,omitempty"`
	File         string             `json:"file"`
	Began        time.Time          `json:"began"`
	Seconds      float64            `json:"seconds"`
	Final        bool               `json:"final"`
	Ended        string             `json:"ended,omitempty"` // duration, asked, probes, interrupted, undone, exited, lost
	Probes       []handover.Running `json:"probes"`
	Threads      int                `json:"threads"`
	Kept         int                `json:"tracesKept"`
	NotChosen    uint64             `json:"tracesNotChosen"`
	OnlyCounted  uint64             `json:"callsNotTraced"`
	Dropped      uint64             `json:"callsNotCounted"`
	ContextsLost uint64             `json:"contextsLost"`
	Ambiguous    uint64             `json:"ambiguousTasks"`
	LeftAlone    []leftJSON         `json:"leftAlone,omitempty"`
	wovenJSON
	Remarks []string `json:"remarks,omitempty"`
}

func (r *applyRun) describe(look *applyLook) appliedJSON {
	d := appliedJSON{
		PID: r.pid, JDK: r.session.JDK().String(), Main: r.session.JVM().Main, File: r.title, Began: r.began.Round(time.Millisecond),
		Seconds: look.elapsed.Seconds(), Final: look.final, Ended: look.ended, Probes: look.rows, Threads: look.threads,
		Dropped: look.dropped, ContextsLost: look.contextsLost, Ambiguous: look.ambiguous,
		wovenJSON: describeWoven(r.session), Kept: len(r.traces.kept), NotChosen: r.traces.sum.discarded, OnlyCounted: r.traces.sum.dropped,
	}
	if look.final {
		d.LeftAlone = describeLeft(r.concerned())
		r.lock.Lock()
		d.Remarks = append(d.Remarks, r.remarks...)
		r.lock.Unlock()
	}
	return d
}
