package session

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// isInner reports whether a hook is there only for calls below other methods, which are the outer ones.
func isInner(flags arena.Flags) bool { return flags&arena.Inside != 0 }

// inner returns all hooks of the look but those of outer methods.
func (l *Look) inner() (all Request) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for _, h := range l.wants.hooks {
		if isInner(h.Flags) {
			all.Hooks = append(all.Hooks, h)
		}
	}
	for _, site := range l.wants.sites {
		all.Sites = append(all.Sites, site)
	}
	for _, spot := range l.wants.spots {
		if isInner(spot.Flags) {
			all.Spots = append(all.Spots, spot)
		}
	}
	all.Reflection = l.wants.reflection
	return all
}

// HasInner reports whether the look has hooks for calls below outer methods.
func (l *Look) HasInner() bool {
	all := l.inner()
	return len(all.Hooks)+len(all.Sites)+len(all.Spots) > 0
}

// KeepOuter removes all hooks but those of outer methods, and follows no classes that load.
func (l *Look) KeepOuter(ctx context.Context) error {
	if err := l.Follow(ctx, Follower{Only: []control.Filter{}}); err != nil {
		return err
	}
	before := l.Classes()
	_, err := l.Unhook(ctx, l.inner())
	after := l.Classes()
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	l.restored += before - after
	return err
}

// OuterCalls returns how often the outer methods were called.
func (l *Look) OuterCalls() (calls uint64, err error) {
	sum, err := l.Sum()
	if err != nil {
		return 0, err
	}
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	add := func(id uint32, flags arena.Flags) {
		if t := sum.Methods[id]; t != nil && !isInner(flags) {
			calls += t.Calls
		}
	}
	for m, h := range l.wants.hooks {
		add(l.weaver.ID(m), h.Flags)
	}
	for _, spot := range l.wants.spots {
		add(l.weaver.SpotID(spot), spot.Flags)
	}
	return calls, nil
}
