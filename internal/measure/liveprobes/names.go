package liveprobes

import "maps"

// A SpotName says what a spot is about.
type SpotName struct {
	ID       uint32
	Probe    string // empty for spots that only belong to a trace
	Sequence string // as written; empty where the probe acts everywhere
	Class    string // internal
	Name     string
	// Descriptor is as class files have it.
	Descriptor string
	// Inside says that it is there for the traces of other methods.
	Inside bool
	// Conditional says that it acts only in a context or on a condition.
	Conditional bool
	Captures    []CaptureName
}

// A CaptureName is an expression whose value is captured. Its index in records has bit 7
// set where it is read at the exit.
type CaptureName struct {
	Index    int
	Text     string
	Redacted bool // it is never read
}

// ExitCapture is the bit of an index that says the value is read at the exit.
const ExitCapture = 1 << 7

// Redacted is shown in the place of a value that is not read.
const Redacted = "(redacted)"

// Names are what ids in results and records stand for. They are a copy as of the moment
// they were asked for.
type Names struct {
	spots  map[uint32]SpotName
	labels map[uint32]Label
}

// Names tells what spots and labels are about, also those of probes that have ended.
func (w *Watch) Names() *Names {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.hear()
	all := func(tags map[int]TagValue) []TagValue { return w.valued(tags, nil) }
	return &Names{spots: maps.Clone(w.names), labels: w.labels.All(all)}
}

// Spot is what a spot's id stands for.
func (n *Names) Spot(id uint32) (SpotName, bool) {
	name, is := n.spots[id]
	return name, is
}

// Label is what a label's number stands for: of tags, all that were set.
func (n *Names) Label(id uint32) (Label, bool) {
	label, is := n.labels[id]
	return label, is
}
