package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/cache"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// kept is what woven classes are kept by, and how often that was of use.
type kept struct {
	cache  *cache.Cache  // nil where none are kept
	recipe *cache.Recipe // what all orders have in common
	ended  atomic.Bool   // it is asked no more: it was slow, or the session has ended

	woven, found, missed atomic.Int64
}

func (k *kept) init(c *cache.Cache, templates [][]byte) {
	if c != nil {
		k.cache, k.recipe = c, cache.NewRecipe(cache.Engine(), templates...)
	}
}

// Weavings is where woven classes came from so far. A class counts as often as it was
// wanted; one in which nothing could be woven counts, too.
type Weavings struct {
	Woven  int // by this session
	Cached int // in the cache, as they had been woven before
	Missed int // not in the cache
}

// Weavings is where woven classes came from so far.
func (s *Session) Weavings() Weavings {
	k := &s.kept
	return Weavings{Woven: int(k.woven.Load()), Cached: int(k.found.Load()), Missed: int(k.missed.Load())}
}

// HasCache reports whether woven classes are kept.
func (s *Session) HasCache() bool { return s.kept.cache != nil }

// obtain has what is picked of a class woven: by the cache, else by the weaver. The
// result's list of methods lives until the bench is used again.
func (s *Session) obtain(ctx context.Context, b *bench, picked *picking, class []byte) (weave.Result, error) {
	o, err := picked.order(&b.class, class)
	if err != nil || o.isEmpty() {
		return weave.Result{}, err
	}
	k := &s.kept
	if k.cache == nil || k.ended.Load() {
		k.woven.Add(1)
		return b.fill(o, class)
	}
	original := cache.OriginalOf(class)
	b.spec = o.appendSpec(b.spec[:0])
	key := k.recipe.Key(original, string(b.spec))
	entry := s.find(ctx, b, key)
	if entry != nil && entry.Fits(s.book.identify) {
		k.found.Add(1)
		return *entry.Result(), nil
	}
	k.missed.Add(1)
	k.woven.Add(1)
	result, err := b.fill(o, class)
	if err == nil && entry == nil { // one that does not fit here is of use elsewhere
		_ = k.cache.Put(ctx, key, s.entry(o, original, &result)) // it never fails
	}
	return result, err
}

// slowFind is from when on the cache is slower than anybody should wait for it: half of
// what the agent waits for a class that loads.
const slowFind = time.Second

// find looks for an entry; nil where there is none. A thread of the program may be
// waiting for its class, so a disk that hangs is asked no more: those that wait for it
// already are given up by the agent.
func (s *Session) find(ctx context.Context, b *bench, key cache.Key) *cache.Entry {
	if b.alarm == nil {
		b.alarm = time.AfterFunc(slowFind, s.noteSlow)
	} else {
		b.alarm.Reset(slowFind)
	}
	defer b.alarm.Stop()
	entry, err := s.kept.cache.Get(ctx, key)
	if err != nil {
		return nil
	}
	return entry
}

func (s *Session) noteSlow() {
	if !s.kept.ended.Swap(true) && s.settings.Notice != nil {
		s.settings.Notice(fmt.Sprintf("the cache takes more than %v to be read: it is done without (--cache DIR names another)", slowFind))
	}
}

// entry is what is kept of a weaving.
func (s *Session) entry(o *order, original cache.Original, result *weave.Result) *cache.Entry {
	at := -1
	return cache.NewEntry(cache.Weaving{
		Class: o.class, Original: original, Engine: s.kept.recipe.Engine(), Made: time.Now(), Result: result,
		Identify: s.book.identify, Calls: o.slots(&s.book),
		Templates: func(name, descriptor string) (names []string) {
			// Results are in the order of the class.
			for at++; at < len(o.methods); at++ {
				if m := &o.methods[at]; m.name == name && m.descriptor == descriptor {
					return templateNames(m.templates)
				}
			}
			return nil
		},
	})
}

// templateNames are names for people.
func templateNames(templates []*weave.Template) (names []string) {
	for _, t := range templates {
		names = append(names, t.Name()[strings.LastIndexByte(t.Name(), '.')+1:])
	}
	return names
}

// fingerprint tells code from all other: it is a hash of what is lowered, at each
// moment. Where nothing is kept nobody asks.
func (s *Session) fingerprint(codes []weave.Lowered) string {
	if s.kept.cache == nil {
		return ""
	}
	sum := sha256.New()
	for i, code := range codes {
		for _, at := range moments {
			if code == nil {
				continue
			}
			// Where it fails it does not run at that moment, or the spot has no template.
			if f, err := code.Lower(at); err == nil {
				_, _ = fmt.Fprintf(sum, "%d %d %#v\n", i, at, *f) // all of it, quoted; a hash never fails
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
