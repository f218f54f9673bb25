package record

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// Write writes a profile, and a line break behind it.
func Write(w io.Writer, p *cct.Profile) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(describe(p)); err != nil {
		return fmt.Errorf("profile as JSON: %w", err)
	}
	return nil
}

// Encode is a profile as JSON.
func Encode(p *cct.Profile) ([]byte, error) {
	encoded, err := json.Marshal(describe(p))
	if err != nil {
		return nil, fmt.Errorf("profile as JSON: %w", err)
	}
	return encoded, nil
}

func describe(p *cct.Profile) *document {
	c, k := &p.Cost, &p.Calibration
	d := &document{
		Format: formatName, Version: formatVersion, Target: target(p.Target), Roots: p.Roots, Began: p.Began,
		Took: int64(p.Took), Scheme: p.Scheme, Why: p.Why, Timing: p.Timing, Period: p.Period,
		Methods: []method{}, Merged: list(p.Merged), Threads: []thread{},
		Calibration: calibration{ofSpan(k.Inner), ofSpan(k.Outer), ofSpan(k.Drawn), ofSpan(k.Count), k.Overlap, k.Times},
		Cost: cost{
			c.Hooks, c.Classes, c.Closure, c.Rounds, int64(c.Pause), int64(c.Compile), int64(c.Waited),
			c.Steady, c.Budget, c.Woven, c.Cached,
		},
		Notes: p.Notes,
	}
	for _, m := range p.Methods {
		d.Methods = append(d.Methods, method(m))
	}
	for _, t := range p.Threads {
		d.Threads = append(d.Threads, thread{t.ID, t.Name, t.Virtual, list(t.Top)})
	}
	for _, l := range p.LeftAlone {
		d.LeftAlone = append(d.LeftAlone, leftAlone(l))
	}
	for _, q := range p.Quiet {
		d.Quiet = append(d.Quiet, quiet{q.Method, int64(q.On), q.Reason})
	}
	return d
}

// list is a tree's nodes, callers before callees.
func list(top *cct.Node) []node {
	nodes := []node{}
	if top == nil {
		return nodes
	}
	type pending struct {
		node   *cct.Node
		parent int
	}
	for waiting := []pending{{top, -1}}; len(waiting) > 0; {
		next := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		n, index := next.node, len(nodes)
		nodes = append(nodes, node{
			Parent: next.parent, Method: n.Method, Calls: n.Calls, Threw: n.Threw, Timed: n.Timed,
			Self: ofTime(n.Self), Spread: n.Spread, Total: ofTime(n.Total), Raw: n.Raw, Max: int64(n.Max),
			Running: n.Running, Missed: n.Missed, Late: n.Late, Lost: int64(n.Lost),
		})
		for i := len(n.Children) - 1; i >= 0; i-- {
			waiting = append(waiting, pending{n.Children[i], index})
		}
	}
	return nodes
}
