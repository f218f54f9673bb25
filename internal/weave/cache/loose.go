package cache

import (
	"bytes"
	"slices"
	"sync"
)

// loose are entries that a process found, or kept, in files of their own.
type loose struct {
	mu      sync.Mutex
	entries map[Key]looseEntry
}

type looseEntry struct {
	alias    Key
	hasAlias bool
	isThere  bool
}

// mostLoose is how many are remembered; others are gathered another time.
const mostLoose = 1 << 15

// name notes the alias of an entry that may not be there yet.
func (l *loose) name(key, alias Key) {
	l.change(key, func(e *looseEntry) { e.alias, e.hasAlias = alias, true })
}

// add notes that an entry is there.
func (l *loose) add(key Key) {
	l.change(key, func(e *looseEntry) { e.isThere = true })
}

// addNamed notes that an entry is there, if it has an alias by which it was not found.
func (l *loose) addNamed(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, isKnown := l.entries[key]; isKnown {
		e.isThere = true
		l.entries[key] = e
	}
}

func (l *loose) change(key Key, change func(*looseEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, isKnown := l.entries[key]
	if l.entries == nil {
		l.entries = make(map[Key]looseEntry)
	}
	if change(&e); isKnown || len(l.entries) < mostLoose {
		l.entries[key] = e
	}
}

// remove forgets entries: they are in a segment, or found no room in one.
func (l *loose) remove(entries []named) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range entries {
		delete(l.entries, entries[i].key)
	}
}

// A named is an entry with all its names.
type named struct {
	key, alias Key
	hasAlias   bool
}

// list gives all that are there, in the order of their keys.
func (l *loose) list() []named {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []named
	for key, e := range l.entries {
		if e.isThere {
			all = append(all, named{key, e.alias, e.hasAlias})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return bytes.Compare(a.key[:], b.key[:]) })
	return all
}
