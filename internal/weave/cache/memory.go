package cache

import (
	"container/list"
	"context"
	"sync"
)

// Memory is a store of one process.
type Memory struct {
	mu      sync.Mutex
	bound   int
	held    int
	entries map[Key]*list.Element // of kept
	order   list.List             // the one used last first
}

type kept struct {
	key   Key
	entry *Entry
	size  int
}

// NewMemory keeps entries of about so many bytes together.
func NewMemory(bound int) *Memory {
	return &Memory{bound: bound, entries: make(map[Key]*list.Element)}
}

// Get finds an entry.
func (m *Memory) Get(_ context.Context, key Key) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[key]
	if element == nil {
		return nil, ErrMissing
	}
	m.order.MoveToFront(element)
	return element.Value.(*kept).entry, nil
}

// Put keeps an entry; those go that were not used for longest.
func (m *Memory) Put(_ context.Context, key Key, entry *Entry) error {
	size := entry.weight()
	if size > m.bound {
		return ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] != nil {
		return nil
	}
	for m.held+size > m.bound {
		oldest := m.order.Remove(m.order.Back()).(*kept)
		delete(m.entries, oldest.key)
		m.held -= oldest.size
	}
	m.entries[key] = m.order.PushFront(&kept{key, entry, size})
	m.held += size
	return nil
}

// weight is about what an entry takes in memory.
func (e *Entry) weight() int {
	const entry, method = 512, 256
	size := entry + len(e.Woven) + method*len(e.Methods)
	for i := range e.Methods {
		m := &e.Methods[i]
		size += len(m.Name) + len(m.Descriptor) + len(m.Offsets) + method*len(m.Left)
	}
	return size
}
