package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
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
		s.foresee(ctx, of(c), c, wishes{wanted})
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

// foresee weaves a class for nobody yet, or finds it woven in the cache, and adds what
// came of it.
func (s *Session) foresee(ctx context.Context, loader *PlannedLoader, c candidate, wanted wishes) {
	if c.file == nil {
		loader.Classes++
		loader.Fileless++
		return
	}
	bench := s.benches.Get().(*bench)
	defer s.benches.Put(bench)
	made := &product{class: c.file, picked: newPicking(&s.workshop, wanted)}
	if err := s.obtain(ctx, bench, made); err != nil {
		loader.Left = append(loader.Left, LeftAlone{Class: c.name, Reason: firstLine(err.Error())})
		return
	}
	woven := 0
	for _, r := range made.Methods {
		switch {
		case !made.picked.hooks[r.Name+r.Descriptor]: // only its calls were chosen, or spots
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

func compareLeft(a, b LeftAlone) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Reason, b.Reason))
}
