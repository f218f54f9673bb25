package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// ErrNotProfile is what JSON that is no profile is refused with.
var ErrNotProfile = errors.New("this JSON is no profile of sonde")

// A VersionError is a profile or climb of a version that is not known here.
type VersionError struct {
	What           string
	Version, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the %s has version %d of its format, known is %d: read it with the sonde that wrote it, or a newer one", e.What, e.Version, e.Known)
}

// Read reads what Write wrote. Every index in it is checked.
func Read(r io.Reader) (*cct.Profile, error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	if d.Format != formatName {
		return nil, ErrNotProfile
	}
	if d.Version != formatVersion {
		return nil, &VersionError{What: "profile", Version: d.Version, Known: formatVersion}
	}
	return d.profile()
}

func (d *document) profile() (*cct.Profile, error) {
	c, k := &d.Cost, &d.Calibration
	p := &cct.Profile{
		Target: cct.Target(d.Target), Roots: d.Roots, Began: d.Began, Took: time.Duration(d.Took),
		Scheme: d.Scheme, Why: d.Why, Timing: d.Timing, Period: d.Period,
		Calibration: cct.Calibration{Inner: k.Inner.span(), Outer: k.Outer.span(), Drawn: k.Drawn.span(), Count: k.Count.span(), Overlap: k.Overlap, Times: k.Times},
		Cost: cct.Cost{
			Hooks: c.Hooks, Classes: c.Classes, Closure: c.Closure, Rounds: c.Rounds, Pause: time.Duration(c.Pause),
			Compile: time.Duration(c.Compile), Waited: time.Duration(c.Waited),
			Steady: c.Steady, Budget: c.Budget, Woven: c.Woven, Cached: c.Cached,
		},
		Notes: d.Notes,
	}
	for _, m := range d.Methods {
		p.Methods = append(p.Methods, cct.Method(m))
	}
	var err error
	if p.Merged, err = tree(d.Merged, len(d.Methods)); err != nil {
		return nil, fmt.Errorf("merged tree: %w", err)
	}
	for _, t := range d.Threads {
		top, err := tree(t.Nodes, len(d.Methods))
		if err != nil {
			return nil, fmt.Errorf("tree of thread %d: %w", t.ID, err)
		}
		p.Threads = append(p.Threads, cct.Thread{ID: t.ID, Name: t.Name, Virtual: t.Virtual, Top: top})
	}
	for _, l := range d.LeftAlone {
		p.LeftAlone = append(p.LeftAlone, cct.LeftAlone(l))
	}
	for i, q := range d.Quiet {
		if q.Method < 0 || q.Method >= len(p.Methods) {
			return nil, fmt.Errorf("%w: quiet hook %d is of method %d, of %d", ErrNotProfile, i, q.Method, len(p.Methods))
		}
		p.Quiet = append(p.Quiet, cct.Quiet{Method: q.Method, On: time.Duration(q.On), Reason: q.Reason})
	}
	return p, nil
}

// tree links a list of nodes.
func tree(list []node, methods int) (*cct.Node, error) {
	nodes := make([]*cct.Node, len(list))
	for i, n := range list {
		outOfPlace := n.Parent < 0 != (i == 0) || n.Parent >= i
		if outOfPlace || n.Method < -1 || n.Method >= methods || n.Method < 0 && i > 0 {
			return nil, fmt.Errorf("%w: node %d has parent %d and method %d", ErrNotProfile, i, n.Parent, n.Method)
		}
		nodes[i] = &cct.Node{
			Method: n.Method, Calls: n.Calls, Threw: n.Threw, Timed: n.Timed, Self: n.Self.time(), Spread: n.Spread, Total: n.Total.time(),
			Raw: n.Raw, Max: time.Duration(n.Max), Running: n.Running, Missed: n.Missed, Late: n.Late, Lost: time.Duration(n.Lost),
		}
		if i > 0 {
			nodes[n.Parent].Children = append(nodes[n.Parent].Children, nodes[i])
		}
	}
	if len(nodes) == 0 {
		return &cct.Node{Method: -1}, nil
	}
	return nodes[0], nil
}
