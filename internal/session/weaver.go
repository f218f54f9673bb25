package session

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A workshop is where classes are woven, for a JVM or for none: what they are woven by,
// what was asked for and what became of it.
type workshop struct {
	settings  Settings
	templates struct {
		live, reflect, handle *weave.Template
		site                  *weave.SiteTemplate
		spots                 spotTemplates
		handOff               []*weave.Template // as handOffMethods
		sources               [][]byte          // the class files of all of these
	}
	benches sync.Pool // of *bench
	kept    kept      // what woven classes are kept by
	choices choices   // what was asked for by name
	book    book      // what was asked for by pattern, and what became of it all
}

func (w *workshop) compileTemplates() (err error) {
	for _, t := range []struct {
		to     **weave.Template
		source func() ([]byte, string)
	}{
		{&w.templates.live, agent.LiveTemplate},
		{&w.templates.reflect, agent.ReflectTemplate},
		{&w.templates.handle, agent.HandleTemplate},
	} {
		if *t.to, err = w.compile(t.source); err != nil {
			return err
		}
	}
	if w.templates.site, err = weave.CompileSiteTemplate(agent.LiveTemplate()); err != nil {
		return err
	}
	if err := w.compileSpotTemplates(); err != nil {
		return err
	}
	w.benches.New = func() any { return w.newBench() }
	w.kept.init(w.settings.Cache, w.templates.sources)
	return nil
}

// compile makes a template of the agent's, and keeps what it is made of.
func (w *workshop) compile(source func() ([]byte, string)) (*weave.Template, error) {
	class, method := source()
	isKnown := slices.ContainsFunc(w.templates.sources, func(known []byte) bool { return bytes.Equal(known, class) })
	if !isKnown {
		w.templates.sources = append(w.templates.sources, class)
	}
	return weave.CompileTemplate(class, method)
}

// A product is what a class was woven to.
type product struct {
	weave.Result
	class  []byte
	order  *order       // nil where nothing was ordered
	entry  *cache.Entry // as it is kept; nil where it is not
	picked *picking
}

// make weaves the wanted methods of a class, or finds it woven in the cache. The list of
// methods lives until the bench is used again.
func (w *workshop) make(ctx context.Context, b *bench, name string, class []byte) (*product, error) {
	w.book.lock.Lock()
	wanted := wishes(w.book.wanted)
	w.book.lock.Unlock()
	made := &product{class: class, picked: newPicking(w, wanted)}
	err := w.obtain(ctx, b, made)
	if err == nil && made.picked.slims(made.Methods) {
		err = w.obtain(ctx, b, made)
	}
	if err != nil {
		return nil, err
	}
	made.picked.settle(name, made.Methods)
	return made, nil
}

// A Weaver weaves spots into class files for no JVM. What comes out is what a Session
// gives a JVM that asks for the same, and each finds in the cache what the other has
// woven. It is safe for use by several goroutines.
type Weaver struct{ workshop }

// NewWeaver makes one. Of the settings it heeds Cache and Notice.
func NewWeaver(settings Settings) (*Weaver, error) {
	w := &Weaver{}
	w.settings = settings
	w.book.init()
	if err := w.compileTemplates(); err != nil {
		return nil, err
	}
	return w, nil
}

// Add notes what is to be watched. Spots and their methods get their ids in the order
// they have in the request: the same request gives the same ones.
func (w *Weaver) Add(request WatchRequest) {
	w.addSpots(request.Spots)
	for i := range request.Spots {
		p := &request.Spots[i]
		w.book.identify(p.Class, p.Name, p.Descriptor)
	}
	w.book.beginWatch(&request)
	w.book.endWatch(&request)
}

// A WovenClass is what became of a class.
type WovenClass struct {
	Entry *cache.Entry // with Woven nil where nothing of it could be woven; nil where nothing was to be
	Spots []uint32     // those that have their hooks, by id
	Left  []LeftAlone  // methods in which one has none
}

// Weave weaves a class file.
func (w *Weaver) Weave(ctx context.Context, name string, class []byte) (*WovenClass, error) {
	bench := w.benches.Get().(*bench)
	defer w.benches.Put(bench)
	made, err := w.make(ctx, bench, name, class)
	if err != nil {
		return nil, err
	}
	w.book.noteSpots(made.picked)
	if made.order != nil && made.entry == nil {
		made.entry = w.entry(made.order, cache.OriginalOf(class), &made.Result)
	}
	woven := &WovenClass{Entry: made.entry}
	for _, spots := range made.picked.spots {
		for _, p := range spots {
			woven.Spots = append(woven.Spots, p.id)
		}
	}
	slices.Sort(woven.Spots)
	for _, left := range made.picked.left {
		if made.picked.met[left.Method] { // else it is of another class of the name
			woven.Left = append(woven.Left, left)
		}
	}
	slices.SortFunc(woven.Left, compareLeft)
	woven.Left = slices.Compact(woven.Left)
	return woven, nil
}

// Watches is the table by which the hooks that are woven find what they are to do.
func (w *Weaver) Watches() (control.Watches, error) {
	w.book.lock.Lock()
	defer w.book.lock.Unlock()
	entries := make(map[uint32]arena.WatchEntry, len(w.book.watch.woven))
	for id := range w.book.watch.woven {
		entries[id] = w.book.watch.entries[id]
	}
	return w.book.watch.table(entries)
}

// Woven are the spots that have their hooks, by id.
func (w *Weaver) Woven() (spots []SpotState) {
	w.book.lock.Lock()
	defer w.book.lock.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(w.book.watch.woven), cmp.Compare) {
		spots = append(spots, SpotState{w.book.watch.spots[id].Spot, id, true})
	}
	return spots
}

// A bench is what one class after the other is woven with.
type bench struct {
	weaver *weave.Weaver
	site   *weave.SiteTemplate
	class  classfile.Class
	spec   []byte
	alarm  *time.Timer // goes off where the cache is slow; nil until it is asked
}

func (w *workshop) newBench() *bench {
	b := &bench{weaver: weave.NewWeaver(), site: w.templates.site}
	b.weaver.Identify = w.book.identify
	return b
}

// fill weaves what is ordered. The result's list of methods lives until the next.
func (b *bench) fill(o *order, class []byte) (weave.Result, error) {
	b.weaver.Sites, b.weaver.SiteTemplate = nil, nil
	current := -1 // the method at hand: the weaver takes them one after the other
	if o.sites {
		b.weaver.SiteTemplate = b.site
		b.weaver.Sites = func(_ weave.MethodInfo, call weave.Call) (int32, bool) {
			calls := o.methods[current].sites
			if len(calls) == 0 {
				return 0, false
			}
			id, is := calls[call.Owner+"."+call.Name+call.Descriptor]
			return int32(id), is
		}
	}
	return b.weaver.Append(nil, class, func(weave.MethodInfo) []*weave.Template {
		current++
		return o.methods[current].templates
	})
}
