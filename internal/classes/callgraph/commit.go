package callgraph

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// change says what a class file brought to a class.
type change struct {
	class classID
	grown []methodID // methods whose bodies make further calls
	seeks bool       // further names are looked up
}

// commit makes a draft part of the hierarchy. It returns the classes that changed:
// the class itself and its new lambdas; none where the file was known.
func (h *hierarchy) commit(d *draft) []change {
	if slices.Contains(h.classes[d.class].versions, d.sum) {
		return nil
	}
	h.classes[d.class].versions = append(h.classes[d.class].versions, d.sum)
	for _, super := range d.supers {
		h.inherit(d.class, super)
	}
	changed := change{class: d.class}
	declared := make(map[methodID]bool, len(d.methods))
	for _, m := range d.methods {
		id := h.declare(d.class, m.sig)
		// Nothing overrides a constructor or static initialiser.
		named := !strings.HasPrefix(h.sigs[m.sig].name, "<")
		if h.methods[id].merge(m, named, !declared[id]) {
			changed.grown = append(changed.grown, id)
		}
		declared[id] = true
	}
	h.classes[d.class].outward = union(h.classes[d.class].outward, d.outward)
	for _, name := range d.sought {
		changed.seeks = changed.seeks || !h.sought[name]
		h.sought[name] = true
	}
	changes := []change{changed}
	for i := range d.lambdas {
		l := &d.lambdas[i]
		if key := l.key(); !h.lambdas[key] {
			h.lambdas[key] = true
			changes = append(changes, change{class: h.addLambda(d.class, l, len(h.lambdas))})
		}
	}
	for _, c := range changes {
		h.noteOpen(c.class)
	}
	return changes
}

// merge adds what one version says of a method, and reports whether it brings
// further calls. A version counts once, though a damaged one declares it twice.
func (m *method) merge(d draftMethod, named, first bool) bool {
	instance := named && !d.access.Has(classfile.AccStatic) && !d.access.Has(classfile.AccPrivate)
	if first {
		m.versions++
		if instance {
			m.selected++
		}
	}
	m.static = m.static || d.access.Has(classfile.AccStatic)
	m.virtual = m.virtual || instance
	m.exposed = m.exposed || instance && (d.access.Has(classfile.AccPublic) || d.access.Has(classfile.AccProtected))
	m.native = m.native || d.access.Has(classfile.AccNative)
	m.shape = m.shape.or(d.shape)
	m.code = m.code || !d.access.Has(classfile.AccNative) && !d.access.Has(classfile.AccAbstract)
	before := len(m.calls)
	m.calls = union(m.calls, d.calls)
	return len(m.calls) > before
}

// addLambda adds a class without a file. Its name is none that a class file can have.
func (h *hierarchy) addLambda(maker classID, l *draftLambda, number int) classID {
	id := h.classNamed(fmt.Appendf(nil, "%s%s%d", h.classes[maker].name, lambdaMark, number))
	c := &h.classes[id]
	c.lambda = true
	c.skipped = h.classes[maker].skipped
	c.versions = append(c.versions, [sha256.Size]byte{})
	for _, super := range l.supers {
		h.inherit(id, super)
	}
	for _, s := range l.sigs {
		m := &h.methods[h.declare(id, s)]
		m.versions, m.selected, m.virtual, m.exposed = 1, 1, true, true
		m.calls = union(m.calls, l.calls)
	}
	return id
}

// union returns the calls of both, in order.
func union(a, b []callID) []callID {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return slices.Clone(b)
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}
