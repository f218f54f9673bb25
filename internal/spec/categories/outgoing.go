package categories

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// targetPrefix begins the names of the tags that say what an outgoing call inside a transaction calls. Tags
// of users cannot change them.
const targetPrefix = "sonde_"

// IsTarget reports whether a tag says what an outgoing call inside a transaction calls.
func IsTarget(tag string) bool { return strings.HasPrefix(tag, targetPrefix) }

// Outgoing returns probes for outgoing calls of categories inside the transactions of other probes, and the tags that say
// what is called. Where a program has no such calls, they have no effect.
func Outgoing(names ...string) (probes []probeset.Probe, tags []probeset.Tag, err error) {
	r, err := Read(names...)
	if err != nil {
		return nil, nil, err
	}
	var targets []string
	for _, p := range r.Set.Probes {
		if p.Direction != probeset.Out {
			continue
		}
		p.Level, p.Inside = probeset.Trace, true
		if p.Fails = nil; p.When != nil && p.When.ReadsExit() {
			p.When = nil // waiting in vain is a part of a transaction, too
		}
		p.GroupBy = nil
		for _, tag := range r.Key(Category{p.Category, probeset.Out}) {
			targets = append(targets, tag)
			p.GroupBy = append(p.GroupBy, targetPrefix+tag)
		}
		probes = append(probes, p)
	}
	for _, t := range r.Set.Tags {
		if slices.Contains(targets, t.Name) {
			t.Name, t.Optional = targetPrefix+t.Name, true
			tags = append(tags, t)
		}
	}
	return probes, tags, nil
}
