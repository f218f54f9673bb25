package session

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// isOuter reports whether a hook counts all calls of its method, not only those below other methods, or those that were slow.
func isOuter(flags arena.Flags) bool {
	return flags&arena.On != 0 && flags&(arena.Inside|arena.Late) == 0
}

// Outer returns the ids of the hooks that count all calls of their methods.
func (l *Look) Outer() map[uint32]bool {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	ids := map[uint32]bool{}
	for m, h := range l.wants.hooks {
		if isOuter(h.Flags) {
			ids[l.weaver.ID(m)] = true
		}
	}
	for _, spot := range l.wants.spots {
		if isOuter(spot.Flags) {
			ids[l.weaver.SpotID(spot)] = true
		}
	}
	return ids
}

// others returns all hooks of the look but some.
func (l *Look) others(kept map[uint32]bool) (all Request) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for m, h := range l.wants.hooks {
		if !kept[l.weaver.ID(m)] {
			all.Hooks = append(all.Hooks, h)
		}
	}
	for _, site := range l.wants.sites {
		all.Sites = append(all.Sites, site)
	}
	for _, spot := range l.wants.spots {
		if !kept[l.weaver.SpotID(spot)] {
			all.Spots = append(all.Spots, spot)
		}
	}
	all.Reflection = l.wants.reflection
	return all
}

// HasOthers reports whether the look has hooks beside some.
func (l *Look) HasOthers(kept map[uint32]bool) bool {
	all := l.others(kept)
	return len(all.Hooks)+len(all.Sites)+len(all.Spots) > 0
}

// Keep removes all hooks but some, and follows no classes that load.
func (l *Look) Keep(ctx context.Context, kept map[uint32]bool) error {
	// The agent may still show a class that loads, for another look or because it has not got the filter yet.
	none := Follower{Only: []control.Filter{}, Loading: func(string, []byte) Request { return Request{} }}
	if err := l.Follow(ctx, none); err != nil {
		return err
	}
	before := l.Classes()
	_, err := l.Unhook(ctx, l.others(kept))
	after := l.Classes()
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	l.restored += before - after
	return err
}

// CallsOf returns how often the methods of some hooks were called.
func (l *Look) CallsOf(ids map[uint32]bool) (calls uint64, err error) {
	sum, err := l.Counts()
	if err != nil {
		return 0, err
	}
	for id := range ids {
		if t := sum.Methods[id]; t != nil {
			calls += t.Calls
		}
	}
	return calls, nil
}
