// Package instrument decides which hooks the methods of a class get and weaves them.
// It needs no JVM: a session uses it to answer a JVM that loads or redefines a class,
// and a pack is built with it ahead of time. Both get the same bytes for the same
// request, and share the cache of woven classes.
//
// There are three kinds of requests: a Hook measures a method in a calling context tree, a Site measures a call of a
// native method there, and a Spot does one thing for a probe in one method. A plan states which templates each method
// of a class gets. The class woven according to the plan comes from the cache, or is woven now.
//
// Locks of this package are not held while code outside of the package runs.
package instrument

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Settings configure a Weaver.
type Settings struct {
	Cache  *cache.Cache // where woven classes are kept; nil for none
	Notice func(string) // receives messages for the user; may be nil
	Live   bool         // the agent has a switch table: it has none with a pack
	Beside bool         // the JVM was started with a pack, so hook classes have other names
}

// Weaver weaves classes for the targets it was given. It is safe for concurrent use.
type Weaver struct {
	settings  Settings
	templates templates
	benches   sync.Pool // of *bench
	cache     cacheUse
	ids       ids
	targets
}

// templates are the compiled hooks of the agent.
type templates struct {
	live, reflect, handle *weave.Template
	site                  *weave.SiteTemplate
	spots                 spotTemplates
	handOff               []*weave.Template // in the order of handOffMethods
	sources               [][]byte          // the distinct class files the templates come from
	isBeside              bool
}

// NewWeaver returns a Weaver without targets.
func NewWeaver(settings Settings) (*Weaver, error) {
	w := &Weaver{settings: settings, targets: targets{classes: make(map[string]*classTargets), natives: make(map[uint32]int)}}
	w.ids.init()
	w.templates.isBeside = settings.Beside
	if err := w.templates.compile(); err != nil {
		return nil, err
	}
	w.benches.New = func() any {
		b := &bench{weaver: weave.NewWeaver(), site: w.templates.site}
		b.weaver.Identify = w.ids.of
		return b
	}
	w.cache.cache, w.cache.recipe = settings.Cache, cache.NewRecipe(cache.Engine(), w.templates.sources...)
	return w, nil
}

func (t *templates) compile() (err error) {
	s := &t.spots
	for _, one := range []struct {
		to     **weave.Template
		source func() ([]byte, string)
	}{
		{&t.live, agent.LiveTemplate},
		{&t.reflect, agent.ReflectTemplate},
		{&t.handle, agent.HandleTemplate},
		{&s.anchor, agent.AnchorTemplate},
		{&s.tag, agent.TagTemplate},
		{&s.keep, agent.KeepTemplate},
		{&s.plain, agent.PlainTemplate},
		{&s.watch, agent.WatchTemplate},
		{&s.late, agent.LateTemplate},
		{&s.capture, agent.CaptureTemplate},
	} {
		if *one.to, err = t.compileOne(one.source); err != nil {
			return err
		}
	}
	// What a constructor begins must also end where super(...) throws.
	s.anchor, s.tag = s.anchor.AfterSuper(), s.tag.AfterSuper()
	t.handOff = make([]*weave.Template, len(handOffMethods))
	for i := range handOffMethods {
		if t.handOff[i], err = t.compileOne(handOffMethods[i].template); err != nil {
			return err
		}
	}
	class, method := t.named(agent.LiveTemplate())
	t.site, err = weave.CompileSiteTemplate(class, method)
	return err
}

func (t *templates) compileOne(source func() ([]byte, string)) (*weave.Template, error) {
	class, method := t.named(source())
	isKnown := slices.ContainsFunc(t.sources, func(known []byte) bool { return bytes.Equal(known, class) })
	if !isKnown {
		t.sources = append(t.sources, class)
	}
	return weave.CompileTemplate(class, method)
}

// named returns a template that calls the hook classes by the names that they have in the JVM.
func (t *templates) named(class []byte, method string) ([]byte, string) {
	if t.isBeside {
		class = agent.Beside(class)
	}
	return class, method
}

// ids assigns an id to every method and spot that may get a hook.
type ids struct {
	lock     sync.Mutex
	byMethod map[classfile.MethodRef]uint32 // the descriptor of a spot ends in #key
	methods  map[uint32]classfile.MethodRef
}

func (i *ids) init() {
	i.byMethod, i.methods = make(map[classfile.MethodRef]uint32), make(map[uint32]classfile.MethodRef)
}

