package cli

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/found"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// foundDir is the name of the directory with what searches have found.
const foundDir = "found"

// readFound returns what searches have found.
func readFound() found.Causes {
	dir, err := statePath(foundDir)
	if err != nil {
		return nil
	}
	return found.Read(dir)
}

// keepFound remembers a cause at the end of a path, unless the search was not sure. The result names the cause anyway, so
// that a failure has no consequences.
func keepFound(p *liveprobes.Probes, cause *drill.Cause, goal time.Duration, path []uint32) {
	c, is := found.New(cause.Text, goal, p.MethodsOf(path), p.Digest)
	if dir, err := statePath(foundDir); err == nil && is && cause.IsFound() {
		_ = found.Keep(dir, c)
	}
}

// dayOf returns when a cause was found, for a sentence.
func dayOf(c *found.Cause) string { return c.At.Local().Format("2 January 2006, 15:04") }

// recall finds the cause that an earlier search has found below the method, if the classes on the way are still the same.
func (r *drillRun) recall() {
	if r.fromStart || r.tracing != nil { // without an agent, the class files are not known
		return
	}
	root, is := r.applied.MethodOf(r.tree.Root.Spot)
	if !is {
		return
	}
	if r.recalled = readFound().Below(func(m classfile.MethodRef) bool { return m == root }, r.applied.Digest); r.recalled != nil {
		r.screen.say("found on %s: %s; the way there gets hooks at once, and fresh figures decide (--from-start searches from the start)", dayOf(r.recalled), format.Printable(r.recalled.Text))
	}
}

// compareRecalled says whether the search has ended where an earlier one did.
func (r *drillRun) compareRecalled() {
	if r.recalled == nil {
		return
	}
	if slices.Equal(r.applied.MethodsOf(r.onPath), r.recalled.Methods()) {
		r.remark("the same method as on " + dayOf(r.recalled))
		return
	}
	r.remark(fmt.Sprintf("it is not where it was on %s: %s", dayOf(r.recalled), r.recalled.Text))
}

// foundProbes returns a file of probes for the methods on the way to a cause.
func foundProbes(c *found.Cause) []byte {
	set, used := &probeset.Set{}, make(map[string]bool)
	for _, m := range c.Methods() {
		if p, err := pattern.Parse(pattern.Of(m, false)); err == nil { // otherwise no pattern names it alone
			set.Probes = append(set.Probes, probeset.Probe{Name: suggest.NameOf(m.Class, m.Name, used), Methods: []*pattern.Pattern{p}, Level: probeset.Time})
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Found on %s, for calls slower than %s: %s\n", dayOf(c), format.Duration(c.Goal), format.Line(c.Text))
	fmt.Fprintln(&out, "# The methods on the way there. Edit it as you like and apply it with sonde apply PID -f.")
	out.Write(set.YAML())
	return out.Bytes()
}
