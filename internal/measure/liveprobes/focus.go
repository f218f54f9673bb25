package liveprobes

import (
	"context"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

// focusLevels bounds how deep a call may be below a root of a trace in focus, with calls inside libraries.
const focusLevels = 40

// A focus says which methods below the roots belong to traces.
type focus struct {
	path  map[classfile.MethodRef]bool // methods whose calls are followed
	open  map[classfile.MethodRef]bool // methods whose callees belong to traces, too
	depth int                          // levels of such callees
}

// below returns how many methods that can have hooks are between an open method and n, with n; 0 if n itself is
// open, -1 if no method above it is.
func (f *focus) below(n *calltree.Node, isInternal func(*calltree.Node) bool) (steps int) {
	for at := n; at != nil; at = at.Parent {
		if f.open[at.MethodRef] {
			return steps
		}
		if !isInternal(at) {
			steps++
		}
	}
	return -1
}

// keeps reports whether a method belongs to traces. Tasks do, because it is not known which call hands them over.
func (f *focus) keeps(n *calltree.Node, isInternal func(*calltree.Node) bool) bool {
	if f.path[n.MethodRef] || n.Parent == nil && len(f.open) > 0 {
		return true
	}
	steps := f.below(n, isInternal)
	return steps >= 0 && steps <= f.depth
}

// opens reports whether the callees of a method are looked at.
func (f *focus) opens(n *calltree.Node, isInternal func(*calltree.Node) bool) bool {
	if f.path[n.MethodRef] || isInternal(n) {
		return true
	}
	steps := f.below(n, isInternal)
	return steps >= 0 && steps < f.depth
}

func (w *Probes) internalIn(p *plan) func(*calltree.Node) bool {
	return func(n *calltree.Node) bool { return w.isInternal(p, n) }
}

// focusOf returns the focus of the traces of a probe; nil if they are not restricted.
func (w *Probes) focusOf(probe *probes.Probe) *focus {
	if f := w.focuses[probe.Name]; f != nil || !w.options.Focus {
		return f
	}
	return &focus{}
}

// focused returns the own methods in focus that are not roots. They are looked at although the bytecode may lead to them only
// through methods that are not in focus.
func (w *Probes) focused(p *plan, f *focus, roots []classfile.MethodRef) (methods []classfile.MethodRef) {
	if f == nil {
		return nil
	}
	for _, set := range []map[classfile.MethodRef]bool{f.path, f.open} {
		for m := range set {
			if w.isOwn(p, m.Class) && !slices.Contains(roots, m) && !slices.Contains(methods, m) {
				methods = append(methods, m)
			}
		}
	}
	slices.SortFunc(methods, classfile.MethodRef.Compare)
	return methods
}

// keepUnfocused keeps hooks that are no longer in focus, switched off: removing them would make the JVM discard
// code. They are removed when no trace has a focus any more.
func (w *Probes) keepUnfocused(p *plan) {
	if !slices.ContainsFunc(p.Probes, func(probe *probes.Probe) bool { return probe.Level >= probeset.Trace && w.focusOf(probe) != nil }) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		s := w.applied[name]
		if s.Key != insideKey || p.inside(s.MethodRef) != nil || p.insides >= mostInside {
			continue
		}
		if m, is := w.classes.Find(s.MethodRef); is {
			p.addInside(m, false)
		}
	}
}

// Narrow applies a set, and restricts the methods below the roots of the traces of a probe to those of a path, and to what
// the open methods call, up to a number of levels. Hooks of other methods are switched off. It returns how many hooks are
// new, and how many are on.
func (w *Probes) Narrow(ctx context.Context, set *probeset.Set, probe string, path, open []classfile.MethodRef, depth int) (woven, on int, err error) {
	return w.narrow(ctx, probe, newFocus(path, open, depth), func() (*Report, error) { return w.Apply(ctx, set) })
}

