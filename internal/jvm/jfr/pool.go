package jfr

import "fmt"

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
