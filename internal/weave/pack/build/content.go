package build

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// Content is what a pack of it holds. The same archives and the same set give the same
// content.
func (p *Planned) Content() (*pack.Content, error) {
	if err := p.Refusal(); err != nil {
		return nil, err
	}
	watches, err := p.weaver.Watches()
	if err != nil {
		return nil, err
	}
	c := &pack.Content{
		Build: agent.AgentBuild(), Engine: cache.Engine(), Title: p.title(), Probes: p.probes, Watches: watches, Names: p.names(), Left: p.left(),
	}
	for i := range p.Classes {
		if f := &p.Classes[i]; f.entry != nil {
			c.Classes = append(c.Classes, pack.Class{Entry: f.entry, Original: f.original})
		}
	}
	return c, nil
}

// mostTitle bounds how many inputs are named.
const mostTitle = 5

// title names what was packed.
func (p *Planned) title() string {
	var names []string
	for i, path := range p.paths {
		if i == mostTitle {
			names = append(names, "…")
			break
		}
		names = append(names, filepath.Base(path))
	}
	return strings.Join(names, ", ")
}

// names are what spots that watch are about; anchors and tag points have no results.
func (p *Planned) names() (all []pack.Name) {
	for _, s := range p.weaver.Woven() {
		name, groups, is := p.draft.Spot(s.ID)
		if s.Kind != session.Watches || !is {
			continue
		}
		all = append(all, pack.Name{
			ID: s.ID, Class: s.Class, Method: s.Name, Descriptor: s.Descriptor, Probe: name.Probe, Sequence: name.Sequence, Groups: groups,
		})
	}
	return all
}

// left is all that the set names and that has no hook. Classes of the JDK never have one.
func (p *Planned) left() (all []pack.Left) {
	for i := range p.Classes {
		f := &p.Classes[i]
		if f.When != probeset.Static && f.When != probeset.Unstated && !f.IsJDK() {
			all = append(all, pack.Left{Class: f.Class, Reason: f.Why})
		}
		all = append(all, f.Left...)
	}
	all = append(all, p.Broken...)
	slices.SortFunc(all, compareLeft)
	return slices.Compact(all) // classes of one name may share them
}
