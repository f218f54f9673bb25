package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
)

// intrinsicNotes name the methods whose calls are a lower bound: those with calls, and those
// that a reader would take for not called.
func (r *run) intrinsicNotes(p *cct.Profile) (notes []string) {
	counted := make(map[string]bool)
	for _, m := range p.Methods {
		counted[m.Class+"."+m.Name+m.Descriptor] = true
	}
	var bounds, unsure []string
	for _, m := range r.session.MethodsSoFar() {
		switch name := strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name; {
		case !m.LowerBound:
		case counted[m.Class+"."+m.Name+m.Descriptor]:
			bounds = append(bounds, name)
		default:
			unsure = append(unsure, name)
		}
	}
	if len(bounds) > 0 {
		notes = append(notes, fmt.Sprintf("calls of %s are a lower bound (≥): %s", some(bounds), session.WhyLowerBound))
	}
	if len(unsure) > 0 {
		notes = append(notes, fmt.Sprintf("whether %s had calls is not known: %s", some(unsure), session.WhyLowerBound))
	}
	return notes
}

// some are the first few of names.
func some(names []string) string {
	const most = 20
	names = slices.Compact(names) // overloads are next to each other
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// mayHaveMissedRoot reports whether a root may have been called without its hook.
func (r *run) mayHaveMissedRoot() bool {
	for _, m := range r.session.MethodsSoFar() {
		if m.LowerBound && r.settings.roots.Match(m.Class, m.Name, m.Descriptor) {
			return true
		}
	}
	return false
}
