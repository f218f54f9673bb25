package context

import (
	"slices"
	"strings"
)

// trail is a stack for people, outermost frame first.
func trail(f *frame) string {
	var names []string
	for ; f != nil; f = f.outer {
		switch {
		case f.gap:
			names = append(names, "("+forms[f.form].name+")")
		case f.method == nil:
			names = append(names, "…")
		default:
			names = append(names, f.method.String())
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}
