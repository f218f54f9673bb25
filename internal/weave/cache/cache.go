package cache

import (
	"context"
)

// mostDeferred is how many bytes may wait to be kept.
const mostDeferred = 64 << 20

// Cache is what a command uses: the disk, and whatever stands behind it. It never
// fails: what is the matter is told once, and the work goes on without.
type Cache struct {
	layers    Layered
	quiet     *Quiet
	deferred  *Deferred
	disk      *Disk // nil where it cannot be had
	gathering *gathering
}

// Open opens the cache on disk, with stores behind it that are farther away. Who is to
// be told what is the matter with any of them is told once; that may be nil.
func Open(o Options, tell func(error), behind ...Store) *Cache {
	c := &Cache{}
	near := Store(None{})
	disk, err := OpenDisk(o)
	if err == nil {
		c.disk, near = disk, disk
	} else if tell != nil {
		tell(err)
	}
	c.quiet = NewQuiet(near, tell)
	c.deferred = NewDeferred(c.quiet, mostDeferred)
	c.gathering = newGathering(c.gather)
	c.layers = Layered{c.deferred}
	for _, store := range behind {
		c.layers = append(c.layers, NewQuiet(store, tell))
	}
	return c
}

// Get finds an entry; the error is ErrMissing.
func (c *Cache) Get(ctx context.Context, key Key) (*Entry, error) { return c.layers.Get(ctx, key) }

// Put has an entry kept soon, if it can be kept. It takes no time, and returns no error.
func (c *Cache) Put(ctx context.Context, key Key, entry *Entry) error {
	_ = c.layers.Put(ctx, key, entry) // too much waits: a cache may lose what it will
	c.gathering.want()
	return nil
}

// gather spares others to read one by one what is new. It can be done another time.
func (c *Cache) gather(ctx context.Context) {
	if c.disk != nil && c.deferred.Flush(ctx) == nil {
		_ = c.disk.Gather(ctx)
	}
}

// Counts is what the cache on disk was good for so far. Entries that wait are in none
// of them.
func (c *Cache) Counts() Counts { return c.quiet.Counts() }

// Close waits, until the context ends, for what is still to be kept.
func (c *Cache) Close(ctx context.Context) error {
	c.gathering.end()
	err := c.deferred.Flush(ctx)
	if err != nil || c.disk == nil {
		return err // who still writes needs the directory
	}
	_ = c.disk.Gather(ctx) // that is for others, and can be done another time
	return c.disk.Close()
}
