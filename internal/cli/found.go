package cli

import (
	"bytes"
	"context"
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

// remembered returns the cause that an earlier search has found below one of some methods, if the classes on the way are still
// the same; nil if there is none. It reads the files of these classes.
func remembered(ctx context.Context, p *liveprobes.Probes, roots []classfile.MethodRef) *found.Cause {
	isRoot := func(m classfile.MethodRef) bool { return slices.Contains(roots, m) }
	causes := readFound()
	if on := causes.ClassesBelow(isRoot); len(on) == 0 || p.Read(ctx, on) != nil { // the next change of hooks reports the error
		return nil
	}
	return causes.Below(isRoot, p.Digest)
}

// recall finds the cause that an earlier search has found below the method.
func (r *drillRun) recall(ctx context.Context) {
	if r.fromStart || r.tracing != nil { // without an agent, the class files are not known
		return
	}
	if r.recalled = remembered(ctx, r.applied.Probes, []classfile.MethodRef{r.chosen}); r.recalled != nil {
		r.screen.say("cause found on %s: %s; the whole path gets hooks at once, to check it (--from-start ignores this cause)", dayOf(r.recalled), format.Printable(r.recalled.Text))
	}
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
	fmt.Fprintln(&out, "# The methods on the path to the cause. Edit this file as you like; sonde apply PID -f applies it.")
	out.Write(set.YAML())
	return out.Bytes()
}
