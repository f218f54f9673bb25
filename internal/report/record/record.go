// Package record writes profiles and climbs as JSON and reads them back: the forms of
// docs/formats/profile.md and docs/formats/climb.md.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
