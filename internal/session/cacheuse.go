package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// kept is what woven classes are kept by, and how often that was of use.
type kept struct {
	cache  *cache.Cache  // nil where none are kept
	recipe *cache.Recipe // what all orders have in common
	ended  atomic.Bool   // it is asked no more: it was slow, or the session has ended

	woven, found, missed atomic.Int64
}

func (k *kept) init(c *cache.Cache, templates [][]byte) {
	k.cache, k.recipe = c, cache.NewRecipe(cache.Engine(), templates...)
}

// Weavings is where woven classes came from so far. A class counts as often as it was
// wanted; one in which nothing could be woven counts, too.
type Weavings struct {
	Woven  int // by this session
	Cached int // in the cache, as they had been woven before
	Missed int // not in the cache
}

// Weavings is where woven classes came from so far.
func (w *workshop) Weavings() Weavings {
	k := &w.kept
	return Weavings{Woven: int(k.woven.Load()), Cached: int(k.found.Load()), Missed: int(k.missed.Load())}
}

// HasCache reports whether woven classes are kept.
func (w *workshop) HasCache() bool { return w.kept.cache != nil }

// obtain has what is picked of a class woven: by the cache, else by the weaver.
func (w *workshop) obtain(ctx context.Context, b *bench, p *product) (err error) {
	p.Result, p.order, p.entry = weave.Result{}, nil, nil
	o, err := p.picked.order(&b.class, p.class)
	if err != nil || o.isEmpty() {
		return err
	}
	p.order = o
	k := &w.kept
	if k.cache == nil || k.ended.Load() {
		k.woven.Add(1)
		p.Result, err = b.fill(o, p.class)
		return err
	}
	b.spec = o.appendSpec(b.spec[:0])
	original := cache.OriginalOf(p.class)
	key := k.recipe.Key(original, string(b.spec))
	entry := w.find(ctx, b, key)
	if entry != nil && entry.Fits(w.book.identify) {
		k.found.Add(1)
		p.Result, p.entry = entry.Result(), entry
		return nil
	}
	k.missed.Add(1)
	k.woven.Add(1)
	if p.Result, err = b.fill(o, p.class); err != nil {
		return err
	}
	p.entry = w.entry(o, original, &p.Result)
	if entry == nil { // one that does not fit here is of use elsewhere
		k.cache.Put(ctx, key, p.entry)
	}
	return nil
}

// slowFind is from when on the cache is slower than anybody should wait for it: half of
// what the agent waits for a class that loads.
const slowFind = time.Second

// find looks for an entry; nil where there is none. A thread of the program may be
// waiting for its class, so a disk that hangs is asked no more: those that wait for it
// already are given up by the agent.
func (w *workshop) find(ctx context.Context, b *bench, key cache.Key) *cache.Entry {
	if b.alarm == nil {
		b.alarm = time.AfterFunc(slowFind, w.noteSlow)
	} else {
		b.alarm.Reset(slowFind)
	}
	defer b.alarm.Stop()
	entry, err := w.kept.cache.Get(ctx, key)
	if err != nil {
		return nil
	}
	return entry
}

func (w *workshop) noteSlow() {
	if !w.kept.ended.Swap(true) && w.settings.Notice != nil {
		w.settings.Notice(fmt.Sprintf("the cache takes more than %v to be read: it is done without (--cache DIR names another)", slowFind))
	}
}

// entry is what is kept of a weaving.
func (w *workshop) entry(o *order, original cache.Original, result *weave.Result) *cache.Entry {
	at := -1
	return cache.NewEntry(cache.Weaving{
		Class: o.class, Original: original, Engine: w.kept.recipe.Engine(), Made: time.Now(), Result: result,
		Identify: w.book.identify, Calls: o.slots(&w.book),
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
func (w *workshop) fingerprint(codes []weave.Lowered) string {
	if w.kept.cache == nil {
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

// A Stand is a session without a JVM: it does for a class all that a session does when a
// JVM asks what the class is to become, so that one can measure what that takes.
type Stand struct{ session Session }

// NewStand makes one that keeps classes in a cache, or in none where that is nil.
func NewStand(c *cache.Cache) (*Stand, error) {
	s := &Stand{}
	s.session.settings = Settings{Cache: c}
	s.session.book.init()
	return s, s.session.compileTemplates()
}

// Ask asks for hooks in methods.
func (s *Stand) Ask(hooks ...Hook) { s.session.choices.add(&s.session.book, Request{Hooks: hooks}) }

// Weave orders a class, finds or weaves it, and notes what became of it; nil where no
// method of it is woven.
func (s *Stand) Weave(ctx context.Context, name string, class []byte) ([]byte, error) {
	woven, _, err := s.session.weaveBytes(ctx, name, class)
	return woven, err
}

// Weavings is where woven classes came from so far.
func (s *Stand) Weavings() Weavings { return s.session.Weavings() }