// Exclude keeps methods out of traces that Narrow and Raise restrict, from the next call on: they are called too often.
func (w *Probes) Exclude(methods []classfile.MethodRef) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, m := range methods {
		w.excluded[m] = true
	}
}

// Raise makes a probe trace, and does what Narrow does. SetLevel removes the hooks again.
func (w *Probes) Raise(ctx context.Context, probe string, path, open []classfile.MethodRef, depth int) (woven, on int, err error) {
	return w.narrow(ctx, probe, newFocus(path, open, depth), func() (*Report, error) { return w.setLevel(ctx, probe, probeset.Trace) })
}

func newFocus(path, open []classfile.MethodRef, depth int) *focus {
	f := &focus{path: make(map[classfile.MethodRef]bool), open: make(map[classfile.MethodRef]bool), depth: depth}
	for _, m := range path {
		f.path[m] = true
	}
	for _, m := range open {
		f.open[m] = true
	}
	return f
}

func (w *Probes) narrow(ctx context.Context, probe string, f *focus, apply func() (*Report, error)) (woven, on int, err error) {
	w.lock.Lock()
	w.focuses[probe] = f
	w.lock.Unlock()
	report, err := apply()
	if err != nil {
		return 0, 0, err
	}
	w.lock.Lock()
	before := len(w.applied)
	w.lock.Unlock()
	if err := w.reveal(ctx); err != nil {
		return 0, 0, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, s := range w.plan.Spots {
		if s.Key == insideKey && s.Flags != 0 {
			on++
		}
	}
	return report.Woven + max(0, len(w.applied)-before), on, nil
}

// IsOpen reports whether what a traced method calls has hooks, as far as it can have them.
func (w *Probes) IsOpen(m classfile.MethodRef) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, probe := range w.plan.Probes {
		f := w.focusOf(probe)
		if f != nil && probe.Level >= probeset.Trace && (slices.Contains(w.plan.tasks, m) || slices.Contains(w.plan.rootsOf(probe), m)) { // trees always have the callees of their roots
			return f.open[m] || f.path[m]
		}
	}
	return !w.plan.closed[m]
}

// MethodOf returns the method in which a hook is.
func (w *Probes) MethodOf(spot uint32) (m classfile.MethodRef, is bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	m, is = w.methods[spot]
	return m, is
}

// MethodsOf returns the known methods in which hooks are.
func (w *Probes) MethodsOf(spots []uint32) (methods []classfile.MethodRef) {
	for _, spot := range spots {
		if m, is := w.MethodOf(spot); is {
			methods = append(methods, m)
		}
	}
	return methods
}

// Roots returns the methods in which probes act.
func (w *Probes) Roots() (roots []classfile.MethodRef) {
	for _, probe := range w.Set().Probes {
		roots = append(roots, w.RootsOf(probe.Name)...)
	}
	return roots
}

// RootsOf returns the methods in which a probe acts.
func (w *Probes) RootsOf(name string) (roots []classfile.MethodRef) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, probe := range w.plan.Probes {
		if probe.Name == name {
			roots = append(roots, w.plan.rootsOf(probe)...)
		}
	}
	return roots
}

// Values returns values that can be read at the entry of a method without side effects.
func (w *Probes) Values(m classfile.MethodRef) []probes.Value {
	w.lock.Lock()
	defer w.lock.Unlock()
	if found, is := w.classes.Find(m); is {
		return w.plan.Values(found)
	}
	return nil
}

// Read reads the files of classes, as far as they are loaded, for Digest.
func (w *Probes) Read(ctx context.Context, classes map[string]bool) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	read, err := w.target.Survey(ctx, func(class string) bool { return classes[class] && !w.classes.Library.Has(class) })
	w.addClasses(read)
	return err
}

// Digest returns the SHA-256 sum of a class file; "" if it is not known.
func (w *Probes) Digest(class string) string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.classes.Digest(class)
}
