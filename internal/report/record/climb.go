package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
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

func (i interval) share() rootcause.Share { return rootcause.Share{Part: i[0], Low: i[1], High: i[2]} }

func ofShare(s rootcause.Share) interval { return interval{s.Part, s.Low, s.High} }

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
	Below  int             `json:"below"`
	Method int             `json:"method"`
	Share  interval        `json:"share"`
	By     rootcause.Basis `json:"by,omitempty"`
	Calls  uint64          `json:"calls,omitempty"`
	Own    *measured       `json:"own,omitempty"`
	State  rootcause.State `json:"state,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Top    bool            `json:"top,omitempty"`
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
	Method  int             `json:"method"`
	State   rootcause.State `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	Hits    uint64          `json:"hits,omitempty"`
	Callers []int           `json:"callers,omitempty"`
	Callees []int           `json:"callees,omitempty"`
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

// WriteClimb writes a climb, and a line break behind it.
func WriteClimb(w io.Writer, c *rootcause.Climb) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(describeClimb(c)); err != nil {
		return fmt.Errorf("climb as JSON: %w", err)
	}
	return nil
}

// EncodeClimb is a climb as JSON.
func EncodeClimb(c *rootcause.Climb) ([]byte, error) {
	encoded, err := json.Marshal(describeClimb(c))
	if err != nil {
		return nil, fmt.Errorf("climb as JSON: %w", err)
	}
	return encoded, nil
}

func describeClimb(c *rootcause.Climb) *climbDocument {
	d := &climbDocument{
		Format: climbFormatName, Version: climbFormatVersion, Target: target(c.Target), Began: c.Began, Took: int64(c.Took),
		Sampled: sampled{c.Sampled.By, c.Sampled.Biased, c.Sampled.Samples, int64(c.Sampled.Over)},
		Methods: []method{}, Spots: []spot{}, List: []entry{}, Hooks: []live{}, Batches: []batch{},
		Cost: climbCost{
			c.Cost.Hooked, c.Cost.MostLive, c.Cost.LiveLimit, c.Cost.Executed, c.Cost.Steady, c.Cost.Budget,
			int64(c.Cost.Pause), int64(c.Cost.Compile), c.Cost.Redefined, c.Cost.Woven, c.Cost.Cached,
		},
		Notes: c.Notes,
	}
	for _, m := range c.Methods {
		d.Methods = append(d.Methods, method(m))
	}
	for i := range c.Spots {
		s := &c.Spots[i]
		d.Spots = append(d.Spots, spot{
			Method: s.Method, Share: ofShare(s.Share), Kind: s.Kind, Line: s.Line, From: int64(s.From), Until: int64(s.Until),
			Above: s.Above, Own: ofMeasured(s.Own), Callers: callerRows(s.Callers),
		})
	}
	for _, e := range c.List {
		d.List = append(d.List, entry(e))
	}
	for _, h := range c.Hooks {
		d.Hooks = append(d.Hooks, live{h.Method, h.Spot, h.Level, int64(h.From), int64(h.Until), h.Calls, h.Drawn})
	}
	for _, b := range c.Batches {
		d.Batches = append(d.Batches, batch{int64(b.At), b.Why, b.In, b.Classes, int64(b.Pause), int64(b.Compile)})
	}
	return d
}

// callerRows is a tree of callers as a list, each behind what it calls.
func callerRows(callers []*rootcause.Caller) []callerRow {
	rows := []callerRow{}
	var add func(callers []*rootcause.Caller, below int)
	add = func(callers []*rootcause.Caller, below int) {
		for _, c := range callers {
			rows = append(rows, callerRow{
				Below: below, Method: c.Method, Share: ofShare(c.Share), By: c.By, Calls: c.Calls,
				Own: ofMeasured(c.Own), State: c.State, Reason: c.Reason, Top: c.Top,
			})
			add(c.Above, len(rows)-1)
		}
	}
	add(callers, -1)
	return rows
}

func ofMeasured(m *rootcause.Measured) *measured {
	if m == nil {
		return nil
	}
	return &measured{
		m.Calls, m.Timed, int64(m.Over), int64(m.Total), int64(m.Mean), int64(m.P50), int64(m.P90), int64(m.P99), int64(m.Max),
	}
}

// ErrNotClimb is what JSON that is no climb is refused with.
var ErrNotClimb = errors.New("this JSON is no climb of sonde")

// ReadClimb reads what WriteClimb wrote. Every index in it is checked.
func ReadClimb(r io.Reader) (*rootcause.Climb, error) {
	var d climbDocument
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotClimb, err)
	}
	if d.Format != climbFormatName {
		return nil, ErrNotClimb
	}
	if d.Version != climbFormatVersion {
		return nil, &VersionError{What: "climb", Version: d.Version, Known: climbFormatVersion}
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return d.climb()
}

