package session

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
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
