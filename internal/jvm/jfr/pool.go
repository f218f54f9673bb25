package jfr

import (
	"fmt"
)

// A place is where a value of a pool is written. Blobs count from 1.
type place struct{ blob, at uint32 }

// A pool has the values of one type that events and other values name by a key.
// Where they are is known from the first; what they are is found out when asked.
type pool struct {
	places table[place]
	texts  table[string] // of values that were asked for as a text
}

// pools are those of a chunk, by the number of their type.
type pools struct {
	blobs [][]byte // what the places are in
	of    map[int64]*pool
}

func newPools() pools { return pools{of: map[int64]*pool{}} }

// bind lets types find their pools; newer metadata has types of its own.
func (p *pools) bind(m *metadata) {
	for id, pool := range p.of {
		if t := m.lookup(id); t != nil {
			t.pool = pool
		}
	}
}

// index notes where the values of a checkpoint are. The event is the last of
// the blobs from its first byte, and the cursor is after its size and type:
//
//	long start, long duration, long distance to the checkpoint before, byte kind,
//	int count, count × (long type, int count, count × (long key, value))
func (p *pools) index(c cursor, m *metadata) error {
	blob := uint32(len(p.blobs))
	c.long()
	c.long()
	c.long()
	c.byte()
	for range c.count() {
		id := int64(c.long())
		n := c.count()
		if c.short {
			break
		}
		t := m.lookup(id)
		if t == nil {
			return fmt.Errorf("checkpoint: values of type %d, which the metadata does not have", id)
		}
		if t.broken {
			return fmt.Errorf("checkpoint: values of type %s, which contains itself", t.Name)
		}
		into := t.pool
		if into == nil {
			into = &pool{}
			t.pool = into
			p.of[id] = into
		}
		for range n {
			key := c.long()
			at := c.at
			t.skip(&c)
			if c.short {
				break
			}
			// A later value of a key is the newer: threads change their name.
			into.places.put(key, place{blob, uint32(at)})
		}
	}
	if c.short {
		return fmt.Errorf("checkpoint: %w", errShort)
	}
	return nil
}

// find returns the bytes that a value begins with, nil where the pool has none.
func (p *pools) find(t *Type, key uint64) []byte {
	if t.pool == nil {
		// A type of older metadata may have got values since.
		if t.pool = p.of[t.ID]; t.pool == nil {
			return nil
		}
	}
	at, ok := t.pool.places.get(key)
	if !ok {
		return nil
	}
	return p.blobs[at.blob-1][at.at:]
}

// A table finds what is under a key. Keys of the JVM mostly count up from 1, so
// most are places in a slice; those that are not are in a map. The zero value
// of T stands for nothing.
type table[T comparable] struct {
	dense  []T
	sparse map[uint64]T
	held   int
}

// A slice may be this many times longer than what it holds, and as long in any
// case as below.
const (
	tableSlack = 4
	tableStart = 256
)

func (t *table[T]) get(key uint64) (found T, ok bool) {
	if key < uint64(len(t.dense)) {
		found = t.dense[key]
	} else if t.sparse != nil {
		found = t.sparse[key]
	}
	var nothing T
	return found, found != nothing
}

func (t *table[T]) put(key uint64, v T) {
	var nothing T
	if v == nothing {
		return
	}
	t.held++
	if key >= uint64(len(t.dense)) {
		if key >= uint64(t.held)*tableSlack+tableStart {
			if t.sparse == nil {
				t.sparse = map[uint64]T{}
			}
			t.sparse[key] = v
			return
		}
		t.grow(int(key) + 1)
	}
	t.dense[key] = v
}

// grow makes the slice longer, and takes what is in its reach from the map.
func (t *table[T]) grow(to int) {
	before := len(t.dense)
	t.dense = append(t.dense, make([]T, max(to, before*2, tableStart)-before)...)
	for key, v := range t.sparse {
		if key < uint64(len(t.dense)) {
			t.dense[key] = v
			delete(t.sparse, key)
		}
	}
}
