package trace

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A RingReader reads the rings of a JVM's threads into an assembler.
type RingReader struct {
	Assembler *Assembler
	Damaged   uint64 // how often a ring held no valid record

	session *session.Session
}

// NewRingReader returns a reader of the rings of a session.
func NewRingReader(s *session.Session, assembler *Assembler) *RingReader {
	return &RingReader{session: s, Assembler: assembler}
}

// Read reads all records that were written since the last call, and reports whether
// there were any.
func (r *RingReader) Read() (bool, error) {
	rings, err := r.session.Rings()
	if err != nil {
		return false, err
	}
	any := false
	for _, ring := range rings {
		err := ring.Read(func(record arena.Record) {
			any = true
			r.Assembler.Add(ring.Ref(), record)
		})
		if errors.Is(err, arena.ErrOverrun) { // the other rings can still be read
			r.Damaged++
			continue
		}
		if err != nil {
			return any, err
		}
	}
	return any, nil
}

// Rings holds the counters of all rings together.
type Rings struct {
	Opened    uint64 // transactions that have begun
	Discarded uint64 // transactions that were not chosen
	Dropped   uint64 // calls that found no room and were only counted
}

// Sum adds up the counters of all rings.
func (r *RingReader) Sum() (sum Rings, err error) {
	rings, err := r.session.Rings()
	if err != nil {
		return sum, err
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			return sum, err
		}
		sum.Opened += state.Opened
		sum.Discarded += state.Discarded
		sum.Dropped += state.Dropped
	}
	ringless, err := r.session.Ringless()
	sum.Dropped += ringless
	return sum, err
}

// LiveNames resolves the numbers in records by the names that live probes know.
type LiveNames struct {
	probes interface{ Names() *liveprobes.Names }
	last   *liveprobes.Names
}

// NewLiveNames returns the names of live probes. It knows none before the first Refresh.
func NewLiveNames(probes interface{ Names() *liveprobes.Names }) *LiveNames {
	return &LiveNames{probes: probes}
}

// Refresh reads the names that are known now.
func (n *LiveNames) Refresh() { n.last = n.probes.Names() }

// Spot returns the hook with a number.
func (n *LiveNames) Spot(id uint32) (Spot, bool) {
	if n.last == nil {
		return Spot{}, false
	}
	named, found := n.last.Spot(id)
	spot := Spot{Class: named.Class, Method: named.Name, Descriptor: named.Descriptor, Probe: named.Probe, Conditional: named.Conditional}
	for _, c := range named.Captures {
		spot.Captures = append(spot.Captures, Capture{
			Index: c.Index &^ probes.ExitCapture, AtExit: c.Index&probes.ExitCapture != 0, Expression: c.Text, Redacted: c.Redacted,
		})
	}
	return spot, found
}

// Tags returns the tags of the label with a number. A label for which the agent had no
// room is known to have none.
func (n *LiveNames) Tags(label uint32) (map[string]string, bool) {
	if label == arena.LabelOther {
		return nil, true
	}
	if n.last == nil {
		return nil, false
	}
	named, found := n.last.Label(label)
	tags := make(map[string]string, len(named.Tags))
	for _, tag := range named.Tags {
		tags[tag.Name] = tag.String()
	}
	return tags, found
}
