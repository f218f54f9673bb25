package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave"
)

// A Plan is what Instrument would do.
type Plan struct {
	Loaded    int // classes of the JVM
	Matched   int // of those, that a pattern names
	Unmatched []Unmatched
	Loaders   []PlannedLoader // those with a class that is named, the boot loader first
}

// A PlannedLoader is a class loader with its classes that patterns name.
type PlannedLoader struct {
	Number   uint32 // of this session; 0 is the boot loader
	Example  string // one of its classes, with dots
	Classes  int    // that would be woven
	Methods  int    // in them, as far as their files are found
	Fileless int    // of Classes, those whose file is not found: what they hold shows when they are woven
	Left     []LeftAlone
}

// Plan tells what Instrument would put hooks into, and what it would leave
// alone. Nothing is woven, so what only the JVM can say is not in it: a class
// that it refuses, or that does not run what its file holds.
func (s *Session) Plan(ctx context.Context, wanted Wanted) (*Plan, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	chosen, err := s.choose(ctx, classes, wishes{wanted})
	if err != nil {
		return nil, err
	}
	loaders := make(map[uint32]*PlannedLoader)
	of := func(c candidate) *PlannedLoader {
		if loaders[c.loader] == nil {
			loaders[c.loader] = &PlannedLoader{Number: c.loader, Example: strings.ReplaceAll(c.name, "/", ".")}
		}
		return loaders[c.loader]
	}
	for _, c := range chosen.picked {
		s.foresee(of(c), c, wishes{wanted})
	}
	for _, c := range chosen.left {
		of(c).Left = append(of(c).Left, LeftAlone{Class: c.name, Reason: c.reason})
	}
	plan := &Plan{Loaded: len(classes), Matched: chosen.matched, Unmatched: unmatched(wanted.Methods, classes)}
	for _, number := range slices.Sorted(maps.Keys(loaders)) {
		slices.SortFunc(loaders[number].Left, compareLeft)
		plan.Loaders = append(plan.Loaders, *loaders[number])
	}
	return plan, nil
}

// foresee weaves a class for nobody, and adds what came of it.
func (s *Session) foresee(loader *PlannedLoader, c candidate, wanted wishes) {
	if c.file == nil {
		loader.Classes++
		loader.Fileless++
		return
	}
	weaver := s.weavers.Get().(*weave.Weaver)
	defer s.weavers.Put(weaver)
	picked := make(map[string]bool)
	result, err := weaver.Append(nil, c.file, s.picker(wanted, picked))
	if err != nil {
		loader.Left = append(loader.Left, LeftAlone{Class: c.name, Reason: firstLine(err.Error())})
		return
	}
	woven := 0
	for _, r := range result.Methods {
		switch {
		case !picked[r.Name+r.Descriptor]: // only its calls were chosen
			continue
		case r.Woven:
			woven++
			continue
		}
		loader.Left = append(loader.Left, LeftAlone{c.name, r.Name + r.Descriptor, r.Reason.Error()})
	}
	if woven > 0 {
		loader.Classes++
		loader.Methods += woven
	}
}

// picker tells a weaver which methods get templates. It adds those that get a hook
// of their own to picked, by name and descriptor.
func (s *Session) picker(wanted wishes, picked map[string]bool) func(weave.MethodInfo) []*weave.Template {
	templates := []*weave.Template{s.templates.live}
	return func(m weave.MethodInfo) []*weave.Template {
		if !m.HasCode {
			return nil
		}
		_, is := wanted.find(m.Class, m.Name, m.Descriptor)
		if !is {
			_, is = s.choices.find(m.Class, m.Name+m.Descriptor)
		}
		if is {
			picked[m.Name+m.Descriptor] = true
		}
		if telling := s.reflection(m); telling != nil {
			if is {
				return []*weave.Template{s.templates.live, telling}
			}
			return []*weave.Template{telling}
		}
		if is {
			return templates
		}
		return nil
	}
}

func compareLeft(a, b LeftAlone) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Reason, b.Reason))
}
