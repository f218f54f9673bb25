package cache

import "context"

// A Sought is a class that is wanted as it is woven by a recipe and a spec. Its key, which
// takes time to make, is made when somebody asks for it.
type Sought struct {
	Recipe *Recipe
	Class  []byte // the class file
	Spec   []byte

	private     Original // with a hash that only this cache knows to make
	original    Original // both are made
	key         Key      //   when they are asked for
	hasOriginal bool
	hasKey      bool
}

// Original tells the class file from all others.
func (s *Sought) Original() Original {
	if !s.hasOriginal {
		s.original, s.hasOriginal = OriginalOf(s.Class), true
	}
	return s.original
}

// Key is the name of the entry.
func (s *Sought) Key() Key {
	if !s.hasKey {
		class := s.Original()
		s.key, s.hasKey = s.Recipe.key(&class, s.Spec), true
	}
	return s.key
}

// Find finds an entry; the error is ErrMissing. It takes less time than Get of the key,
// which has to be made first.
func (c *Cache) Find(ctx context.Context, s *Sought) (*Entry, error) {
	if c.disk == nil || c.quiet.blind.Load() {
		return c.Get(ctx, s.Key())
	}
	alias, ok := c.disk.alias(s)
	if !ok {
		return c.Get(ctx, s.Key())
	}
	if e := c.disk.byAlias(ctx, alias, s); e != nil {
		c.quiet.counts.hits.Add(1)
		return e, nil
	}
	c.disk.loose.name(s.Key(), alias)
	e, err := c.Get(ctx, s.Key())
	if err == nil {
		c.gathering.want() // for the next time
	}
	return e, err
}
