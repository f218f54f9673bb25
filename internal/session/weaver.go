package session

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

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
