package record

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// WriteClimb writes a climb, and a line break behind it.
func WriteClimb(w io.Writer, c *climb.Climb) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(describeClimb(c)); err != nil {
		return fmt.Errorf("climb as JSON: %w", err)
	}
	return nil
}

// EncodeClimb is a climb as JSON.
func EncodeClimb(c *climb.Climb) ([]byte, error) {
	encoded, err := json.Marshal(describeClimb(c))
	if err != nil {
		return nil, fmt.Errorf("climb as JSON: %w", err)
	}
	return encoded, nil
}

func describeClimb(c *climb.Climb) *climbDocument {
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
func callerRows(callers []*climb.Caller) []callerRow {
	rows := []callerRow{}
	var add func(callers []*climb.Caller, below int)
	add = func(callers []*climb.Caller, below int) {
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

func ofMeasured(m *climb.Measured) *measured {
	if m == nil {
		return nil
	}
	return &measured{
		m.Calls, m.Timed, int64(m.Over), int64(m.Total), int64(m.Mean), int64(m.P50), int64(m.P90), int64(m.P99), int64(m.Max),
	}
}
