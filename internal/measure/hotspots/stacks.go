package hotspots

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A Path is a way the program got somewhere: the methods of a stack, the innermost
// first.
type Path struct {
	Methods   []*jfr.Method
	Truncated bool // the outermost are missing
	Samples   int
	Weight    float64 // in samples of Java code
	Part      float64 // of all that ran
}

// Stacks are the ways that were taken, most first. Two that differ in lines alone
// are one.
func (t *Table) Stacks() []Path {
	found := map[string]*Path{}
	var text strings.Builder
	for i, s := range t.samples {
		if t.weights[i] == 0 {
			continue
		}
		text.Reset()
		for _, frame := range s.Stack.Frames {
			if frame.Method != nil {
				text.WriteString(strconv.Itoa(t.names[identityOf(frame.Method)]))
			}
			text.WriteByte(' ')
		}
		p := found[text.String()]
		if p == nil {
			p = &Path{Truncated: s.Stack.Truncated}
			for _, frame := range s.Stack.Frames {
				if frame.Method != nil {
					p.Methods = append(p.Methods, t.Methods[t.names[identityOf(frame.Method)]].Method)
				}
			}
			found[text.String()] = p
		}
		p.Samples++
		p.Weight += t.weights[i]
	}
	paths := make([]Path, 0, len(found))
	for _, p := range found {
		p.Part = p.Weight / t.whole
		paths = append(paths, *p)
	}
	slices.SortFunc(paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), slices.CompareFunc(a.Methods, b.Methods, func(a, b *jfr.Method) int {
			return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Descriptor, b.Descriptor))
		}))
	})
	return paths
}
