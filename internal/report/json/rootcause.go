package json

import (
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// The types below repeat those of package climb with the names that the fields have in
// JSON.

type rootCause struct {
	Format  string        `json:"format"`
	Version int           `json:"version"`
	Target  target        `json:"target,omitzero"`
	Began   time.Time     `json:"began,omitzero"`
	Took    time.Duration `json:"tookNanos,omitempty"`
	Sampled sampled       `json:"sampled,omitzero"`
	Methods []method      `json:"methods"`
	Spots   []hotSpot     `json:"spots"`
	List    []entry       `json:"callerList"`
	Hooks   []live        `json:"hooks"`
	Batches []batch       `json:"batches"`
	Cost    searchCost    `json:"cost,omitzero"`
	Notes   []string      `json:"notes,omitempty"`
}

type sampled struct {
	By      string        `json:"by,omitempty"`
	Biased  bool          `json:"biased,omitempty"`
	Samples int           `json:"samples"`
	Over    time.Duration `json:"overNanos"`
}

type hotSpot struct {
	Method  int           `json:"method"`
	Share   [3]float64    `json:"share"` // part, low, high
	Kind    string        `json:"kind,omitempty"`
	Line    int           `json:"line,omitempty"`
	From    time.Duration `json:"fromNanos"`
	Until   time.Duration `json:"untilNanos,omitempty"`
	Above   string        `json:"above,omitempty"`
	Own     *measured     `json:"own,omitempty"`
	Callers []caller      `json:"callers"`
}

// A caller is listed after the method that it calls. Below is that method's index in the
// list, or -1 for the hot spot.
type caller struct {
	Below  int             `json:"below"`
	Method int             `json:"method"`
	Share  [3]float64      `json:"share"`
	By     rootcause.Basis `json:"by,omitempty"`
	Calls  uint64          `json:"calls,omitempty"`
	Own    *measured       `json:"own,omitempty"`
	State  rootcause.State `json:"state,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Top    bool            `json:"top,omitempty"`
}

type measured struct {
	Calls uint64        `json:"calls"`
	Timed uint64        `json:"timed"`
	Over  time.Duration `json:"overNanos"`
	Total time.Duration `json:"totalNanos"`
	Mean  time.Duration `json:"meanNanos"`
	P50   time.Duration `json:"p50Nanos"`
	P90   time.Duration `json:"p90Nanos"`
	P99   time.Duration `json:"p99Nanos"`
	Max   time.Duration `json:"maxNanos"`
}

type entry struct {
	Method  int             `json:"method"`
	State   rootcause.State `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	Hits    uint64          `json:"hits,omitempty"`
	Callers []int           `json:"callers,omitempty"`
	Callees []int           `json:"callees,omitempty"`
}

type live struct {
	Method int           `json:"method"`
	Spot   int           `json:"spot"`
	Level  int           `json:"level"`
	From   time.Duration `json:"fromNanos"`
	Until  time.Duration `json:"untilNanos,omitempty"`
	Calls  uint64        `json:"calls"`
	Drawn  uint64        `json:"drawn"`
}

type batch struct {
	At      time.Duration `json:"atNanos"`
	Why     string        `json:"why,omitempty"`
	In      bool          `json:"in"`
	Classes int           `json:"classes"`
	Pause   time.Duration `json:"pauseNanos"`
	Compile time.Duration `json:"compileNanos"`
}

type searchCost struct {
	Hooked    int           `json:"hooked"`
	MostLive  int           `json:"mostLive"`
	LiveLimit int           `json:"liveLimit"`
	Executed  uint64        `json:"executed"`
	Steady    float64       `json:"steady"`
	Budget    float64       `json:"budget"`
	Pause     time.Duration `json:"pauseNanos"`
	Compile   time.Duration `json:"compileNanos"`
	Redefined int           `json:"redefined"`
	Woven     int           `json:"classesWoven"`
	Cached    int           `json:"classesFromCache"`
}

// WriteRootCause writes the result of a root-cause search and a line break.
func WriteRootCause(w io.Writer, c *rootcause.Climb) error {
	return write(w, "root cause", newRootCause(c))
}

// EncodeRootCause returns the result of a root-cause search as JSON.
func EncodeRootCause(c *rootcause.Climb) ([]byte, error) {
	return encode("root cause", newRootCause(c))
}

func newRootCause(c *rootcause.Climb) *rootCause {
	d := &rootCause{
		Format: "sonde-climb", Version: 1, Target: target(c.Target), Began: c.Began, Took: c.Took, Sampled: sampled(c.Sampled),
		Methods: []method{}, Spots: []hotSpot{}, List: []entry{}, Hooks: []live{}, Batches: []batch{},
		Cost: searchCost(c.Cost), Notes: c.Notes,
	}
	for _, m := range c.Methods {
		d.Methods = append(d.Methods, method(m))
	}
	for i := range c.Spots {
		s := &c.Spots[i]
		d.Spots = append(d.Spots, hotSpot{
			Method: s.Method, Share: shareBounds(s.Share), Kind: s.Kind, Line: s.Line, From: s.From, Until: s.Until,
			Above: s.Above, Own: (*measured)(s.Own), Callers: callerList(s.Callers),
		})
	}
	for _, e := range c.List {
		d.List = append(d.List, entry(e))
	}
	for _, h := range c.Hooks {
		d.Hooks = append(d.Hooks, live(h))
	}
	for _, b := range c.Batches {
		d.Batches = append(d.Batches, batch(b))
	}
	return d
}

func shareBounds(s rootcause.Share) [3]float64 { return [3]float64{s.Part, s.Low, s.High} }

// callerList returns a tree of callers as a list, each after the method that it calls.
func callerList(callers []*rootcause.Caller) []caller {
	list := []caller{}
	var add func(callers []*rootcause.Caller, below int)
	add = func(callers []*rootcause.Caller, below int) {
		for _, c := range callers {
			list = append(list, caller{
				Below: below, Method: c.Method, Share: shareBounds(c.Share), By: c.By, Calls: c.Calls,
				Own: (*measured)(c.Own), State: c.State, Reason: c.Reason, Top: c.Top,
			})
			add(c.Above, len(list)-1)
		}
	}
	add(callers, -1)
	return list
}
