package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// Profile is written by `sonde profile`; docs/formats/profile.md describes it.
type Profile struct {
	Format      string            `json:"format"`
	Version     int               `json:"version"`
	Target      cct.Target        `json:"target,omitzero"`
	Roots       []string          `json:"roots,omitempty"`
	Began       time.Time         `json:"began,omitzero"`
	Took        time.Duration     `json:"tookNanos,omitempty"`
	Scheme      string            `json:"scheme,omitempty"`
	Why         string            `json:"why,omitempty"`
	Timing      cct.Timing        `json:"timing,omitempty"`
	Period      uint32            `json:"period,omitempty"`
	Methods     []cct.Method      `json:"methods"`
	Merged      []node            `json:"merged"`
	Threads     []thread          `json:"threads"`
	Calibration cct.Calibration   `json:"calibration,omitzero"`
	Cost        cct.Cost          `json:"cost,omitzero"`
	LeftAlone   []cct.LeftAlone   `json:"leftAlone,omitempty"`
	Quiet       []cct.Quiet       `json:"quiet,omitempty"`
	Notes       []string          `json:"notes,omitempty"`
	Disturbed   string            `json:"disturbed,omitempty"`
	Disturbance *cost.Disturbance `json:"disturbance,omitempty"`
}

const (
	// ProfileFormat is the format of profiles.
	ProfileFormat  = "sonde-profile"
	profileVersion = 1
)

type thread struct {
	cct.Thread
	Nodes []node `json:"nodes"`
}

type node struct {
	Parent int `json:"parent"`
	cct.Node
}

// NewProfile describes a profile.
func NewProfile(p *cct.Profile) *Profile {
	d := &Profile{
		Format: ProfileFormat, Version: profileVersion, Target: p.Target, Roots: p.Roots, Began: p.Began,
		Took: p.Took, Scheme: p.Scheme, Why: p.Why, Timing: p.Timing, Period: p.Period,
		Methods: notNil(p.Methods), Merged: nodeList(p.Merged), Threads: []thread{},
		Calibration: p.Calibration, Cost: p.Cost, LeftAlone: p.LeftAlone, Quiet: p.Quiet, Notes: p.Notes, Disturbed: p.Disturbed, Disturbance: p.Disturbance,
	}
	for _, t := range p.Threads {
		d.Threads = append(d.Threads, thread{t, nodeList(t.Top)})
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
		for _, child := range slices.Backward(next.node.Children) {
			waiting = append(waiting, pending{child, len(nodes)})
		}
		nodes = append(nodes, node{next.parent, *next.node})
	}
	return nodes
}

// ErrNotProfile is the error for JSON that is not a profile written by Sonde.
var ErrNotProfile = errors.New("this JSON is not a Sonde profile")

// A VersionError reports a file in a version of the format that this Sonde cannot read.
type VersionError struct {
	Version, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the file has format version %d, and this sonde reads version %d: read it with the sonde that wrote it, or a newer one", e.Version, e.Known)
}

// ReadProfile reads a profile. It checks every index.
func ReadProfile(r io.Reader) (*cct.Profile, error) {
	var d Profile
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	if d.Format != ProfileFormat {
		return nil, ErrNotProfile
	}
	if d.Version != profileVersion {
		return nil, &VersionError{Version: d.Version, Known: profileVersion}
	}
	p := &cct.Profile{
		Target: d.Target, Roots: d.Roots, Began: d.Began, Took: d.Took, Scheme: d.Scheme, Why: d.Why, Timing: d.Timing, Period: d.Period,
		Methods: d.Methods, Calibration: d.Calibration, Cost: d.Cost, LeftAlone: d.LeftAlone, Quiet: d.Quiet, Notes: d.Notes, Disturbed: d.Disturbed, Disturbance: d.Disturbance,
	}
	var err error
	if p.Merged, err = linkNodes(d.Merged, len(d.Methods)); err != nil {
		return nil, fmt.Errorf("merged tree: %w", err)
	}
	for _, t := range d.Threads {
		if t.Top, err = linkNodes(t.Nodes, len(d.Methods)); err != nil {
			return nil, fmt.Errorf("tree of thread %d: %w", t.ID, err)
		}
		p.Threads = append(p.Threads, t.Thread)
	}
	for i, q := range d.Quiet {
		if q.Method < 0 || q.Method >= len(p.Methods) {
			return nil, fmt.Errorf("%w: quiet hook %d has method %d of %d", ErrNotProfile, i, q.Method, len(p.Methods))
		}
	}
	return p, nil
}

// linkNodes makes a tree of a list of nodes.
func linkNodes(list []node, methods int) (*cct.Node, error) {
	depths := make([]int, len(list))
	for i := range list {
		n := &list[i]
		outOfPlace := n.Parent < 0 != (i == 0) || n.Parent >= i
		if outOfPlace || n.Method < -1 || n.Method >= methods || n.Method < 0 && i > 0 {
			return nil, fmt.Errorf("%w: node %d has parent %d and method %d", ErrNotProfile, i, n.Parent, n.Method)
		}
		if i > 0 {
			if depths[i] = depths[n.Parent] + 1; depths[i] > cct.MostDepth {
				return nil, fmt.Errorf("%w: its tree has more than %d levels", ErrNotProfile, cct.MostDepth)
			}
			parent := &list[n.Parent]
			parent.Children = append(parent.Children, &n.Node)
		}
	}
	if len(list) == 0 {
		return &cct.Node{Method: -1}, nil
	}
	return &list[0].Node, nil
}
