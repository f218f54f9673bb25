package html

import (
	"io"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

var diffPage = page{
	command: "diff",
	layouts: []string{"diff.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "measured.css", "diff.css", "print.css"},
	scripts: slices.Concat(flameScripts, []string{"difftip.js", "main.js"}),
}

// A diffView is what the layout of a comparison shows.
type diffView struct {
	*diff.Difference
	Sides   []diffSide
	Verdict string        // on the time of a call of the root
	Changed []diff.Change // methods with a significant change
	Same    int           // methods without
}

type diffSide struct {
	When string
	diff.Run
}

// WriteDiff writes a page that shows a comparison as a flame graph, and contains it as JSON.
func WriteDiff(w io.Writer, d *diff.Difference) error {
	v := diffView{Difference: d, Sides: []diffSide{{"Before", d.Before}, {"After", d.After}}, Verdict: text.TotalChange(d)}
	for _, c := range d.Methods {
		if c.Verdict == diff.Same || c.Verdict == diff.Untimed {
			v.Same++
		} else {
			v.Changed = append(v.Changed, c)
		}
	}
	return diffPage.write(w, cct.Target{Command: d.After.Title}, document.NewDiff(d, 0).WithTree(d), v)
}

// IsKnown reports whether the times of a change are known on both sides.
func (v diffView) IsKnown(c diff.Change) bool { return c.Before.Known && c.After.Known }

// Last returns the method of a change.
func (v diffView) Last(c diff.Change) string { return c.Path[len(c.Path)-1] }
