package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

const (
	// mostCaptured and mostTagged are how many values are read of a call of the method.
	mostCaptured = 4
	mostTagged   = 4
	mostTags     = 8 // with those of methods on the path
)

// comparedValues are values of calls, which slow ones may have in common.
type comparedValues struct {
	values map[string]string // names of values, by expression or tag
	data   drill.Data        // values of the method itself
	deep   drill.Data        // with values of methods on the path, since these are read
}

// readValues makes the hook of the method read values, if it is a single one.
func (r *drillRun) readValues(ctx context.Context) {
	roots := r.applied.Roots()
	if len(roots) != 1 || len(r.values) > 0 {
		return
	}
	found := r.applied.Values(roots[0])
	at, err := pattern.Parse(pattern.Of(roots[0], false))
	if err != nil || len(found) == 0 {
		return // no pattern names this method alone, or it has no values
	}
	set := *r.applied.set
	probe := set.Probes[0]
	var names []string
	for _, value := range found {
		name := fmt.Sprintf("drill%d", len(set.Tags))
		switch {
		case value.Few && len(set.Tags) < mostTagged:
			set.Tags = append(set.Tags, probeset.Tag{Name: name, Value: value.Expr, At: at})
		case len(probe.Captures) < mostCaptured:
			name = value.Expr.Text()
			probe.Captures = append(probe.Captures, value.Expr)
			probe.Level = probeset.Capture
		default:
			continue
		}
		r.values[name] = value.Name
		names = append(names, value.Name)
	}
	set.Probes = []probeset.Probe{probe}
	changed, err := r.applied.Apply(ctx, &set)
	if err != nil {
		r.values = map[string]string{}
		r.remark("no values are compared: " + format.OneLine(err))
		return
	}
	r.applied.set, r.applied.report = &set, changed
	r.screen.say("compared by data: %s", format.Printable(strings.Join(names, ", ")))
}

// withValuesOf returns the applied set with tags for values of some methods that have few different values. Values
// that are known already, by their names, are left out.
func (r *drillRun) withValuesOf(methods []classfile.MethodRef) *probeset.Set {
	set := *r.applied.set
	set.Tags = slices.Clone(set.Tags)
	known := map[string]bool{}
	for _, name := range r.values {
		known[name[strings.LastIndexByte(name, ' ')+1:]] = true
	}
	for _, m := range methods {
		at, err := pattern.Parse(pattern.Of(m, false))
		if err != nil || !r.applied.Own().Has(m.Class) {
			continue
		}
		for _, value := range r.applied.Values(m) {
			if !value.Few || known[value.Name] || len(set.Tags) == mostTags {
				continue
			}
			name := fmt.Sprintf("drill%d", len(set.Tags))
			set.Tags = append(set.Tags, probeset.Tag{Name: name, Value: value.Expr, At: at})
			known[value.Name] = true
			r.values[name] = m.Name + " " + value.Name
		}
	}
	if len(set.Tags) == len(r.applied.set.Tags) {
		return r.applied.set
	}
	return &set
}

// valuesOf returns the values of a transaction by their names.
func (c *comparedValues) valuesOf(tx *trace.Transaction) map[string]string {
	values := map[string]string{}
	for _, v := range tx.Root.Values {
		if name, is := c.values[v.Expression]; is && !v.Failed && !v.Redacted {
			values[name] = v.Text
			if v.Null {
				values[name] = "null"
			}
		}
	}
	for tag, value := range tx.Tags {
		if name, is := c.values[tag]; is {
			values[name] = value
		}
	}
	return values
}
