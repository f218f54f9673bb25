package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// nothingToChange is said of a set that is applied already.
const nothingToChange = "nothing to change"

// writeChanges shows differences, a line each, cut at a terminal's width; 0 for none.
func writeChanges(out io.Writer, changes []probeset.Change, width int) {
	if len(changes) == 0 {
		_, _ = fmt.Fprintln(out, nothingToChange)
	}
	for _, change := range changes {
		line := changeText(change)
		if width > 0 {
			line = cut(line, width)
		}
		_, _ = fmt.Fprintln(out, line)
	}
}

// changeText is one difference: what is new in whole, of what stays what differs, of
// what goes the name.
func changeText(c probeset.Change) string {
	var parts []string
	for _, f := range c.Fields {
		switch {
		case c.Action == probeset.Add:
			parts = append(parts, f.Name+" "+f.Want)
		case c.Action == probeset.Remove:
		case f.Have == "":
			parts = append(parts, fmt.Sprintf("%s %s, which had none", f.Name, f.Want))
		case f.Want == "":
			parts = append(parts, fmt.Sprintf("no %s, which was %s", f.Name, f.Have))
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
	return printable(text)
}

// applyJSON is what is written of a set that was handed over, or only compared.
type applyJSON struct {
	PID     int               `json:"pid"`
	Applied bool              `json:"applied"`
	Changes []probeset.Change `json:"changes"`
	Outcome *handover.Outcome `json:"outcome,omitempty"`
}

// writeDiff writes differences as a result. The outcome is nil where nothing was done.
func (c *applying) writeDiff(changes []probeset.Change, outcome *handover.Outcome) error {
	if c.json {
		if changes == nil {
			changes = []probeset.Change{}
		}
		return writeJSON(c.out, applyJSON{PID: c.pid, Applied: outcome != nil, Changes: changes, Outcome: outcome})
	}
	writeChanges(c.out, changes, c.outWidth())
	return nil
}
