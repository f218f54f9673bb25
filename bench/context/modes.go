package main

import "github.com/sonde-jvm/sonde/internal/spec/probeset"

// A mode is a twin of its own: what its method has in it, and what is measured.
type mode struct {
	name  string
	twin  string // the Java package of its classes
	shape string
	// Before stands in the source, before the method's body.
	before string
	met    bool // its orders meet the condition
	probe  *probeset.Probe
	tag    *probeset.Tag
	off    bool // the probe is switched off, and stays in
	apart  bool // in a JVM that Sonde never entered
	counts bool // every call is counted; else none is
	bar    float64
	beside string // the mode it is compared with; empty for bare
}

const condition = `$order.tier == "gold" && $order.amount > 100`

// The names of modes that others refer to.
const (
	modeBare    = "no hook"
	modeApart   = "hand-off, JVM without Sonde"
	modeApart2  = "hand-off, same, second twin"
	modeNotMet  = "condition on two fields, not met"
	modeReflect = "same condition by reflection"
	modeTree    = "same condition by an interpreter"
)

// The bars, in nanoseconds that are added to a call.
const (
	mostForSequence  = 3
	mostForCondition = 10
	mostForAnchor    = 3
)

// modes are run in this order in each round.
var modes = []mode{
	{name: modeBare, twin: "bare", shape: "Leaf"},
	{name: "probe, switched off", twin: "off", shape: "Leaf", off: true, probe: &probeset.Probe{}},
	{name: "probe, counts", twin: "plain", shape: "Leaf", counts: true, probe: &probeset.Probe{}},
	{name: "sequence by >> not met", twin: "below", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: []string{"elsewhere.Leaf.within"}}},
	{name: "sequence by > not met, not for the caller", twin: "near", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: []string{"elsewhere.Leaf.run > near.Leaf.within >"}}},
	{name: "sequence by > not met, for the caller only", twin: "caller", shape: "Leaf",
		probe: &probeset.Probe{Within: []string{"caller.Leaf.run >"}}},
	{name: "sequence by >> met, counts", twin: "met", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: []string{"met.Leaf.within"}}},
	{name: "sequence by > met, counts", twin: "direct", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: []string{"direct.Leaf.within >"}}},
	{name: "anchor", twin: "anchor", shape: "Leaf", bar: mostForAnchor,
		probe: &probeset.Probe{Methods: []string{"elsewhere.Leaf.work"}, Within: []string{"anchor.Leaf.work"}}},
	{name: modeNotMet, twin: "unmet", shape: "Leaf", bar: mostForCondition, probe: &probeset.Probe{When: condition}},
	{name: "condition on two fields, met, counts", twin: "truly", shape: "Leaf", met: true, counts: true,
		probe: &probeset.Probe{When: condition}},
	{name: modeReflect, twin: "reflected", shape: "Leaf", before: "Checks.reflect(order);"},
	{name: modeTree, twin: "interpreted", shape: "Leaf", before: "Checks.interpret(x, order);"},
	{name: "condition on a tag, not met", twin: "tagged", shape: "Leaf",
		probe: &probeset.Probe{When: `tx.tier == "silver"`}, tag: &probeset.Tag{Name: "tier", Value: "$2", At: "tagged.Leaf.within"}},
	{name: "tag point, same value again", twin: "tagging", shape: "Leaf",
		tag: &probeset.Tag{Name: "kind", Value: "$order.tier", At: "tagging.Leaf.work"}},
	{name: modeApart, twin: "bare", shape: "HandOff", apart: true},
	{name: modeApart2, twin: "handing", shape: "HandOff", apart: true},
	{name: "hand-off, no context", twin: "bare", shape: "HandOff", beside: modeApart},
	{name: "hand-off of a context", twin: "handing", shape: "HandOff", beside: modeApart2,
		probe: &probeset.Probe{Methods: []string{"elsewhere.Leaf.run"}, Within: []string{"handing.HandOff.within"}}},
}

// elsewhere is the twin whose methods nobody calls while others are measured.
const elsewhere = "elsewhere"

// twins are the packages that are generated, with what differs between them.
func twins() []mode {
	all := []mode{{twin: elsewhere}}
	for _, m := range modes {
		if !m.apart && (m.shape != "HandOff" || m.twin != "bare") {
			all = append(all, m)
		}
	}
	return all
}

// wantedSet is all that the modes ask for, at once: no class is woven again later.
func wantedSet() *probeset.Set {
	set := &probeset.Set{HandOff: true}
	for _, m := range modes {
		if m.probe != nil {
			p := *m.probe
			p.Name, p.Level = m.twin, probeset.Count
			if p.Methods == nil {
				p.Methods = []string{m.twin + ".Leaf.work"}
			}
			set.Probes = append(set.Probes, p)
		}
		if m.tag != nil {
			set.Tags = append(set.Tags, *m.tag)
		}
	}
	return set
}
