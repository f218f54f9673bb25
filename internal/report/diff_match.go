package report

import (
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/internal/cct"
)

// A comparer finds what belongs together in two profiles.
type comparer struct {
	before, after    *cct.Profile
	perOld, perFresh perRoot
}

// A perRoot divides by the number of calls of the roots.
type perRoot struct{ calls uint64 }

func (p perRoot) figures(calls uint64, self cct.Time, known bool) Figures {
	by := math.Max(1, float64(p.calls))
	return Figures{Calls: float64(calls) / by, Self: self.Over(by), Known: known}
}

// node are the figures of a node; one that is not there was not called, and took no
// time for sure.
func (p perRoot) node(n *cct.Node) Figures {
	if n == nil {
		return Figures{Known: true}
	}
	return p.figures(n.Calls, n.Self, n.Known())
}

// keyOf is what a method is known by in both runs; its index differs.
func keyOf(m cct.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// methods pairs methods: in the order of the profile before, then of that after.
func (c *comparer) methods() []Change {
	fresh := map[string]Figures{}
	freshRows := cct.Flat(c.after.Merged, c.after.Methods)
	for _, row := range freshRows {
		fresh[keyOf(c.after.Methods[row.Method])] = c.perFresh.figures(row.Calls, row.Self, row.Known)
	}
	var list []Change
	met := map[string]bool{}
	shown := names(c.before.Methods)
	for _, row := range cct.Flat(c.before.Merged, c.before.Methods) {
		key := keyOf(c.before.Methods[row.Method])
		met[key] = true
		after, there := fresh[key]
		if !there {
			after = c.perFresh.node(nil)
		}
		list = append(list, newChange([]string{shown[row.Method]}, c.perOld.figures(row.Calls, row.Self, row.Known), after))
	}
	shown = names(c.after.Methods)
	for _, row := range freshRows {
		if key := keyOf(c.after.Methods[row.Method]); !met[key] {
			list = append(list, newChange([]string{shown[row.Method]}, c.perOld.node(nil), fresh[key]))
		}
	}
	return list
}

// contexts walks both trees at once.
func (c *comparer) contexts() []Change {
	oldNames, freshNames := names(c.before.Methods), names(c.after.Methods)
	var list []Change
	var walk func(old, fresh *cct.Node, path []string)
	walk = func(old, fresh *cct.Node, path []string) {
		visit := func(old, fresh *cct.Node, name string) {
			here := append(slices.Clip(path), name)
			list = append(list, newChange(here, c.perOld.node(old), c.perFresh.node(fresh)))
			walk(old, fresh, here)
		}
		unmet := map[string]*cct.Node{}
		for _, child := range callees(fresh) {
			unmet[keyOf(c.after.Methods[child.Method])] = child
		}
		for _, child := range callees(old) {
			key := keyOf(c.before.Methods[child.Method])
			visit(child, unmet[key], oldNames[child.Method])
			delete(unmet, key)
		}
		for _, child := range callees(fresh) {
			if unmet[keyOf(c.after.Methods[child.Method])] == child {
				visit(nil, child, freshNames[child.Method])
			}
		}
	}
	walk(c.before.Merged, c.after.Merged, nil)
	return list
}

func callees(n *cct.Node) []*cct.Node {
	if n == nil {
		return nil
	}
	return n.Children
}
