package cli

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
)

// statusJSON is what `sonde status --json` writes.
type statusJSON struct {
	PID       int            `json:"pid"`
	Version   string         `json:"version,omitempty"`
	Main      string         `json:"main,omitempty"`
	Inside    bool           `json:"inside"`
	Standby   bool           `json:"standby"`
	Occupants []occupantJSON `json:"occupants"`
	// PackProblem is why it runs without the pack that it was started with.
	PackProblem string `json:"packProblem,omitempty"`
}

type occupantJSON struct {
	Command   string       `json:"command"`
	Process   int          `json:"process"`
	Alive     string       `json:"alive"` // yes, no, unknown
	Since     time.Time    `json:"since"`
	Timing    string       `json:"timing"`
	Calls     uint64       `json:"calls"`
	Threads   int          `json:"threads"`
	Untimed   uint64       `json:"callsWithoutTime"`
	Dropped   uint64       `json:"callsNotCounted"`
	HookNanos float64      `json:"hookNanosPerCall,omitempty"`
	HookTotal float64      `json:"hookNanos,omitempty"`
	Pause     int64        `json:"pauseNanos"`
	Compile   int64        `json:"compileNanos"`
	ArenaUsed int64        `json:"arenaUsed"`
	ArenaRoom int64        `json:"arenaRoom"`
	Methods   []methodJSON `json:"methods"`
	Arena     string       `json:"arena"`
	Pack      string       `json:"pack,omitempty"` // then there is no such process
	Classes   *accountJSON `json:"classes,omitempty"`
}

func describeStatus(jvm *process.JVM, found targetfs.Found, tenants []*tenant) statusJSON {
	d := statusJSON{
		PID: jvm.PID, Version: jvm.Version, Main: jvm.Main, Inside: len(found.Arenas) > 0, Standby: found.Standby,
		Occupants: []occupantJSON{},
	}
	if jvm.Pack != nil {
		d.PackProblem = jvm.Pack.Problem
	}
	for _, t := range tenants {
		o := occupantJSON{
			Command: t.Command, Process: t.Sonde, Alive: string(t.Alive), Since: t.Opened.Round(time.Millisecond), Timing: t.timing,
			Calls: t.calls, Threads: t.sum.Threads, Untimed: t.untimed, Dropped: t.sum.Dropped, Methods: []methodJSON{},
		}
		o.HookNanos, o.HookTotal = t.cost.Hook, t.hookNanos()
		o.Pause, o.Compile = int64(t.cost.Pause), int64(t.cost.Compile)
		o.ArenaUsed, o.ArenaRoom = t.Room()
		o.Arena = t.Path
		if o.Pack = t.Pack; t.Pack != "" {
			o.Classes = describeAccount(&t.account)
		}
		for i := range t.rows {
			o.Methods = append(o.Methods, describeRow(&t.rows[i], t.timing))
		}
		d.Occupants = append(d.Occupants, o)
	}
	return d
}
