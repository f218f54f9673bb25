package categories

import (
	_ "embed" // of the names
	"slices"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

//go:embed names.yaml
var names []byte

// Tasks is the category of what executors run.
const Tasks = "tasks"

// Locks is the category of waiting for locks. Only stacks show it.
const Locks = "locks"

// vague are the rules that select calls by data. Their methods can do other work, too.
var vague = []string{"netty-server", "tasks"}

var named = sync.OnceValue(func() (probes []probeset.Probe) {
	for _, text := range [][]byte{rules, names} {
		if set, err := probeset.ParseOwn(text, "names.yaml"); err == nil { // a test reads both
			probes = append(probes, set.Probes...)
		}
	}
	return slices.DeleteFunc(probes, func(p probeset.Probe) bool { return slices.Contains(vague, p.Name) })
})

// Of returns the category of a method that calls of a category begin with; "" for other methods. isSubtype reports whether a
// class is another or below it; if it is nil, only names count.
func Of(m classfile.MethodRef, isSubtype func(class, super string) bool) string {
	for _, p := range named() {
		if slices.ContainsFunc(p.Methods, func(at *pattern.Pattern) bool { return at.Names(m, isSubtype) }) {
			return p.Category
		}
	}
	return ""
}
