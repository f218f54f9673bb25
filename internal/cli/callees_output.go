package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A calleesView draws a tree as a table whose last column is the tree.
type calleesView struct {
	counted    bool // there are calls to show
	lowerBound bool // some of them may be missing
	rows       [][]string
	notes      []string // texts after the names, which are cut first
	guides     []string
}

func writeCallees(out io.Writer, result *calltree.Result, c *calling) {
	v := &calleesView{}
	result.Each(func(n *calltree.Node) {
		v.counted = v.counted || n.State == calltree.Called || n.State == calltree.NeverCalled || n.LowerBound
	})
	for _, root := range result.Roots {
		v.add(root, "", "")
	}
	columns := format.Columns("STATE")
	if v.counted {
		columns = append(columns, format.Column{Title: "CALLS", Right: true})
	}
	columns = append(columns, format.Column{Title: "SIZE", Right: true}, format.Column{Title: "LOADER"}, format.Column{Title: "CALL"}, format.Column{Title: "METHOD"})
	v.fit(columns, c.outWidth())
	format.WriteTable(out, columns, v.rows, 0)
	_, _ = fmt.Fprintln(out)
	if v.lowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	for _, line := range calleesFooter(result, c) {
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

// add adds the rows of a node and its callees. lead is drawn before its name, below before
// the names of its callees.
func (v *calleesView) add(n *calltree.Node, lead, below string) {
	calls, size := "-", "-"
	if n.State == calltree.Called || n.State == calltree.NeverCalled || n.LowerBound {
		calls = callsText(n.Calls, n.LowerBound)
		v.lowerBound = v.lowerBound || n.LowerBound
	}
	if n.Bytes > 0 {
		size = format.Grouped(n.Bytes)
	}
	v.row(lead, methodText(n.MethodRef), remarkOf(n), n.State.String(), calls, size, loadersText(n.Loaders), kindsText(n.Via))
	last := len(n.Callees) + len(n.Cuts) - 1
	for i, callee := range n.Callees {
		if i == last {
			v.add(callee, below+"└─ ", below+"   ")
		} else {
			v.add(callee, below+"├─ ", below+"│  ")
		}
	}
	for i, cut := range n.Cuts {
		guide := "├─ "
		if i+len(n.Callees) == last {
			guide = "└─ "
		}
		v.row(below+guide, cutText(cut), "", "", "", "", "", "")
	}
}

func (v *calleesView) row(guide, name, note, state, calls, size, loader, kind string) {
	row := []string{state}
	if v.counted {
		row = append(row, calls)
	}
	v.rows = append(v.rows, append(row, size, loader, kind, format.Printable(name)))
	v.guides, v.notes = append(v.guides, guide), append(v.notes, note)
}

// fit joins the parts of the last column to fit a terminal. The note is cut first, then
// the beginning of the name, because the end of a class name says most.
func (v *calleesView) fit(columns []format.Column, width int) {
	used := format.SpaceBefore(columns, v.rows)
	last := len(columns) - 1
	for i, row := range v.rows {
		text := v.guides[i] + format.KeepEnd(row[last], width, used+len([]rune(v.guides[i])))
		if v.notes[i] != "" {
			text += "  " + format.Printable(v.notes[i])
		}
		if width > 0 {
			text = format.Cut(text, max(width-used, 12))
		}
		row[last] = text
	}
}

// methodText returns a method with the types of its parameters, without packages.
func methodText(m classfile.MethodRef) string {
	name := strings.ReplaceAll(m.Class, "/", ".")
	if m.Name == "" {
		return name
	}
	return name + "." + m.Name + parameterText(m.Descriptor)
}

func loadersText(loaders []uint32) string {
	if len(loaders) == 0 {
		return "-"
	}
	const most = 3
	var names []string
	for i, l := range loaders {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, document.LoaderName(l))
	}
	return strings.Join(names, ",")
}

func kindsText(via []calltree.Via) string {
	var kinds []string
	for _, v := range via {
		if !slices.Contains(kinds, v.Kind.String()) {
			kinds = append(kinds, v.Kind.String())
		}
	}
	return strings.Join(kinds, ", ")
}

// remarkOf returns the text after the name of a method.
func remarkOf(n *calltree.Node) string {
	var remarks []string
	for _, v := range n.Via {
		if v.ByLambda {
			remarks = append(remarks, "by a lambda, as "+shortMethod(v.Declared))
			break
		}
		if v.Kind != callgraph.Initializer && v.Declared.Class != n.Class {
			remarks = append(remarks, "as "+shortMethod(v.Declared))
			break
		}
	}
	if n.Reason != "" {
		remarks = append(remarks, n.Reason)
	}
	switch n.Stop {
	case calltree.Recursive:
		remarks = append(remarks, "recursive")
	case calltree.Elsewhere:
		remarks = append(remarks, "shown elsewhere")
	}
	if n.Reflects {
		remarks = append(remarks, "uses reflection")
	}
	if n.Handles {
		remarks = append(remarks, "invokes method handles")
	}
	return strings.Join(remarks, "; ")
}

func shortMethod(m classfile.MethodRef) string {
	return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name
}

func cutText(c calltree.Cut) string {
	switch c.By {
	case calltree.ByOverrides:
		return fmt.Sprintf("and %s that %s may reach (--overrides)", format.Count(c.Methods, "method more", "methods more"), shortMethod(c.Via.Declared))
	case calltree.ByBreadth:
		return fmt.Sprintf("and %s (--breadth)", format.Count(c.Methods, "callee more", "callees more"))
	}
	return fmt.Sprintf("and %s (--nodes)", format.Count(c.Methods, "callee more", "callees more"))
}

// calleesFooter returns the lines about the whole tree.
func calleesFooter(r *calltree.Result, c *calling) []string {
	lines := []string{fmt.Sprintf("%s, %s below %s", format.Count(r.Methods, "method", "methods"),
		format.Count(c.Limits.Levels, "level", "levels"), format.Count(len(r.Roots), "root", "roots"))}
	if r.Cut > 0 {
		lines[0] += fmt.Sprintf("; %s not shown (--overrides, --breadth, --nodes)", format.Count(r.Cut, "callee is", "callees are"))
	}
	if r.RootsCut > 0 {
		lines = append(lines, fmt.Sprintf("%s not shown: name fewer methods, or raise --nodes", format.Count(r.RootsCut, "further method that matches is", "further methods that match are")))
	}
	if r.Holder != "" {
		lines = append(lines, fmt.Sprintf("%s holds process %d: its classes are those of %s", r.Holder, r.PID, r.AsOf.Local().Format(time.DateTime)))
	}
	switch {
	case c.Watch > 0:
		line := fmt.Sprintf("%s watched for %s", format.Count(r.Watched, "method was", "methods were"), format.Duration(r.WatchedFor))
		if r.Unwatched > 0 {
			line += fmt.Sprintf("; %s not (--hooks)", format.Count(r.Unwatched, "further one was", "further ones were"))
		}
		lines = append(lines, line)
	case r.Holder == "":
		lines = append(lines, "calls were not counted: --watch 10s counts them for 10 seconds")
	}
	if r.Fileless > 0 {
		line := format.Count(r.Fileless, "loaded class has", "loaded classes have") + " no file (generated at run time): calls and overrides in such classes are not shown"
		if !c.Redefine {
			line += " (--redefine)"
		}
		lines = append(lines, line)
	}
	return append(lines, loaderLines(r)...)
}

// loaderLines explains the numbers of class loaders.
func loaderLines(r *calltree.Result) (lines []string) {
	shown := make(map[uint32]bool)
	r.Each(func(n *calltree.Node) {
		for _, l := range n.Loaders {
			shown[l] = true
		}
	})
	for _, l := range r.Loaders {
		if l.Number != 0 && shown[l.Number] {
			lines = append(lines, fmt.Sprintf("class loader %s has %s, such as %s", document.LoaderName(l.Number),
				format.Count(l.Classes, "class", "classes"), strings.ReplaceAll(l.Example, "/", ".")))
		}
	}
	return lines
}