// of returns the id of a method. It is the same in every session, except where two
// methods of a session would share it.
func (i *ids) of(m classfile.MethodRef) int32 {
	i.lock.Lock()
	defer i.lock.Unlock()
	id, known := i.byMethod[m]
	if !known {
		// The weaver's strings are views of the class file, which does not live as long.
		m = classfile.MethodRef{Class: strings.Clone(m.Class), Name: strings.Clone(m.Name), Descriptor: strings.Clone(m.Descriptor)}
		id = uint32(weave.MethodID(m))
		for i.isTaken(id) {
			id++
		}
		i.byMethod[m], i.methods[id] = id, m
	}
	return int32(id)
}

func (i *ids) isTaken(id uint32) bool {
	_, is := i.methods[id]
	return is || arena.ReservedID(id)
}

func (i *ids) method(id uint32) (classfile.MethodRef, bool) {
	i.lock.Lock()
	defer i.lock.Unlock()
	m, is := i.methods[id]
	return m, is
}

// ID returns the id of a method's hook.
func (w *Weaver) ID(m classfile.MethodRef) uint32 { return uint32(w.ids.of(m)) }

// SpotID returns the id of a spot's hook.
func (w *Weaver) SpotID(p Spot) uint32 {
	p.Descriptor += "#" + p.Key
	return w.ID(p.MethodRef)
}

// TagsClass returns the internal name of the agent's class from which conditions read
// tags.
func TagsClass() string { return agent.HookClass() + "Tags" }

// TagsClass returns the name of that class in the JVM.
func (w *Weaver) TagsClass() string {
	if w.settings.Beside {
		return agent.Beside(TagsClass())
	}
	return TagsClass()
}

// A LeftAlone is a class or a method that was requested and has no hook.
type LeftAlone struct {
	Class  string `json:"class"`            // internal name
	Method string `json:"method,omitempty"` // name and descriptor; empty for the whole class
	Reason string `json:"reason"`
}

// CompareLeft orders by class, method and reason.
func CompareLeft(a, b LeftAlone) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Reason, b.Reason))
}

// Outcome is the result of weaving one class.
type Outcome struct {
	Bytes     []byte               // nil where no method was woven
	Methods   []Method             // the selected methods, in the order of the class
	SpotsLeft map[uint32]LeftAlone // spots without a hook, by id
	entry     *cache.Entry         // as kept in the cache; nil where there is none, unless cacheUse.alwaysEntry
}

// Weave weaves the targeted methods of a class, or finds the woven class in the cache.
func (w *Weaver) Weave(ctx context.Context, class []byte) (*Outcome, error) {
	return w.WeavePattern(ctx, class, nil)
}

// WeavePattern is like Weave, but also puts hooks into the methods that a pattern matches.
func (w *Weaver) WeavePattern(ctx context.Context, class []byte, pattern *Pattern) (*Outcome, error) {
	b := w.benches.Get().(*bench)
	defer w.benches.Put(b)
	out, p, err := w.obtain(ctx, b, class, pattern, nil)
	if err != nil {
		return nil, err
	}
	if lean := out.leanMethods(); len(lean) > 0 {
		if out, p, err = w.obtain(ctx, b, class, pattern, lean); err != nil {
			return nil, err
		}
	}
	for i := range out.Methods {
		if m := &out.Methods[i]; !m.Result.Woven {
			p.leave(m.Spots, m.Result.Reason.Error())
			m.Spots, m.HandOff = nil, false
		}
	}
	for i := range p.methods {
		delete(p.targets.spots, p.methods[i].Member())
	}
	for _, spots := range p.targets.spots {
		p.leave(spots, noSuchMethod)
	}
	return out, nil
}

const noSuchMethod = "the class has no such method"

// leanMethods returns the methods that could not be woven and may be without their
// conditions and values, with the reason.
func (o *Outcome) leanMethods() map[string]string {
	lean := make(map[string]string)
	for i := range o.Methods {
		m := &o.Methods[i]
		if !m.Result.Woven && slices.ContainsFunc(m.Spots, func(p *PlacedSpot) bool { return p.hasCode() }) {
			lean[m.Member()] = m.Result.Reason.Error()
		}
	}
	return lean
}

