package build

import (
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

type applied = liveprobes.Applied

// each visits what became of probes and tags, with what they are called.
func each(probes, tags []liveprobes.Applied, visit func(what string, a *applied)) {
	for i := range probes {
		visit("probe "+probes[i].Name, &probes[i])
	}
	for i := range tags {
		visit("tag "+tags[i].Name, &tags[i])
	}
}

// An Unmatched is a pattern, or an element of a sequence, that names no method of the
// archives.
type Unmatched struct {
	What    string // "probe pay" or "tag tier"
	Pattern string
	InJDK   bool // it names methods of the JDK
}

// addUnmatched finds what names nothing. Of classes that get no hooks the fates tell, so
// probes and tags need not.
func (p *Planned) addUnmatched(rules *probeset.Rules) {
	inJDK := make(map[string]bool)
	for _, n := range p.draft.Named {
		for _, pattern := range n.Patterns {
			inJDK[pattern] = inJDK[pattern] || n.Loader == 0
		}
	}
	each(p.Probes, p.Tags, func(what string, a *applied) {
		for _, pattern := range a.Unmatched {
			p.Unmatched = append(p.Unmatched, Unmatched{what, pattern, inJDK[pattern]})
		}
		a.LeftOut = slices.DeleteFunc(a.LeftOut, func(left liveprobes.LeftOut) bool {
			class, method := splitMethod(left.Method)
			return method == "" && obstacle(class, rules) != ""
		})
	})
}
