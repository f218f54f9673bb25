package document

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
)

// JVM is written by `sonde ps --json`, one for each JVM, without what is unknown.
type JVM struct {
	PID          int             `json:"pid"`
	NamespacePID int             `json:"namespacePid"`
	OtherPIDs    bool            `json:"otherPidNamespace"`
	OtherMounts  bool            `json:"otherMountNamespace"`
	User         string          `json:"user"`
	UID          uint32          `json:"uid"`
	Kind         string          `json:"kind"`
	Version      string          `json:"jdk,omitempty"`
	Name         string          `json:"vm,omitempty"`
	Vendor       string          `json:"vendor,omitempty"`
	Main         string          `json:"main,omitempty"`
	Started      time.Time       `json:"started"`
	Uptime       float64         `json:"uptimeSeconds"`
	Heap         *Heap           `json:"heap,omitempty"`
	Attach       process.Verdict `json:"attach"`
	Agents       process.Verdict `json:"agents"`
	Inside       string          `json:"inside"` // yes, pack, standby, no, unknown
}

// Heap is the size of a heap in bytes.
type Heap struct {
	Used int64 `json:"used,omitempty"`
	Max  int64 `json:"max,omitempty"`
}

// NewJVM describes a JVM.
func NewJVM(j *process.JVM) JVM {
	d := JVM{
		PID: j.PID, NamespacePID: j.NamespacePID, OtherPIDs: j.OtherPIDs, OtherMounts: j.OtherMounts,
		User: j.User, UID: j.UID, Kind: string(j.Kind), Version: j.Version, Name: j.Name, Vendor: j.Vendor,
		Main: j.Main, Started: j.Started.Round(time.Millisecond), Uptime: j.Uptime().Seconds(),
		Attach: j.Attach, Agents: j.Agents, Inside: string(j.Inside),
	}
	if j.HeapUsed > 0 || j.HeapMax > 0 {
		d.Heap = &Heap{j.HeapUsed, j.HeapMax}
	}
	return d
}

// Doctor is written by `sonde doctor --json`.
type Doctor struct {
	PID      int              `json:"pid"`
	JDK      string           `json:"jdk,omitempty"`
	Main     string           `json:"main,omitempty"`
	Worst    doctor.Severity  `json:"worst"`
	Findings []doctor.Finding `json:"findings"`
	Plan     *HookPlan        `json:"plan,omitempty"`
	Problem  string           `json:"problem,omitempty"` // why there is no plan, although one was asked for
	Notes    []string         `json:"notes,omitempty"`
}

// HookPlan is what sonde count would put hooks into.
type HookPlan struct {
	Loaded    int                 `json:"classesLoaded"`
	Matched   int                 `json:"classesMatched"`
	Unmatched []string            `json:"unmatchedPatterns,omitempty"`
	Similar   map[string][]string `json:"similarClasses,omitempty"` // loaded classes, by unmatched pattern
	Loaders   []HookPlanLoader    `json:"loaders"`
	session.Weavings
	HasCache bool `json:"hasCache"`
}

// HookPlanLoader is the plan for the classes of one class loader.
type HookPlanLoader struct {
	Loader    string `json:"loader"` // boot, or a number
	Example   string `json:"example"`
	Classes   int    `json:"classes"`
	Methods   int    `json:"methods"`
	Fileless  int    `json:"classesWithoutFile"`
	LeftAlone []Left `json:"leftAlone,omitempty"`
}

// NewHookPlan describes a plan.
func NewHookPlan(plan *session.Preview, woven session.Weavings, hasCache bool) *HookPlan {
	d := &HookPlan{
		Loaded: plan.Loaded, Matched: plan.Matched, Similar: make(map[string][]string), Loaders: []HookPlanLoader{}, Weavings: woven, HasCache: hasCache,
	}
	for _, lost := range plan.Unmatched {
		d.Unmatched = append(d.Unmatched, lost.Pattern)
		if len(lost.Near) > 0 {
			d.Similar[lost.Pattern] = lost.Near
		}
	}
	for _, l := range plan.Loaders {
		d.Loaders = append(d.Loaders, HookPlanLoader{
			Loader: LoaderName(l.Number), Example: l.Example, Classes: l.Classes, Methods: l.Methods, Fileless: l.Fileless,
			LeftAlone: NewLeft(l.Left),
		})
	}
	return d
}

// Undone is written by `sonde undo --json`.
type Undone struct {
	PID        int       `json:"pid"`
	Removed    []Removal `json:"removed"`
	Recordings []string  `json:"recordingsStopped,omitempty"` // that a killed Sonde had left running
	Files      []string  `json:"filesRemoved,omitempty"`      // of processes that have ended
	Problems   []string  `json:"problems,omitempty"`
}

// Removal is a Sonde, or a pack, whose hooks were removed from a JVM. Command and Pack are empty if
// its agent was already leaving.
type Removal struct {
	Command string  `json:"command,omitempty"`
	Process int     `json:"process,omitempty"`
	Pack    string  `json:"pack,omitempty"`
	Methods *int    `json:"methods,omitempty"` // that had hooks; nil if unknown
	Arena   string  `json:"arena"`
	Millis  float64 `json:"millis"`
}

// Attached is written by `sonde attach --json`, at the end.
type Attached struct {
	PID     int       `json:"pid"`
	JDK     string    `json:"jdk"`
	Main    string    `json:"main"`
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Ended   string    `json:"ended"` // why
}