// add adds a result. Its list of methods, in the order of the class, lies in memory of the
// bench.
func (o *Outcome) add(p *plan, result weave.Result) {
	o.Bytes = result.Bytes
	at := 0
	for _, r := range result.Methods {
		for p.methods[at].Name != r.Name || p.methods[at].Descriptor != r.Descriptor {
			at++
		}
		m := p.methods[at]
		m.Result = r
		m.Result.Name, m.Result.Descriptor, m.Result.Offsets = m.Name, m.Descriptor, nil
		o.Methods = append(o.Methods, m)
	}
}

// bench is the working memory for weaving one class after another.
type bench struct {
	weaver *weave.Weaver
	site   *weave.SiteTemplate
	spec   []byte
	alarm  *time.Timer // fires where the cache is slow; nil until the cache is first read
}

// weave weaves the class that the weaver has read, by its plan. The result's list of
// methods lives until the next call.
func (b *bench) weave(p *plan) (weave.Result, error) {
	b.weaver.Sites, b.weaver.SiteTemplate = nil, nil
	current := -1 // the weaver visits methods in the order of the class
	if p.hasSites {
		b.weaver.SiteTemplate = b.site
		b.weaver.Sites = func(_ weave.MethodInfo, call weave.Call) (int32, bool) {
			sites := p.methods[current].sites
			if len(sites) == 0 {
				return 0, false
			}
			id, is := sites[classfile.MethodRef{Class: call.Owner, Name: call.Name, Descriptor: call.Descriptor}]
			return int32(id), is
		}
	}
	return b.weaver.AppendRead(nil, func(weave.MethodInfo) []*weave.Template {
		current++
		return p.methods[current].templates
	})
}

// A FileWeaver weaves spots into class files that no JVM has loaded, and keeps the table
// of the spots it has woven. It is safe for concurrent use.
type FileWeaver struct {
	*Weaver
	lock    sync.Mutex
	woven   map[uint32]*PlacedSpot
	bridges map[string]bool
}

// NewFileWeaver returns a FileWeaver without spots.
func NewFileWeaver(settings Settings) (*FileWeaver, error) {
	w, err := NewWeaver(settings)
	if err != nil {
		return nil, err
	}
	w.cache.alwaysEntry = true
	return &FileWeaver{Weaver: w, woven: make(map[uint32]*PlacedSpot), bridges: make(map[string]bool)}, nil
}

// Add adds spots and their bridges. Ids are assigned in the order of the list, so the
// same list gives the same ids.
func (w *FileWeaver) Add(spots []Spot, bridges []string) {
	for i := range spots {
		placed, _ := w.Place(&spots[i])
		w.AddSpot(placed)
	}
	for i := range spots {
		w.ID(spots[i].MethodRef)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, bridge := range bridges {
		w.bridges[bridge] = true
	}
}

// WovenFile is the result of weaving one class file.
type WovenFile struct {
	Entry *cache.Entry // nil where the class has no target; its Woven is nil where no method could be woven
	Spots []uint32     // ids of the spots that have their hooks
	Left  []LeftAlone  // methods in which a spot has no hook
}

// Weave weaves a class file.
func (w *FileWeaver) Weave(ctx context.Context, class []byte) (*WovenFile, error) {
	out, err := w.Weaver.Weave(ctx, class)
	if err != nil {
		return nil, err
	}
	file := &WovenFile{Entry: out.entry}
	w.lock.Lock()
	for _, m := range out.Methods {
		for _, p := range m.Spots {
			file.Spots = append(file.Spots, p.ID)
			w.woven[p.ID] = p
		}
	}
	w.lock.Unlock()
	slices.Sort(file.Spots)
	for _, left := range out.SpotsLeft {
		if left.Reason != noSuchMethod { // otherwise the spot belongs to another class of this name
			file.Left = append(file.Left, left)
		}
	}
	slices.SortFunc(file.Left, CompareLeft)
	file.Left = slices.Compact(file.Left)
	return file, nil
}

// Table returns the table from which woven hooks read what to do.
func (w *FileWeaver) Table() (control.Watches, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	entries := make(map[uint32]arena.WatchEntry, len(w.woven))
	for id, p := range w.woven {
		entries[id] = p.Entry()
	}
	return SpotTable(entries, w.woven, w.bridges)
}

// Woven returns the spots that have their hooks, by id.
func (w *FileWeaver) Woven() (spots []*PlacedSpot) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, id := range slices.Sorted(maps.Keys(w.woven)) {
		spots = append(spots, w.woven[id])
	}
	return spots
}
