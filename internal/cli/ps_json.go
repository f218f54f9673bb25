package cli

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// jvmJSON is a JVM as `sonde ps --json` writes it. What is not known is left
// out.
type jvmJSON struct {
	PID          int         `json:"pid"`
	NamespacePID int         `json:"namespacePid"`
	OtherPIDs    bool        `json:"otherPidNamespace"`
	OtherMounts  bool        `json:"otherMountNamespace"`
	User         string      `json:"user"`
	UID          uint32      `json:"uid"`
	Kind         string      `json:"kind"`
	Version      string      `json:"version,omitempty"`
	Name         string      `json:"vm,omitempty"`
	Vendor       string      `json:"vendor,omitempty"`
	Main         string      `json:"main,omitempty"`
	Started      time.Time   `json:"started"`
	Uptime       float64     `json:"uptimeSeconds"`
	Heap         *heapJSON   `json:"heap,omitempty"`
	Attach       verdictJSON `json:"attach"`
	Agents       verdictJSON `json:"agents"`
	Inside       string      `json:"inside"` // yes, pack, standby, no, unknown
}

type heapJSON struct {
	Used int64 `json:"used,omitempty"`
	Max  int64 `json:"max,omitempty"`
}

type verdictJSON struct {
	Allowed string `json:"allowed"` // yes, no, unknown
	Reason  string `json:"reason,omitempty"`
}

func describeJVM(j *process.JVM) jvmJSON {
	d := jvmJSON{
		PID: j.PID, NamespacePID: j.NamespacePID, OtherPIDs: j.OtherPIDs, OtherMounts: j.OtherMounts,
		User: j.User, UID: j.UID, Kind: string(j.Kind), Version: j.Version, Name: j.Name, Vendor: j.Vendor,
		Main: j.Main, Started: j.Started.Round(time.Millisecond), Uptime: j.Uptime().Seconds(),
		Attach: verdictJSON{string(j.Attach.Answer), j.Attach.Reason},
		Agents: verdictJSON{string(j.Agents.Answer), j.Agents.Reason},
		Inside: string(j.Inside),
	}
	if j.HeapUsed > 0 || j.HeapMax > 0 {
		d.Heap = &heapJSON{j.HeapUsed, j.HeapMax}
	}
	return d
}
