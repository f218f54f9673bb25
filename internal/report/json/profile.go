// Package json writes profiles, root-cause searches, traces and comparisons as JSON, and
// reads profiles back. docs/formats describes the documents: profile.md, climb.md and
// trace.md.
package json

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// The types below repeat those of package cct with the names that the fields have in
// JSON. Where all fields are the same, values are converted as a whole.

type profile struct {
	Format      string        `json:"format"`
	Version     int           `json:"version"`
	Target      target        `json:"target,omitzero"`
	Roots       []string      `json:"roots,omitempty"`
	Began       time.Time     `json:"began,omitzero"`
	Took        time.Duration `json:"tookNanos,omitempty"`
	Scheme      string        `json:"scheme,omitempty"`
	Why         string        `json:"why,omitempty"`
	Timing      cct.Timing    `json:"timing,omitempty"`
	Period      uint32        `json:"period,omitempty"`
	Methods     []method      `json:"methods"`
	Merged      []node        `json:"merged"`
	Threads     []thread      `json:"threads"`
	Calibration calibration   `json:"calibration,omitzero"`
	Cost        cost          `json:"cost,omitzero"`
	LeftAlone   []leftAlone   `json:"leftAlone,omitempty"`
	Quiet       []quiet       `json:"quiet,omitempty"`
	Notes       []string      `json:"notes,omitempty"`
}

const (
	profileFormat  = "sonde-profile"
	profileVersion = 1
)

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
	LowerBound bool   `json:"lowerBound,omitempty"`
}

type thread struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	Virtual bool   `json:"virtual,omitempty"`
	Nodes   []node `json:"nodes"`
}

type node struct {
	Parent  int           `json:"parent"`
	Method  int           `json:"method"`
	Calls   uint64        `json:"calls"`
	Threw   uint64        `json:"threw,omitempty"`
	Timed   uint64        `json:"timed,omitempty"`
	Self    bounds        `json:"self,omitzero"`
	Spread  float64       `json:"spreadNanos,omitempty"`
	Total   bounds        `json:"total,omitzero"`
	Raw     int64         `json:"rawNanos,omitempty"`
	Max     time.Duration `json:"maxNanos,omitempty"`
	Running uint64        `json:"running,omitempty"`
	Missed  uint64        `json:"missed,omitempty"`
	Late    bool          `json:"late,omitempty"`
	Lost    time.Duration `json:"lostNanos,omitempty"`
}

type calibration struct {
	Inner   bounds  `json:"inner,omitzero"`
	Outer   bounds  `json:"outer,omitzero"`
	Drawn   bounds  `json:"drawn,omitzero"`
	Count   bounds  `json:"count,omitzero"`
	Overlap float64 `json:"overlap"`
	Times   int     `json:"times"`
}

type cost struct {
	Hooks   int           `json:"hooks"`
	Classes int           `json:"classes"`
	Woven   int           `json:"classesWoven"`
	Cached  int           `json:"classesFromCache"`
	Closure int           `json:"closure"`
	Rounds  int           `json:"rounds"`
	Pause   time.Duration `json:"pauseNanos"`
	Compile time.Duration `json:"compileNanos"`
	Waited  time.Duration `json:"waitedNanos"`
	Steady  float64       `json:"steady"`
	Budget  float64       `json:"budget,omitempty"`
}

