package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

func isNone(err error) bool { return errors.Is(err, handover.ErrNone) }

// handOver hands the set to the Sonde that holds the JVM.
func (c *applying) handOver(ctx context.Context, client *handover.Client) error {
	if c.duration != 0 {
		return usage("--for: another sonde apply already holds process %d and decides when it ends; use for: in the file", c.pid)
	}
	if len(c.outputs) > 0 {
		return usage("-o: another sonde apply already holds process %d and has the traces", c.pid)
	}
	planned, err := client.Apply(ctx, c.set, true)
	if err != nil {
		return c.handFailure(err)
	}
	isSame := len(planned.Changes) == 0 && planned.Awaiting == 0
	if planned.Awaiting > 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s loaded that the rules leave to the next sonde apply: they get hooks now\n", format.Count(planned.Awaiting, "class has", "classes have"))
	}
	if c.dryRun || isSame {
		return c.writeDiff(planned.Changes, nil)
	}
	if !c.json && len(planned.Changes) > 0 {
		writeChanges(c.out, planned.Changes, c.outWidth())
	}
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("change this in process %d?", c.pid)) {
		return errors.New("nothing was changed")
	}
	outcome, err := client.Apply(ctx, c.set, false)
	if outcome != nil {
		for _, note := range outcome.Notes {
			_, _ = fmt.Fprintf(c.err, "note: %s\n", format.Printable(note))
		}
	}
	if err != nil {
		return c.handFailure(err)
	}
	if c.json {
		return c.writeDiff(outcome.Changes, outcome)
	}
	_, err = fmt.Fprintf(c.out, "applied by the Sonde that holds process %d: %s\n", c.pid, outcomeText(outcome))
	return err
}

func (c *applying) handFailure(err error) error {
	if isNone(err) {
		return fmt.Errorf("the sonde apply that held process %d has just ended: try again", c.pid)
	}
	return fmt.Errorf("process %d: %w", c.pid, err)
}

func outcomeText(o *handover.Outcome) string {
	return fmt.Sprintf("%s added, %s removed, %s switched", format.Count(o.Woven, "hook", "hooks"), format.Grouped(o.Removed), format.Grouped(o.Switched))
}

// endHolder ends the Sonde that holds the JVM.
func (c *applying) endHolder(ctx context.Context, client *handover.Client) error {
	if client == nil {
		return fmt.Errorf("no sonde apply holds process %d: sonde status %d shows whether another command does", c.pid, c.pid)
	}
	start := time.Now()
	const patience = 2 * time.Second
	slow := time.AfterFunc(patience, func() {
		_, _ = fmt.Fprintf(c.err, "waiting for process %d to restore its classes%s\n", c.pid, stoppedHint(c.pid))
	})
	defer slow.Stop()
	if err := client.End(ctx); err != nil && !isNone(err) { // a Sonde that is gone has ended
		return fmt.Errorf("process %d: %w", c.pid, err)
	}
	if c.json {
		return document.Write(c.out, map[string]any{"pid": c.pid, "ended": true})
	}
	_, err := fmt.Fprintf(c.out, "ended the sonde apply that held process %d in %s\n", c.pid, format.Duration(time.Since(start)))
	return err
}

// showHolder shows the state of the Sonde that holds the JVM.
func (c *applying) showHolder(ctx context.Context, client *handover.Client) error {
	if client == nil {
		return usage("-f is missing: no sonde apply holds process %d, so there is nothing to show", c.pid)
	}
	status, err := client.Status(ctx)
	if err != nil {
		return c.handFailure(err)
	}
	if c.json {
		return document.Write(c.out, status)
	}
	writeHolder(c.out, status, c.outWidth())
	return nil
}

func writeHolder(out io.Writer, status *handover.Status, width int) {
	_, _ = fmt.Fprintf(out, "%s (process %d), since %s: %s\n", format.Printable(status.Command), status.Sonde,
		status.Since.Local().Format(time.DateTime), probesText(status.Probes))
	format.WriteTable(out, applyColumns, runningTexts(status.Probes), width)
}

// nothingToChange is printed for a set that is already applied.
const nothingToChange = "nothing to change"

// writeChanges writes one difference per line, cut at the width of a terminal.
func writeChanges(out io.Writer, changes []probeset.Change, width int) {
	if len(changes) == 0 {
		_, _ = fmt.Fprintln(out, nothingToChange)
	}
	for _, change := range changes {
		line := changeText(change)
		if width > 0 {
			line = format.Cut(line, width)
		}
		_, _ = fmt.Fprintln(out, line)
	}
}

// changeText is one difference: all fields of a new entry, the changed fields of one that
// stays, the name of one that goes.
func changeText(c probeset.Change) string {
	var parts []string
	for _, f := range c.Fields {
		switch {
		case c.Action == probeset.Add:
			parts = append(parts, f.Name+" "+f.Want)
		case c.Action == probeset.Remove:
		case f.Have == "":
			parts = append(parts, fmt.Sprintf("%s %s (was none)", f.Name, f.Want))
		case f.Want == "":
			parts = append(parts, fmt.Sprintf("no %s (was %s)", f.Name, f.Have))
		default:
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.Name, f.Have, f.Want))
		}
	}
	text := c.Action.Sign() + " " + c.Kind.String()
	if c.Name != "" {
		text += " " + c.Name
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return format.Printable(text)
}

// writeDiff writes differences as the result. The outcome is nil if nothing was changed.
func (c *applying) writeDiff(changes []probeset.Change, outcome *handover.Outcome) error {
	if c.json {
		if changes == nil {
			changes = []probeset.Change{}
		}
		return document.Write(c.out, document.Handover{PID: c.pid, Applied: outcome != nil, Changes: changes, Outcome: outcome})
	}
	writeChanges(c.out, changes, c.outWidth())
	return nil
}
