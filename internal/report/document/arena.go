package document

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Report is written by `sonde report --json`.
type Report struct {
	Arena        string             `json:"arena"`
	PID          int                `json:"pid"`   // in this PID namespace; that of the JVM if it has exited
	State        string             `json:"state"` // measuring, out, ended
	Main         string             `json:"main,omitempty"`
	Since        time.Time          `json:"since"`
	Command      string             `json:"command,omitempty"`
	Pack         string             `json:"pack,omitempty"`
	Title        string             `json:"title,omitempty"`
	Classes      *Account           `json:"classes,omitempty"`
	Calls        uint64             `json:"calls"`
	Threads      int                `json:"threads"`
	UnderWay     uint64             `json:"underWay"` // calls that have begun and not ended
	Untimed      uint64             `json:"callsWithoutTime"`
	Dropped      uint64             `json:"callsNotCounted"`
	ContextsLost uint64             `json:"contextsLost"`
	Ambiguous    uint64             `json:"ambiguousTasks"`
	ArenaUsed    int64              `json:"arenaUsed"`
	ArenaRoom    int64              `json:"arenaRoom"`
	Probes       []ReportProbe      `json:"probes,omitempty"`
	Methods      []ReportMethod     `json:"methods"`
	Records      []results.Recorded `json:"records,omitempty"`   // by templates of the user
	LeftAlone    []Left             `json:"leftAlone,omitempty"` // when the pack was made
	Remarks      []string           `json:"remarks,omitempty"`
}

// ReportProbe is a probe with its measurements.
type ReportProbe struct {
	Probe   string `json:"probe"`
	Methods int    `json:"methods"`
	Times
	Label
}

// NewReportProbe describes the row of a probe.
func NewReportProbe(r *results.Row) ReportProbe {
	return ReportProbe{r.Probe, r.Methods, newTimes(r), NewLabel(r.Within, r.Label)}
}

// ReportMethod is a method with its measurements.
type ReportMethod struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Probe      string `json:"probe,omitempty"`
	Times
	Label
}

// NewReportMethod describes the row of a method.
func NewReportMethod(r *results.Row) ReportMethod {
	return ReportMethod{r.Class, r.Name, r.Descriptor, r.Probe, newTimes(r), NewLabel(r.Within, r.Label)}
}

// Times are the measurements of calls. Times are present only if calls were timed, and are
// those of the timed calls: nothing is estimated.
type Times struct {
	Calls uint64 `json:"calls"`
	Bound
	Exceptions uint64   `json:"exceptions"`
	Running    uint64   `json:"running"`
	Timing     string   `json:"timing"` // exact, sampled, none
	Timed      uint64   `json:"timed"`
	Undecided  uint64   `json:"undecided,omitempty"`
	TotalNanos *uint64  `json:"totalNanos,omitempty"`
	SelfNanos  *int64   `json:"selfNanos,omitempty"`
	MeanNanos  *float64 `json:"meanNanos,omitempty"`
	P99Nanos   *float64 `json:"p99Nanos,omitempty"`
	MaxNanos   *uint64  `json:"maxNanos,omitempty"`
}

func newTimes(r *results.Row) Times {
	d := Times{Calls: r.Calls, Exceptions: r.Threw, Running: r.Active, Timing: string(r.Timing), Timed: r.Timed, Undecided: r.Undecided, Bound: NewBound(r.LowerBound)}
	if r.Timed > 0 {
		mean := r.Mean()
		d.TotalNanos, d.MeanNanos, d.MaxNanos = &r.Nanos, &mean, &r.Max
	}
	if r.Timed > 0 && r.Timing == results.Exact {
		d.SelfNanos = &r.Self
	}
	if tail := r.P99(); tail >= 0 {
		d.P99Nanos = &tail
	}
	return d
}

// Account counts the classes of a pack by what happened to them.
type Account struct {
	Woven    uint32     `json:"woven"`
	Differs  uint32     `json:"differs"`
	Blind    uint32     `json:"blind"`
	Failed   uint32     `json:"failed"`
	NotWoven []NotWoven `json:"notWoven,omitempty"` // as many as the arena has room for
}

// Unnamed returns the number of classes that are not woven and not listed.
func (a *Account) Unnamed() int {
	return max(0, int(a.Differs)+int(a.Blind)+int(a.Failed)-len(a.NotWoven))
}

// NotWoven is a class of a pack that was loaded without hooks.
type NotWoven struct {
	Class string `json:"class"`
	Why   string `json:"why"` // differs, blind, failed
}

// NewAccount describes an account.
func NewAccount(a *arena.Account) *Account {
	d := &Account{Woven: a.Woven, Differs: a.Differs, Blind: a.Blind, Failed: a.Failed}
	for _, left := range a.Left {
		d.NotWoven = append(d.NotWoven, NotWoven{strings.ReplaceAll(left.Class, "/", "."), string(left.Why)})
	}
	return d
}

// Status is written by `sonde status --json`.
type Status struct {
	PID       int        `json:"pid"`
	Version   string     `json:"jdk,omitempty"`
	Main      string     `json:"main,omitempty"`
	Inside    bool       `json:"inside"`
	Standby   bool       `json:"standby"`
	Stopped   bool       `json:"stopped,omitempty"` // by a signal or a debugger
	Occupants []Occupant `json:"occupants"`
	// PackProblem is why the JVM runs without the pack that it was started with.
	PackProblem string   `json:"packProblem,omitempty"`
	Problems    []string `json:"problems,omitempty"` // what could not be read
}

// Occupant is a Sonde, or a pack, that has hooks in the JVM.
type Occupant struct {
	Command   string    `json:"command"`
	Process   int       `json:"process"`
	Alive     string    `json:"alive"` // yes, no, unknown
	Since     time.Time `json:"since"`
	Timing    string    `json:"timing"`
	Calls     uint64    `json:"calls"`
	Threads   int       `json:"threads"`
	Untimed   uint64    `json:"callsWithoutTime"`
	Dropped   uint64    `json:"callsNotCounted"`
	HookNanos float64   `json:"hookNanosPerCall,omitempty"`
	HookTotal float64   `json:"hookNanos,omitempty"`
	Pause     int64     `json:"pauseNanos"`
	Compile   int64     `json:"compileNanos"`
	ArenaUsed int64     `json:"arenaUsed"`
	ArenaRoom int64     `json:"arenaRoom"`
	Methods   []Method  `json:"methods"`
	Arena     string    `json:"arena"`
	Pack      string    `json:"pack,omitempty"` // then Process is 0
	Classes   *Account  `json:"classes,omitempty"`
}