type leftAlone struct {
	Class  string `json:"class"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

type quiet struct {
	Method int           `json:"method"`
	On     time.Duration `json:"onNanos,omitempty"`
	Reason string        `json:"reason"`
}

// bounds are a value and the interval it lies in: value, low, high. JSON has no infinity,
// so an infinite bound is null. The zero value, in which all are null, is left out.
type bounds [3]*float64

func boundsOf(value, low, high float64) (b bounds) {
	for i, v := range []float64{value, low, high} {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			b[i] = &v
		}
	}
	return b
}

func (b bounds) values() (value, low, high float64) {
	if b == (bounds{}) {
		return 0, 0, 0
	}
	var v [3]float64
	for i, n := range b {
		v[i] = math.Inf(1)
		if n != nil {
			v[i] = *n
		}
	}
	return v[0], v[1], v[2]
}

func (b bounds) time() (t cct.Time) {
	t.Nanos, t.Low, t.High = b.values()
	return t
}

func (b bounds) span() (s cct.Span) {
	s.Median, s.Low, s.High = b.values()
	return s
}

func timeBounds(t cct.Time) bounds {
	if t == (cct.Time{}) {
		return bounds{}
	}
	return boundsOf(t.Nanos, t.Low, t.High)
}

func spanBounds(s cct.Span) bounds {
	return timeBounds(cct.Time{Nanos: s.Median, Low: s.Low, High: s.High})
}

// write writes a document and a line break. what names the document in errors.
func write(w io.Writer, what string, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("%s as JSON: %w", what, err)
	}
	return nil
}

func encode(what string, document any) ([]byte, error) {
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%s as JSON: %w", what, err)
	}
	return encoded, nil
}

// WriteProfile writes a profile and a line break.
func WriteProfile(w io.Writer, p *cct.Profile) error { return write(w, "profile", newProfile(p)) }

// EncodeProfile returns a profile as JSON.
func EncodeProfile(p *cct.Profile) ([]byte, error) { return encode("profile", newProfile(p)) }

func newProfile(p *cct.Profile) *profile {
	c := &p.Calibration
	d := &profile{
		Format: profileFormat, Version: profileVersion, Target: target(p.Target), Roots: p.Roots, Began: p.Began,
		Took: p.Took, Scheme: p.Scheme, Why: p.Why, Timing: p.Timing, Period: p.Period,
		Methods: []method{}, Merged: nodeList(p.Merged), Threads: []thread{},
		Calibration: calibration{
			spanBounds(c.Inner), spanBounds(c.Outer), spanBounds(c.Drawn), spanBounds(c.Count), c.Overlap, c.Times,
		},
		Cost: cost(p.Cost), Notes: p.Notes,
	}
	for _, m := range p.Methods {
		d.Methods = append(d.Methods, method(m))
	}
	for _, t := range p.Threads {
		d.Threads = append(d.Threads, thread{t.ID, t.Name, t.Virtual, nodeList(t.Top)})
	}
	for _, l := range p.LeftAlone {
		d.LeftAlone = append(d.LeftAlone, leftAlone(l))
	}
	for _, q := range p.Quiet {
		d.Quiet = append(d.Quiet, quiet(q))
	}
	return d
}

// nodeList returns the nodes of a tree, callers before callees.
func nodeList(top *cct.Node) []node {
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
			Self: timeBounds(n.Self), Spread: n.Spread, Total: timeBounds(n.Total), Raw: n.Raw, Max: n.Max,
			Running: n.Running, Missed: n.Missed, Late: n.Late, Lost: n.Lost,
		})
		for _, child := range slices.Backward(n.Children) {
			waiting = append(waiting, pending{child, index})
		}
	}
	return nodes
}

// ErrNotProfile is the error for JSON that is not a profile written by Sonde.
var ErrNotProfile = errors.New("this JSON is not a Sonde profile")

// A VersionError reports a profile in a version of the format that this Sonde cannot read.
type VersionError struct {
	Version, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the profile has format version %d, and this sonde reads version %d: read it with the sonde that wrote it, or a newer one", e.Version, e.Known)
}

// ReadProfile reads what WriteProfile wrote. It checks every index.
func ReadProfile(r io.Reader) (*cct.Profile, error) {
	var d profile
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	if d.Format != profileFormat {
		return nil, ErrNotProfile
	}
	if d.Version != profileVersion {
		return nil, &VersionError{Version: d.Version, Known: profileVersion}
	}
	return d.profile()
}

func (d *profile) profile() (*cct.Profile, error) {
	c := &d.Calibration
	p := &cct.Profile{
		Target: cct.Target(d.Target), Roots: d.Roots, Began: d.Began, Took: d.Took,
		Scheme: d.Scheme, Why: d.Why, Timing: d.Timing, Period: d.Period,
		Calibration: cct.Calibration{
			Inner: c.Inner.span(), Outer: c.Outer.span(), Drawn: c.Drawn.span(), Count: c.Count.span(), Overlap: c.Overlap, Times: c.Times,
		},
		Cost: cct.Cost(d.Cost), Notes: d.Notes,
	}
	for _, m := range d.Methods {
		p.Methods = append(p.Methods, cct.Method(m))
	}
	var err error
	if p.Merged, err = linkNodes(d.Merged, len(d.Methods)); err != nil {
		return nil, fmt.Errorf("merged tree: %w", err)
	}
	for _, t := range d.Threads {
		top, err := linkNodes(t.Nodes, len(d.Methods))
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
			return nil, fmt.Errorf("%w: quiet hook %d has method %d of %d", ErrNotProfile, i, q.Method, len(p.Methods))
		}
		p.Quiet = append(p.Quiet, cct.Quiet(q))
	}
	return p, nil
}

// linkNodes makes a tree of a list of nodes.
func linkNodes(list []node, methods int) (*cct.Node, error) {
	nodes := make([]*cct.Node, len(list))
	for i, n := range list {
		outOfPlace := n.Parent < 0 != (i == 0) || n.Parent >= i
		if outOfPlace || n.Method < -1 || n.Method >= methods || n.Method < 0 && i > 0 {
			return nil, fmt.Errorf("%w: node %d has parent %d and method %d", ErrNotProfile, i, n.Parent, n.Method)
		}
		nodes[i] = &cct.Node{
			Method: n.Method, Calls: n.Calls, Threw: n.Threw, Timed: n.Timed, Self: n.Self.time(), Spread: n.Spread, Total: n.Total.time(),
			Raw: n.Raw, Max: n.Max, Running: n.Running, Missed: n.Missed, Late: n.Late, Lost: n.Lost,
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
