package instrument

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

// cacheUse is a Weaver's use of the cache of woven classes.
type cacheUse struct {
	cache       *cache.Cache  // nil for none
	recipe      *cache.Recipe // what all plans have in common
	ended       atomic.Bool   // the cache is not read any more: it was slow, or its owner may close it
	alwaysEntry bool          // entries are made also without a cache

	woven, found, missed atomic.Int64
}

// Weavings counts where woven classes came from. A class counts each time it is
// requested, also if none of its methods could be woven.
type Weavings struct {
	Woven  int `json:"classesWoven"`     // by this process
	Cached int `json:"classesFromCache"` // found in the cache
	Missed int `json:"-"`                // not found in the cache
}

// Weavings returns the counts so far.
func (w *Weaver) Weavings() Weavings {
	u := &w.cache
	return Weavings{Woven: int(u.woven.Load()), Cached: int(u.found.Load()), Missed: int(u.missed.Load())}
}

// HasCache reports whether woven classes are cached.
func (w *Weaver) HasCache() bool { return w.cache.cache != nil }

// ReleaseCache stops the use of the cache, so that its owner may close it.
func (w *Weaver) ReleaseCache() { w.cache.ended.Store(true) }

// obtain finds a class in the cache or weaves it. The class is parsed once for both.
func (w *Weaver) obtain(ctx context.Context, b *bench, class []byte, pattern *Pattern, lean map[string]string) (*Outcome, *plan, error) {
	parsed, err := b.weaver.Read(class)
	if err != nil {
		return nil, nil, err
	}
	p, err := w.newPlan(parsed, pattern, lean)
	if err != nil {
		return nil, nil, err
	}
	out := &Outcome{SpotsLeft: p.left}
	if p.isEmpty() {
		return out, p, nil
	}
	u := &w.cache
	hasCache := u.cache != nil && !u.ended.Load()
	var original cache.Original
	var key cache.Key
	var found *cache.Entry
	if hasCache || u.alwaysEntry {
		original = cache.OriginalOf(class)
	}
	if hasCache {
		b.spec = p.appendSpec(b.spec[:0])
		key = u.recipe.Key(original, string(b.spec))
		found = w.findEntry(ctx, b, key)
		if found != nil && found.Fits(w.ids.of) {
			u.found.Add(1)
			out.entry = found
			out.add(p, found.Result())
			return out, p, nil
		}
		u.missed.Add(1)
	}
	u.woven.Add(1)
	result, err := b.weave(p)
	if err != nil {
		return nil, nil, err
	}
	if hasCache || u.alwaysEntry {
		out.entry = w.newEntry(p, original, &result)
	}
	if hasCache && found == nil { // an entry with other ids is of use to other sessions
		u.cache.Put(ctx, key, out.entry)
	}
	out.add(p, result)
	return out, p, nil
}

// slowCache is how long reading the cache may take: half of the time that the agent
// waits for a class that loads.
const slowCache = time.Second

// findEntry returns nil where the cache has no entry. A thread of the program may be
// waiting for its class, so a cache on a disk that hangs is not read again; the agent
// gives up on the classes that wait for it already.
func (w *Weaver) findEntry(ctx context.Context, b *bench, key cache.Key) *cache.Entry {
	if b.alarm == nil {
		b.alarm = time.AfterFunc(slowCache, w.disableCache)
	} else {
		b.alarm.Reset(slowCache)
	}
	defer b.alarm.Stop()
	entry, err := w.cache.cache.Get(ctx, key)
	if err != nil {
		return nil
	}
	return entry
}

func (w *Weaver) disableCache() {
	if !w.cache.ended.Swap(true) && w.settings.Notice != nil {
		w.settings.Notice(fmt.Sprintf("reading the cache takes more than %v: going on without it (--cache DIR names another)", slowCache))
	}
}

func (w *Weaver) newEntry(p *plan, original cache.Original, result *weave.Result) *cache.Entry {
	at := -1
	return cache.NewEntry(cache.Weaving{
		Class: p.class, Original: original, Engine: w.cache.recipe.Engine(), Made: time.Now(), Result: result,
		Identify: w.ids.of, Calls: p.slots(&w.ids),
		Templates: func(name, descriptor string) (names []string) {
			// Results are in the order of the class.
			for at++; at < len(p.methods); at++ {
				if m := &p.methods[at]; m.Name == name && m.Descriptor == descriptor {
					return templateNames(m.templates)
				}
			}
			return nil
		},
	})
}

// templateNames returns the names that users see.
func templateNames(templates []*weave.Template) (names []string) {
	for _, t := range templates {
		names = append(names, t.Name()[strings.LastIndexByte(t.Name(), '.')+1:])
	}
	return names
}

// fingerprint returns a hash of the lowered code at each moment. Without a cache nobody
// needs it, and it is empty.
func (w *Weaver) fingerprint(codes []weave.Lowered) string {
	if w.cache.cache == nil {
		return ""
	}
	sum := sha256.New()
	for i, code := range codes {
		for _, at := range moments {
			if code == nil {
				continue
			}
			// Where lowering fails the code does not run at that moment, or the spot has no
			// template.
			if f, err := code.Lower(at); err == nil {
				_, _ = fmt.Fprintf(sum, "%d %d %#v\n", i, at, *f) // all of it, quoted; a hash never fails
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
