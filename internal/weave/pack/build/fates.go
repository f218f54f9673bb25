package build

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

const (
	ofJDK    = "classes of the JDK load before a pack can weave them: use sonde apply on the running program"
	noRule   = "no rule names it"
	notWoven = "nothing of it can be woven"
)

// weave weaves the classes that get hooks, several at a time.
func (p *Planned) weave(ctx context.Context, sources []*source, classes []universe.Loaded, set *probeset.Set, progress func(done, all int64)) error {
	var todo []int
	for i := range classes {
		if classes[i].Reason == "" && p.request.MatchClass(classes[i].Name) {
			todo = append(todo, i)
		}
	}
	woven, err := p.weaveAll(ctx, sources, todo, progress)
	if err != nil {
		return err
	}
	left := p.leftOut()
	for at, i := range todo {
		if fate := fateOf(sources[i], woven[at], left, set); fate != nil {
			p.Classes = append(p.Classes, *fate)
		}
	}
	return nil
}

// An outcome is the result of weaving a class.
type outcome struct {
	*instrument.WovenFile
	err error
}

// weaveAll weaves classes in parallel and returns the outcomes in their order.
func (p *Planned) weaveAll(ctx context.Context, sources []*source, todo []int, progress func(done, all int64)) ([]outcome, error) {
	outcomes := make([]outcome, len(todo))
	var lock sync.Mutex // of done
	done := 0
	pack.InParallel(len(todo), func() func(int) {
		return func(at int) {
			if ctx.Err() != nil {
				return
			}
			outcomes[at].WovenFile, outcomes[at].err = p.weaver.Weave(ctx, sources[todo[at]].file)
			lock.Lock()
			defer lock.Unlock()
			if done++; progress != nil {
				progress(int64(done), int64(len(todo)))
			}
		}
	})
	return outcomes, ctx.Err()
}

// leftOut returns, by class, what probes and tags name and have no hook in.
func (p *Planned) leftOut() map[string][]pack.Left {
	all := make(map[string][]pack.Left)
	each(p.Probes, p.Tags, func(what string, a *applied) {
		for _, left := range a.LeftOut {
			class, method := splitMethod(left.Method)
			all[class] = append(all[class], pack.Left{Class: class, Method: method, Reason: what + ": " + firstLine(left.Err.Error())})
		}
	})
	return all
}

// splitMethod splits a.b.C.name(descriptor), or a.b.C alone.
func splitMethod(text string) (class, method string) {
	if m, isMethod := classfile.ParseMethodRef(text); isMethod {
		return m.Class, m.Member()
	}
	return strings.ReplaceAll(text, ".", "/"), ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// fateOf returns the fate of a class that should get hooks, or nil if the set names none of
// its methods.
func fateOf(c *source, made outcome, leftOut map[string][]pack.Left, set *probeset.Set) *Fate {
	fate := &Fate{Class: c.name, In: c.in, When: probeset.Static, Why: noRule, original: c.file}
	if _, rule := set.When(c.name); rule != "" {
		fate.Why = rule
	}
	if made.err != nil {
		fate.Left = append(fate.Left, pack.Left{Class: c.name, Reason: firstLine(made.err.Error())})
	} else {
		for _, left := range made.Left {
			fate.Left = append(fate.Left, pack.Left(left))
		}
		if made.Entry != nil && made.Entry.Woven != nil {
			fate.entry = made.Entry
		}
	}
	fate.Left = append(fate.Left, leftOut[c.name]...)
	slices.SortFunc(fate.Left, compareLeft)
	fate.Left = slices.Compact(fate.Left)
	if fate.entry == nil {
		if len(fate.Left) == 0 {
			return nil
		}
		fate.When, fate.Why = probeset.Unstated, notWoven
		return fate
	}
	for i := range fate.entry.Methods {
		if fate.entry.Methods[i].Woven {
			fate.Methods++
		}
	}
	return fate
}

func compareLeft(a, b pack.Left) int {
	return cmp.Or(strings.Compare(a.Class, b.Class), strings.Compare(a.Method, b.Method), strings.Compare(a.Reason, b.Reason))
}

// addNamed adds classes that the set names and that get no hooks in advance.
func (p *Planned) addNamed(sources []*source, set *probeset.Set) {
	where := make(map[place]*source, len(sources))
	for _, c := range sources {
		where[place{c.name, c.loader}] = c
	}
	for _, n := range p.draft.Named {
		fate := Fate{Class: n.Class, Methods: n.Methods}
		when, rule := set.When(n.Class)
		c := where[place{n.Class, n.Loader}]
		switch {
		case c == nil && when == probeset.Never:
			fate.When, fate.Why = when, rule
		case c == nil:
			fate.When, fate.Why = probeset.Dynamic, ofJDK
		case when == probeset.Unstated || when == probeset.Static:
			fate.In, fate.When, fate.Why = c.in, probeset.Never, obstacle(n.Class, set)
		default:
			fate.In, fate.When, fate.Why = c.in, when, rule
		}
		p.Classes = append(p.Classes, fate)
	}
}

type applied = probes.Applied

// each visits probes and tags, with their names.
func each(probes, tags []probes.Applied, visit func(what string, a *applied)) {
	for i := range probes {
		visit("probe "+probes[i].Name, &probes[i])
	}
	for i := range tags {
		visit("tag "+tags[i].Name, &tags[i])
	}
}

// An Unmatched is a pattern, or an element of a sequence, that matches no method of the
// archives.
type Unmatched struct {
	What    string `json:"what"` // "probe pay" or "tag tier"
	Pattern string `json:"pattern"`
	InJDK   bool   `json:"inJDK,omitempty"` // it matches methods of the JDK
}

// addUnmatched finds patterns that match nothing. It removes from probes and tags the classes
// without hooks, whose fates are listed.
func (p *Planned) addUnmatched(set *probeset.Set) {
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
		a.LeftOut = slices.DeleteFunc(a.LeftOut, func(left probes.LeftOut) bool {
			class, method := splitMethod(left.Method)
			return method == "" && obstacle(class, set) != ""
		})
	})
}
