package record

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

const (
	climbFormatName    = "sonde-climb"
	climbFormatVersion = 1
)

// climbDocument is a climb as it is written.
type climbDocument struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Target  target    `json:"target,omitzero"`
	Began   time.Time `json:"began,omitzero"`
	Took    int64     `json:"tookNanos,omitempty"`
	Sampled sampled   `json:"sampled,omitzero"`
	Methods []method  `json:"methods"`
	Spots   []spot    `json:"spots"`
	List    []entry   `json:"callerList"`
	Hooks   []live    `json:"hooks"`
	Batches []batch   `json:"batches"`
	Cost    climbCost `json:"cost,omitzero"`
	Notes   []string  `json:"notes,omitempty"`
}

type sampled struct {
	By      string `json:"by,omitempty"`
	Biased  bool   `json:"biased,omitempty"`
	Samples int    `json:"samples"`
	Over    int64  `json:"overNanos"`
}

// An interval is a part of a whole with its bounds.
type interval [3]float64

func (i interval) share() climb.Share { return climb.Share{Part: i[0], Low: i[1], High: i[2]} }

func ofShare(s climb.Share) interval { return interval{s.Part, s.Low, s.High} }

type spot struct {
	Method  int         `json:"method"`
	Share   interval    `json:"share"`
	Kind    string      `json:"kind,omitempty"`
	Line    int         `json:"line,omitempty"`
	From    int64       `json:"fromNanos"`
	Until   int64       `json:"untilNanos,omitempty"`
	Above   string      `json:"above,omitempty"`
	Own     *measured   `json:"own,omitempty"`
	Callers []callerRow `json:"callers"`
}

// A callerRow is a caller in the list of a hot spot's: what is below comes before.
type callerRow struct {
	Below  int         `json:"below"`
	Method int         `json:"method"`
	Share  interval    `json:"share"`
	By     climb.Basis `json:"by,omitempty"`
	Calls  uint64      `json:"calls,omitempty"`
	Own    *measured   `json:"own,omitempty"`
	State  climb.State `json:"state,omitempty"`
	Reason string      `json:"reason,omitempty"`
	Top    bool        `json:"top,omitempty"`
}

type measured struct {
	Calls uint64 `json:"calls"`
	Timed uint64 `json:"timed"`
	Over  int64  `json:"overNanos"`
	Total int64  `json:"totalNanos"`
	Mean  int64  `json:"meanNanos"`
	P50   int64  `json:"p50Nanos"`
	P90   int64  `json:"p90Nanos"`
	P99   int64  `json:"p99Nanos"`
	Max   int64  `json:"maxNanos"`
}

type entry struct {
	Method  int         `json:"method"`
	State   climb.State `json:"state"`
	Reason  string      `json:"reason,omitempty"`
	Hits    uint64      `json:"hits,omitempty"`
	Callers []int       `json:"callers,omitempty"`
	Callees []int       `json:"callees,omitempty"`
}

type live struct {
	Method int    `json:"method"`
	Spot   int    `json:"spot"`
	Level  int    `json:"level"`
	From   int64  `json:"fromNanos"`
	Until  int64  `json:"untilNanos,omitempty"`
	Calls  uint64 `json:"calls"`
	Drawn  uint64 `json:"drawn"`
}

type batch struct {
	At      int64  `json:"atNanos"`
	Why     string `json:"why,omitempty"`
	In      bool   `json:"in"`
	Classes int    `json:"classes"`
	Pause   int64  `json:"pauseNanos"`
	Compile int64  `json:"compileNanos"`
}

type climbCost struct {
	Hooked    int     `json:"hooked"`
	MostLive  int     `json:"mostLive"`
	LiveLimit int     `json:"liveLimit"`
	Executed  uint64  `json:"executed"`
	Steady    float64 `json:"steady"`
	Budget    float64 `json:"budget"`
	Pause     int64   `json:"pauseNanos"`
	Compile   int64   `json:"compileNanos"`
	Redefined int     `json:"redefined"`
	Woven     int     `json:"classesWoven"`
	Cached    int     `json:"classesFromCache"`
}
