package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// takeOver takes the pack out and has this Sonde hold the JVM. All that can be checked
// is before anything is changed.
func (c *attaching) takeOver(ctx context.Context, h *results.Harvest) error {
	if c.set == nil {
		if h.Set == nil {
			return fmt.Errorf("the probes are in the pack, which cannot be read: name it with --pack, or probes with -f (%s)", notesText(h.Notes))
		}
		c.set, c.title = h.Set, h.Pack
	}
	writeChanges(c.err, probeset.Diff(nil, c.set), c.width)
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("take the pack out of process %d, and put this in?", c.pid)) {
		return errors.New("nothing was changed")
	}
	c.yes = true
	if err := c.evictPack(ctx, h); err != nil {
		return err
	}
	// A JVM in which something else has begun meanwhile says so itself.
	if err := c.hold(ctx, h.JVM, nil); err != nil {
		return fmt.Errorf("the pack is out of process %d, and no Sonde is in: %w", c.pid, err)
	}
	return nil
}

func notesText(notes []string) string {
	if len(notes) == 0 {
		return "it has none"
	}
	return notes[0]
}

// evictPack takes the pack out, and waits until it is.
func (c *attaching) evictPack(ctx context.Context, h *results.Harvest) error {
	occupants, unreachable, err := session.Occupants(ctx, h.JVM, true)
	if err != nil {
		return err
	}
	found := false
	for _, o := range occupants {
		defer o.Close()
		if o.Pack == "" || found {
			continue
		}
		found = true
		start := time.Now()
		if err := evictFrom(ctx, c.streams, o); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(c.err, "took the pack out of process %d in %s; what it has measured: sonde report %s\n", c.pid, durationText(time.Since(start)), printable(shellWord(h.Arena)))
	}
	if !found {
		for _, u := range unreachable {
			err = errors.Join(err, u)
		}
		return errors.Join(err, fmt.Errorf("the pack in process %d could not be reached: sonde status %d", c.pid, c.pid))
	}
	return nil
}
