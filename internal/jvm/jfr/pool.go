package jfr

import (
	"fmt"
)

// A place is the position of a value of a pool. Blobs are numbered from 1.
type place struct{ blob, at uint32 }

// A pool holds the values of one type that events and other values refer to by a key. It
// records their positions; values are decoded on demand.
type pool struct {
	places table[place]
	texts  table[string] // values that were decoded as text
}

// pools are the pools of a chunk, by the number of their type.
type pools struct {
	blobs [][]byte // the checkpoints that places refer to
	of    map[int64]*pool
}

func newPools() pools { return pools{of: map[int64]*pool{}} }

// bind connects types with their pools. Newer metadata has types of its own.
func (p *pools) bind(m *metadata) {
	for id, pool := range p.of {
		if t := m.lookup(id); t != nil {
			t.pool = pool
		}
	}
}

// index records the positions of the values of a checkpoint, which is the last of the blobs.
// The cursor is at its fields:
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
			return fmt.Errorf("checkpoint: values of type %s, which contains itself", t.name)
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
			// A later value replaces an earlier one: threads change their names.
			into.places.put(key, place{blob, uint32(at)})
		}
	}
	if c.short {
		return fmt.Errorf("checkpoint: %w", errShort)
	}
	return nil
}

// find returns the bytes from the start of a value on, nil if the pool does not have it.
func (p *pools) find(t *typeDef, key uint64) []byte {
	if t.pool == nil {
		// A type of older metadata may have received values since.
		if t.pool = p.of[t.id]; t.pool == nil {
			return nil
		}
	}
	at, ok := t.pool.places.get(key)
	if !ok {
		return nil
	}
	return p.blobs[at.blob-1][at.at:]
}

// A table maps keys to values. The JVM's keys mostly count up from 1, so most values are in
// a slice, the rest in a map. The zero value of T means that there is no value.
type table[T comparable] struct {
	dense  []T
	sparse map[uint64]T
	held   int
}

// The slice may be tableSlack times longer than the number of its values, and always
// tableStart long.
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

// grow makes the slice longer and moves values from the map into it.
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
