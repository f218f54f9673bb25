package cli

import (
	"encoding/json"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// hotJSON is what `sonde hot --json` writes. Shares are parts of all that ran in
// the window; low and high are where the truth lies in 19 of 20 cases.
type hotJSON struct {
	PID     int             `json:"pid"`
	JDK     string          `json:"jdk"`
	Main    string          `json:"main,omitempty"`
	Source  string          `json:"source"` // flight recorder, thread dumps
	Bias    string          `json:"bias,omitempty"`
	From    time.Time       `json:"from"`
	To      time.Time       `json:"to"`
	Samples int             `json:"samples"`
	Waiting int             `json:"samplesOfWaiting"` // left out
	Methods []hotMethodJSON `json:"methods"`
	Threads []hotThreadJSON `json:"threads"`
	Notes   []string        `json:"notes,omitempty"`
}

type hotMethodJSON struct {
	Class      string             `json:"class"`
	Method     string             `json:"method"`
	Descriptor string             `json:"descriptor,omitempty"` // thread dumps tell none
	Self       shareJSON          `json:"self"`
	Total      shareJSON          `json:"total"`
	Samples    int                `json:"samples"`         // with it on top
	Lines      []hotLineJSON      `json:"lines,omitempty"` // of those samples
	Kinds      map[string]float64 `json:"kinds,omitempty"` // parts of those samples
}

type shareJSON struct {
	Part float64 `json:"share"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

type hotLineJSON struct {
	Line int     `json:"line"`
	Part float64 `json:"share"` // of the method's own samples
}

type hotThreadJSON struct {
	Name    string    `json:"name"`
	ID      int64     `json:"id"`
	OSID    int64     `json:"osId,omitempty"`
	Virtual bool      `json:"virtual,omitempty"`
	Share   shareJSON `json:"share"`
	Samples int       `json:"samples"`
	Waiting int       `json:"samplesOfWaiting"`
	CPU     *float64  `json:"cpu,omitempty"` // processors used
}

func (r *hotRun) writeJSON(t *hotspots.Table) error {
	jvm := r.sampler.JVM()
	object := hotJSON{
		PID: r.pid, JDK: jvm.Version, Main: jvm.Main, Source: "flight recorder", Bias: r.sampler.Bias(),
		From: t.From, To: t.To, Samples: t.Samples, Waiting: t.Waiting,
		Methods: []hotMethodJSON{}, Threads: []hotThreadJSON{}, Notes: r.notes,
	}
	if object.Bias != "" {
		object.Source = "thread dumps"
	}
	for _, m := range r.view.methods(t) {
		if r.top > 0 && len(object.Methods) == r.top {
			break
		}
		object.Methods = append(object.Methods, methodObject(m))
	}
	for _, th := range t.Threads {
		row := hotThreadJSON{
			Name: th.Name, ID: th.JavaID, OSID: th.OSID, Virtual: th.Virtual,
			Share: shareJSON(th.Share), Samples: th.Samples, Waiting: th.Waiting,
		}
		if th.CPU >= 0 {
			row.CPU = &th.CPU
		}
		object.Threads = append(object.Threads, row)
	}
	return json.NewEncoder(r.out).Encode(object)
}

func methodObject(m hotspots.Method) hotMethodJSON {
	object := hotMethodJSON{
		Class: className(m.Class), Method: m.Name, Descriptor: m.Descriptor,
		Self: shareJSON(m.Self), Total: shareJSON(m.Total), Samples: m.Samples, Kinds: m.Kinds,
	}
	for _, line := range m.Lines {
		object.Lines = append(object.Lines, hotLineJSON(line))
	}
	return object
}
