package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// ErrNotClimb is what JSON that is no climb is refused with.
var ErrNotClimb = errors.New("this JSON is no climb of sonde")

// ReadClimb reads what WriteClimb wrote. Every index in it is checked.
func ReadClimb(r io.Reader) (*climb.Climb, error) {
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

func (d *climbDocument) climb() (*climb.Climb, error) {
	k := &d.Cost
	c := &climb.Climb{
		Target: climb.Target(d.Target), Began: d.Began, Took: time.Duration(d.Took),
		Sampled: climb.Sampled{By: d.Sampled.By, Biased: d.Sampled.Biased, Samples: d.Sampled.Samples, Over: time.Duration(d.Sampled.Over)},
		Cost: climb.Cost{
			Hooked: k.Hooked, MostLive: k.MostLive, LiveLimit: k.LiveLimit, Executed: k.Executed, Steady: k.Steady, Budget: k.Budget,
			Pause: time.Duration(k.Pause), Compile: time.Duration(k.Compile), Redefined: k.Redefined,
			Woven: k.Woven, Cached: k.Cached,
		},
		Notes: d.Notes,
	}
	for _, m := range d.Methods {
		c.Methods = append(c.Methods, climb.Method(m))
	}
	for i, s := range d.Spots {
		callers, err := callerTree(s.Callers)
		if err != nil {
			return nil, fmt.Errorf("hot spot %d: %w", i, err)
		}
		c.Spots = append(c.Spots, climb.Spot{
			Method: s.Method, Share: s.Share.share(), Kind: s.Kind, Line: s.Line, From: time.Duration(s.From), Until: time.Duration(s.Until),
			Above: s.Above, Own: s.Own.measured(), Callers: callers,
		})
	}
	for _, e := range d.List {
		c.List = append(c.List, climb.Entry(e))
	}
	for _, h := range d.Hooks {
		c.Hooks = append(c.Hooks, climb.Live{
			Method: h.Method, Spot: h.Spot, Level: h.Level, From: time.Duration(h.From), Until: time.Duration(h.Until), Calls: h.Calls, Drawn: h.Drawn,
		})
	}
	for _, b := range d.Batches {
		c.Batches = append(c.Batches, climb.Batch{
			At: time.Duration(b.At), Why: b.Why, In: b.In, Classes: b.Classes, Pause: time.Duration(b.Pause), Compile: time.Duration(b.Compile),
		})
	}
	return c, nil
}

// callerTree links a list of callers.
func callerTree(rows []callerRow) (direct []*climb.Caller, err error) {
	callers := make([]*climb.Caller, len(rows))
	for i, r := range rows {
		if r.Below < -1 || r.Below >= i {
			return nil, fmt.Errorf("%w: caller %d stands above %d", ErrNotClimb, i, r.Below)
		}
		callers[i] = &climb.Caller{
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

func (m *measured) measured() *climb.Measured {
	if m == nil {
		return nil
	}
	return &climb.Measured{
		Calls: m.Calls, Timed: m.Timed, Over: time.Duration(m.Over), Total: time.Duration(m.Total), Mean: time.Duration(m.Mean),
		P50: time.Duration(m.P50), P90: time.Duration(m.P90), P99: time.Duration(m.P99), Max: time.Duration(m.Max),
	}
}
