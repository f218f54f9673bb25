package cli

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A ringReader empties the rings of a JVM into an assembler.
type ringReader struct {
	session   *session.Session
	assembler *trace.Assembler
	damaged   uint64 // rings that made no sense, each time
}

// read takes all that was written since, and tells whether that was anything.
func (r *ringReader) read() (bool, error) {
	rings, err := r.session.Rings()
	if err != nil {
		return false, err
	}
	any := false
	for _, ring := range rings {
		err := ring.Read(func(record arena.Record) {
			any = true
			r.assembler.Add(ring.Ref(), record)
		})
		if errors.Is(err, arena.ErrOverrun) { // the rest can be read all the same
			r.damaged++
			continue
		}
		if err != nil {
			return any, err
		}
	}
	return any, nil
}

// A ringSum is what all rings together have counted.
type ringSum struct{ opened, discarded, dropped uint64 }

func (r *ringReader) sum() (sum ringSum, err error) {
	rings, err := r.session.Rings()
	if err != nil {
		return sum, err
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			return sum, err
		}
		sum.opened += state.Opened
		sum.discarded += state.Discarded
		sum.dropped += state.Dropped
	}
	ringless, err := r.session.Ringless()
	sum.dropped += ringless
	return sum, err
}

// watchNames say what numbers in records mean, as a watch knows it.
type watchNames struct {
	names interface{ Names() *liveprobes.Names }
	last  *liveprobes.Names
}

// refresh learns what has become known.
func (n *watchNames) refresh() { n.last = n.names.Names() }

func (n *watchNames) Spot(id uint32) (trace.Spot, bool) {
	if n.last == nil {
		return trace.Spot{}, false
	}
	named, found := n.last.Spot(id)
	spot := trace.Spot{Class: named.Class, Method: named.Name, Descriptor: named.Descriptor, Probe: named.Probe, Conditional: named.Conditional}
	for _, c := range named.Captures {
		spot.Captures = append(spot.Captures, trace.Capture{
			Index: c.Index &^ liveprobes.ExitCapture, AtExit: c.Index&liveprobes.ExitCapture != 0, Expression: c.Text, Redacted: c.Redacted,
		})
	}
	return spot, found
}

func (n *watchNames) Tags(label uint32) (map[string]string, bool) {
	if label == arena.LabelOther { // there were too many: what they are is not known
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
