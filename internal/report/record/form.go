package record

import (
	"math"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

const (
	formatName    = "sonde-profile"
	formatVersion = 1
)

// document is a profile as it is written.
type document struct {
	Format      string      `json:"format"`
	Version     int         `json:"version"`
	Target      target      `json:"target,omitzero"`
	Roots       []string    `json:"roots,omitempty"`
	Began       time.Time   `json:"began,omitzero"`
	Took        int64       `json:"tookNanos,omitempty"`
	Scheme      string      `json:"scheme,omitempty"`
	Why         string      `json:"why,omitempty"`
	Timing      cct.Timing  `json:"timing,omitempty"`
	Period      uint32      `json:"period,omitempty"`
	Methods     []method    `json:"methods"`
	Merged      []node      `json:"merged"`
	Threads     []thread    `json:"threads"`
	Calibration calibration `json:"calibration,omitzero"`
	Cost        cost        `json:"cost,omitzero"`
	LeftAlone   []leftAlone `json:"leftAlone,omitempty"`
	Quiet       []quiet     `json:"quiet,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
}

type target struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	JDK     string `json:"jdk,omitempty"`
}

type method struct {
	Class      string `json:"class,omitempty"`
	Name       string `json:"name"`
	Descriptor string `json:"descriptor,omitempty"`
	Native     bool   `json:"native,omitempty"`
	LowerBound bool   `json:"lowerBound,omitempty"` // calls may be missing: HotSpot may replace it by an intrinsic
}

type thread struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	Virtual bool   `json:"virtual,omitempty"`
	Nodes   []node `json:"nodes"`
}

type node struct {
	Parent  int     `json:"parent"`
	Method  int     `json:"method"`
	Calls   uint64  `json:"calls"`
	Threw   uint64  `json:"threw,omitempty"`
	Timed   uint64  `json:"timed,omitempty"`
	Self    triple  `json:"self,omitzero"`
	Spread  float64 `json:"spreadNanos,omitempty"`
	Total   triple  `json:"total,omitzero"`
	Raw     int64   `json:"rawNanos,omitempty"`
	Max     int64   `json:"maxNanos,omitempty"`
	Running uint64  `json:"running,omitempty"`
	Missed  uint64  `json:"missed,omitempty"`
	Late    bool    `json:"late,omitempty"`
	Lost    int64   `json:"lostNanos,omitempty"`
}

type calibration struct {
	Inner   triple  `json:"inner,omitzero"`
	Outer   triple  `json:"outer,omitzero"`
	Drawn   triple  `json:"drawn,omitzero"`
	Count   triple  `json:"count,omitzero"`
	Overlap float64 `json:"overlap"`
	Times   int     `json:"times"`
}

type cost struct {
	Hooks   int     `json:"hooks"`
	Classes int     `json:"classes"`
	Closure int     `json:"closure"`
	Rounds  int     `json:"rounds"`
	Pause   int64   `json:"pauseNanos"`
	Compile int64   `json:"compileNanos"`
	Waited  int64   `json:"waitedNanos"`
	Steady  float64 `json:"steady"`
	Budget  float64 `json:"budget,omitempty"`
	Woven   int     `json:"classesWoven"`
	Cached  int     `json:"classesFromCache"`
}

type leftAlone struct {
	Class  string `json:"class"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

type quiet struct {
	Method int    `json:"method"`
	On     int64  `json:"onNanos,omitempty"`
	Reason string `json:"reason"`
}

// A triple is a figure and its bounds. JSON has no infinity: null is none. One
// without any is zero, and left out.
type triple [3]*float64

func (t triple) values() (v [3]float64) {
	if t == (triple{}) {
		return v
	}
	for i, n := range t {
		v[i] = math.Inf(1)
		if n != nil {
			v[i] = *n
		}
	}
	return v
}

func (t triple) time() cct.Time {
	v := t.values()
	return cct.Time{Nanos: v[0], Low: v[1], High: v[2]}
}

func (t triple) span() cct.Span {
	v := t.values()
	return cct.Span{Median: v[0], Low: v[1], High: v[2]}
}

func ofTime(t cct.Time) triple { return ofValues([3]float64{t.Nanos, t.Low, t.High}) }
func ofSpan(s cct.Span) triple { return ofValues([3]float64{s.Median, s.Low, s.High}) }

func ofValues(v [3]float64) (t triple) {
	if v == ([3]float64{}) {
		return t
	}
	for i := range v {
		if !math.IsInf(v[i], 0) && !math.IsNaN(v[i]) {
			t[i] = &v[i]
		}
	}
	return t
}
