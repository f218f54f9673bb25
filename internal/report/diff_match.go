package report

import (
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A comparer finds what belongs together in two profiles.
type comparer struct {
	before, after *side
	names         map[string]string
	order         []string // methods, as they are met
}

func newComparer(before, after *cct.Profile) *comparer {
	c := &comparer{before: newSide(before), after: newSide(after), names: map[string]string{}}
	for _, p := range []*cct.Profile{before, after} {
		shown := names(p.Methods)
		for i, m := range p.Methods {
			if key := keyOf(m); c.names[key] == "" {
				c.names[key] = shown[i]
				c.order = append(c.order, key)
			}
		}
	}
	isFolded := func(key string) bool { return !measuredAlike(c.before.hook(key), c.after.hook(key)) }
	c.before.fold(isFolded)
	c.after.fold(isFolded)
	return c
}

// keyOf is what a method is known by in both runs; its index differs.
func keyOf(m cct.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// uncompared lists the methods that were not measured alike on both sides, those that
// hold most time first.
func (c *comparer) uncompared() []Uncompared {
	var list []Uncompared
	for _, key := range c.order {
		before, after := c.before.hook(key), c.after.hook(key)
		if measuredAlike(before, after) || c.before.calls[key] == 0 && c.after.calls[key] == 0 {
			continue
		}
		list = append(list, Uncompared{Method: c.names[key], Before: before, After: after, held: math.Max(c.before.held(key), c.after.held(key))})
	}
	slices.SortStableFunc(list, func(a, b Uncompared) int { return compareDown(a.held, b.held) })
	return list
}

// changes pairs the contexts of both sides, and sums them up by method.
func (c *comparer) changes() (methods, contexts []Change) {
	type pair struct{ before, after Figures }
	sums := map[string]*pair{}
	var order []string
	var walk func(old, fresh *part, path []string)
	visit := func(old, fresh *part, key string, path []string) {
		here := append(slices.Clip(path), c.names[key])
		before, after := c.before.figures(old), c.after.figures(fresh)
		contexts = append(contexts, newChange(here, before, after))
		sum := sums[key]
		if sum == nil {
			sum = &pair{Figures{roots: c.before.roots}, Figures{roots: c.after.roots}}
			sums[key] = sum
			order = append(order, key)
		}
		sum.before.add(before)
		sum.after.add(after)
		walk(old, fresh, here)
	}
	walk = func(old, fresh *part, path []string) {
		for _, child := range old.below() {
			visit(child, fresh.child(child.key), child.key, path)
		}
		for _, child := range fresh.below() {
			if old.child(child.key) == nil {
				visit(nil, child, child.key, path)
			}
		}
	}
	walk(c.before.top, c.after.top, nil)
	for _, key := range order {
		sum := sums[key]
		for _, f := range []*Figures{&sum.before, &sum.after} {
			f.Known = f.Known || f.Calls == 0 // it took no time for sure
		}
		methods = append(methods, newChange([]string{c.names[key]}, sum.before, sum.after))
	}
	return methods, contexts
}