// check finds methods and hot spots that are none.
func (d *climbDocument) check() error {
	method := func(index int, of string) error {
		if index < 0 || index >= len(d.Methods) {
			return fmt.Errorf("%w: %s has method %d, of %d", ErrNotClimb, of, index, len(d.Methods))
		}
		return nil
	}
	for i, s := range d.Spots {
		if err := method(s.Method, fmt.Sprintf("hot spot %d", i)); err != nil {
			return err
		}
		for n, c := range s.Callers {
			if err := method(c.Method, fmt.Sprintf("caller %d of hot spot %d", n, i)); err != nil {
				return err
			}
		}
	}
	for i, e := range d.List {
		for _, list := range [][]int{{e.Method}, e.Callers, e.Callees} {
			for _, index := range list {
				if err := method(index, fmt.Sprintf("line %d of the caller list", i)); err != nil {
					return err
				}
			}
		}
	}
	for i, h := range d.Hooks {
		if err := method(h.Method, fmt.Sprintf("hook %d", i)); err != nil {
			return err
		}
		if h.Spot < 0 || h.Spot >= len(d.Spots) {
			return fmt.Errorf("%w: hook %d is for hot spot %d, of %d", ErrNotClimb, i, h.Spot, len(d.Spots))
		}
	}
	return nil
}

func (d *climbDocument) climb() (*rootcause.Climb, error) {
	k := &d.Cost
	c := &rootcause.Climb{
		Target: rootcause.Target(d.Target), Began: d.Began, Took: time.Duration(d.Took),
		Sampled: rootcause.Sampled{By: d.Sampled.By, Biased: d.Sampled.Biased, Samples: d.Sampled.Samples, Over: time.Duration(d.Sampled.Over)},
		Cost: rootcause.Cost{
			Hooked: k.Hooked, MostLive: k.MostLive, LiveLimit: k.LiveLimit, Executed: k.Executed, Steady: k.Steady, Budget: k.Budget,
			Pause: time.Duration(k.Pause), Compile: time.Duration(k.Compile), Redefined: k.Redefined,
			Woven: k.Woven, Cached: k.Cached,
		},
		Notes: d.Notes,
	}
	for _, m := range d.Methods {
		c.Methods = append(c.Methods, rootcause.Method(m))
	}
	for i, s := range d.Spots {
		callers, err := callerTree(s.Callers)
		if err != nil {
			return nil, fmt.Errorf("hot spot %d: %w", i, err)
		}
		c.Spots = append(c.Spots, rootcause.Spot{
			Method: s.Method, Share: s.Share.share(), Kind: s.Kind, Line: s.Line, From: time.Duration(s.From), Until: time.Duration(s.Until),
			Above: s.Above, Own: s.Own.measured(), Callers: callers,
		})
	}
	for _, e := range d.List {
		c.List = append(c.List, rootcause.Entry(e))
	}
	for _, h := range d.Hooks {
		c.Hooks = append(c.Hooks, rootcause.Live{
			Method: h.Method, Spot: h.Spot, Level: h.Level, From: time.Duration(h.From), Until: time.Duration(h.Until), Calls: h.Calls, Drawn: h.Drawn,
		})
	}
	for _, b := range d.Batches {
		c.Batches = append(c.Batches, rootcause.Batch{
			At: time.Duration(b.At), Why: b.Why, In: b.In, Classes: b.Classes, Pause: time.Duration(b.Pause), Compile: time.Duration(b.Compile),
		})
	}
	return c, nil
}

// callerTree links a list of callers.
func callerTree(rows []callerRow) (direct []*rootcause.Caller, err error) {
	callers := make([]*rootcause.Caller, len(rows))
	for i, r := range rows {
		if r.Below < -1 || r.Below >= i {
			return nil, fmt.Errorf("%w: caller %d stands above %d", ErrNotClimb, i, r.Below)
		}
		callers[i] = &rootcause.Caller{
			Method: r.Method, Share: r.Share.share(), By: r.By, Calls: r.Calls, Own: r.Own.measured(), State: r.State, Reason: r.Reason, Top: r.Top,
		}
		if r.Below < 0 {
			direct = append(direct, callers[i])
		} else {
			below := callers[r.Below]
			below.Above = append(below.Above, callers[i])
		}
	}
	return direct, nil
}

func (m *measured) measured() *rootcause.Measured {
	if m == nil {
		return nil
	}
	return &rootcause.Measured{
		Calls: m.Calls, Timed: m.Timed, Over: time.Duration(m.Over), Total: time.Duration(m.Total), Mean: time.Duration(m.Mean),
		P50: time.Duration(m.P50), P90: time.Duration(m.P90), P99: time.Duration(m.P99), Max: time.Duration(m.Max),
	}
}
