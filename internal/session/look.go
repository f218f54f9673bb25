package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Look is what one command wants to know about a JVM: the hooks it asks for, and what these
// have measured since then. A session has any number of looks. A spot that several looks ask
// for has one hook, which does what any of them needs, and each look gets the difference to
// the figures that the hook had before.
//
// Only one look at a time can have hooks that keep a calling context tree (Hooks and Sites of a
// Request), and only one can trace: a thread has one tree and one ring.
type Look struct {
	*Session
	settings Settings

	// All below is protected by looks.lock.
	wants     wants
	patterns  []Wanted // of Instrument; the list is never modified
	follower  *Follower
	discovers bool                     // it answers arrivals
	ids       map[uint32]bool          // of hooks that this look has or had
	live      map[uint32]bool          // of hooks that it has
	ended     map[uint32]*arena.Totals // what hooks measured until this look removed them
	base      map[uint32]*arena.Totals // what hooks had measured when this look asked for them
	nodes     map[uint32]arena.Node    // the same by node
	rings     RingCounters             // when this look began to trace
	earlier   RingCounters             // what it counted when it traced before
	seen      map[seenClass]bool       // classes that Prefetch and Survey have returned
	thinned   map[uint32]bool          // by the ids of hooks: they measure less than the look wanted
	isClosed  bool
	restored  int // classes that Keep has restored
}

// A seenClass identifies a loaded class.
type seenClass struct {
	name   string
	loader uint32
}

// wants are the hooks that a look asks for.
type wants struct {
	hooks      map[classfile.MethodRef]Hook
	sites      map[siteKey]Site
	spots      map[string]instrument.Spot // by full name
	reflection bool
}

// A siteKey identifies a call.
type siteKey struct{ caller, called classfile.MethodRef }

// looks are the looks of a session.
type looks struct {
	changing sync.Mutex // held while a look changes its hooks; acquired before all other locks
	lock     sync.Mutex // protects the fields below and the fields of looks; acquired before state.lock
	all      []*Look
	tree     *Look            // that has hooks which keep a tree; nil if none
	traces   *Look            // that uses the rings; nil if none
	isOld    bool             // there was another look before those in the list
	used     map[uint32]*Look // by the ids of hooks that looks have or had: the last look, if no other has had it since
	attached map[any]any
	isEnding bool          // no look can begin any more
	left     chan struct{} // closed when the session has ended and the JVM is left
	forget   func()        // called before; may be nil
}

// A BusyError says that a look cannot have what another one uses.
type BusyError struct {
	What    string // what only one look can do
	Command string // of the other look
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is already %s in this JVM, and only one command at a time can do this: end that command first", e.Command, e.What)
}

// look begins a look; nil if the last one is just ending the session.
func (s *Session) look(settings Settings) *Look {
	l := &Look{
		Session: s, settings: settings, ids: make(map[uint32]bool), live: make(map[uint32]bool), ended: make(map[uint32]*arena.Totals),
		base: make(map[uint32]*arena.Totals), nodes: make(map[uint32]arena.Node), seen: make(map[seenClass]bool), thinned: make(map[uint32]bool),
		wants: wants{hooks: make(map[classfile.MethodRef]Hook), sites: make(map[siteKey]Site), spots: make(map[string]instrument.Spot)},
	}
	s.looks.lock.Lock()
	defer s.looks.lock.Unlock()
	if s.looks.isEnding {
		return nil
	}
	s.looks.all = append(s.looks.all, l)
	return l
}

// Hook adds hooks: see Update.
func (l *Look) Hook(ctx context.Context, request Request) (*Installation, error) {
	return l.Update(ctx, Change{Add: request})
}

// Unhook removes hooks: see Update.
func (l *Look) Unhook(ctx context.Context, request Request) (*Installation, error) {
	return l.Update(ctx, Change{Remove: request})
}

// Update changes hooks in classes that Prefetch has found or that have loaded since, in as
// few batches as possible. Removed hooks are switched off at one moment, before the first
// batch; what they have measured stays. New ones are switched as requested at one moment,
// after the last. For a hook that exists with the same code only the switch is set. A class
// without further hooks is restored, and Close need not touch it again. What cannot have a
// hook is in LeftAlone. Update also weaves what is pending (HasPending).
//
// Where there are spots, class loaders are asked for files that Prefetch and Survey have
// not got. Otherwise none is asked, so a thread of the program may wait for Update.
func (l *Look) Update(ctx context.Context, change Change) (*Installation, error) {
	if err := l.confirm(ctx, change.Add); err != nil {
		return &Installation{}, err
	}
	defer l.reportProgress()()
	l.looks.changing.Lock()
	defer l.looks.changing.Unlock()
	if err := l.useTree(change.Add); err != nil {
		return &Installation{}, err
	}
	before, after := l.freshIDs(change.Add)
	l.rebase(before)
	l.step = "weaving classes"
	if add := change.Add; len(add.Hooks)+len(add.Sites)+len(add.Spots) == 0 {
		l.step = "restoring classes"
	}
	merged, others, own := l.merge(change)
	l.freeze(others)
	installation, err := l.Session.update(ctx, merged)
	l.freeze(own)
	l.rebase(after)
	return installation, err
}

// manyMethods is the number of hooks above which Settings.Confirm is asked.
const manyMethods = 3000

func (l *Look) confirm(ctx context.Context, request Request) error {
	methods := len(request.Spots) + len(request.Hooks)
	if l.settings.Confirm == nil || methods <= manyMethods {
		return nil
	}
	classes := make(map[string]bool)
	for i := range request.Spots {
		classes[request.Spots[i].Class] = true
	}
	for i := range request.Hooks {
		classes[request.Hooks[i].Class] = true
	}
	return l.settings.Confirm(ctx, methods, len(classes))
}

// Instrument puts hooks into the methods that a pattern matches: in loaded classes, in few
// batches, and in other classes as they load. The hooks of all classes that are loaded
// when the last batch is in are switched on at one moment. What cannot have hooks is in
// LeftAlone.
func (l *Look) Instrument(ctx context.Context, wanted Wanted) (*Installation, error) {
	l.looks.lock.Lock()
	l.patterns = append(slices.Clone(l.patterns), wanted)
	follower := Follower{Only: []control.Filter{}, Loading: func(_ string, file []byte) Request { return Request{Spots: l.matches(file)} }}
	for _, one := range l.patterns {
		for _, pattern := range one.Methods.Includes() {
			prefix, suffix := pattern.ClassBounds()
			follower.Only = append(follower.Only, control.Filter{Prefix: prefix, Suffix: suffix})
		}
	}
	l.looks.lock.Unlock()
	// First the classes that load from now on, then the loaded ones: none is missed in between.
	if err := l.Follow(ctx, follower); err != nil {
		return nil, err
	}
	classes, err := l.peer.List(ctx)
	if err != nil {
		return nil, l.explain(err)
	}
	captured := len(l.Captured().Batches)
	stop := l.reportProgress()
	_, err = l.prefetchOf(ctx, classes, wanted.Methods.MatchClass, wanted.Methods.MatchClass)
	stop()
	if err != nil {
		return nil, err
	}
	loaded, err := l.Known(ctx)
	if err != nil {
		return nil, err
	}
	matched := 0
	var change Change
	for _, c := range loaded {
		if !wanted.Methods.MatchClass(c.Name) {
			continue
		}
		matched++
		switch {
		case c.Reason == wasRefused: // the JVM's reason is known
		case c.Reason != "":
			l.state.leave(c.Name, c.Reason)
		case c.File == nil:
			l.state.leave(c.Name, "its class loader has no class file of it")
		default:
			change.Add.Spots = append(change.Add.Spots, l.matches(c.File)...)
		}
	}
	installation, err := l.Update(ctx, change)
	installation.Batches = append(l.Captured().Batches[captured:], installation.Batches...)
	installation.Loaded, installation.Matched, installation.Unmatched = len(classes), matched, unmatched(wanted.Methods.Includes(), classes)
	return installation, err
}

// matches returns the spots of the methods of a class that the patterns match. The first pattern
// that matches a method decides what its hook does.
func (l *Look) matches(file []byte) (spots []instrument.Spot) {
	class, err := classfile.Parse(file)
	if err != nil {
		return nil // the JVM says why it does not load it
	}
	known := make(map[classfile.MethodRef]bool)
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for _, one := range l.patterns {
		if !one.Methods.MatchClass(class.Name()) {
			continue
		}
		more, err := one.Spots(class)
		if err != nil {
			return nil
		}
		for _, spot := range more {
			if known[spot.MethodRef] {
				continue
			}
			known[spot.MethodRef] = true
			if before, is := l.wants.spots[spot.FullName()]; is { // Switch may have changed it
				spot = before
			}
			spots = append(spots, spot)
		}
	}
	return spots
}

// useTree reserves the trees of threads for this look if a request needs them.
func (l *Look) useTree(request Request) error {
	if len(request.Hooks)+len(request.Sites) == 0 && !request.Reflection {
		return nil
	}
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	if other := l.looks.tree; other != nil && other != l {
		return other.busyTree()
	}
	l.looks.tree = l
	return nil
}

// busyTree is the error for a look that cannot have trees because this one has them.
func (l *Look) busyTree() error { return &BusyError{"recording call trees", l.settings.Command} }

// merge records what a look wants from now on. It returns the change that this is for the
// session, and the ids of hooks that the look does not want any more: hooks that others have,
// which go on, and hooks that nobody has.
func (l *Look) merge(change Change) (merged Change, others, own []uint32) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	merged = change
	merged.Remove = l.withdraw(change.Remove)
	var altered []instrument.Spot
	for i := range change.Remove.Spots {
		removed := &change.Remove.Spots[i]
		if spot, is := l.looks.spot(removed.FullName()); is { // perhaps less of it
			id := l.weaver.SpotID(*removed)
			altered, others = append(altered, spot), append(others, id)
			l.looks.used[id] = nil // nobody's alone
		} else {
			own = append(own, l.weaver.SpotID(*removed))
		}
	}
	for _, h := range change.Remove.Hooks {
		own = append(own, l.weaver.ID(h.MethodRef))
	}
	merged.Add = l.want(change.Add)
	merged.Add.Spots = append(altered, merged.Add.Spots...)
	return merged, others, own
}

// want records what a look wants in addition, and returns it as the session shall have it.
// The lock is held.
func (l *Look) want(request Request) Request {
	for _, h := range request.Hooks {
		l.wants.hooks[h.MethodRef] = h
		l.use(l.weaver.ID(h.MethodRef))
	}
	for _, site := range request.Sites {
		l.wants.sites[siteKey{site.Caller, site.Called}] = site
		l.use(l.weaver.ID(site.Native.MethodRef))
	}
	l.wants.reflection = l.wants.reflection || request.Reflection
	merged := request
	merged.Spots = nil
	for i := range request.Spots {
		name := request.Spots[i].FullName()
		l.wants.spots[name] = request.Spots[i]
		l.use(l.weaver.SpotID(request.Spots[i]))
		spot, _ := l.looks.spot(name)
		merged.Spots = append(merged.Spots, spot)
	}
	return merged
}

func (l *Look) use(id uint32) {
	if l.looks.used[id] == l {
		delete(l.ended, id) // the hook has measured nothing for others: it goes on
	}
	l.ids[id], l.live[id], l.looks.used[id] = true, true, l
}

// withdraw records what a look no longer wants, and returns what no other look wants. The
// lock is held.
func (l *Look) withdraw(request Request) (unwanted Request) {
	unwanted = request
	unwanted.Spots = nil
	for _, h := range request.Hooks {
		delete(l.wants.hooks, h.MethodRef)
	}
	for _, site := range request.Sites {
		delete(l.wants.sites, siteKey{site.Caller, site.Called})
	}
	if request.Reflection {
		l.wants.reflection = false
	}
	for i := range request.Spots {
		name := request.Spots[i].FullName()
		delete(l.wants.spots, name)
		if _, is := l.looks.spot(name); !is {
			unwanted.Spots = append(unwanted.Spots, request.Spots[i])
		}
	}
	return unwanted
}

// spot returns a spot as all looks together want it. The lock is held.
func (s *looks) spot(name string) (merged instrument.Spot, is bool) {
	for _, l := range s.all {
		spot, wanted := l.wants.spots[name]
		switch {
		case !wanted:
		case !is:
			merged, is = spot, true
		default:
			merged = mergeSpots(merged, spot)
		}
	}
	return merged, is
}

// mergeSpots returns a spot that does what two spots with the same key do.
func mergeSpots(a, b instrument.Spot) instrument.Spot {
	merged := a
	merged.First, merged.Below, merged.Direct = a.First|b.First, a.Below|b.Below, a.Direct|b.Direct
	set := mergeSettings(arena.Probe{Flags: a.Flags, Period: a.Period}, arena.Probe{Flags: b.Flags, Period: b.Period})
	merged.Flags, merged.Period = set.Flags, set.Period
	return merged
}

// mergeSettings returns the setting of a hook that measures what either of two measures.
func mergeSettings(a, b arena.Probe) arena.Probe {
	switch {
	case a.Flags&arena.On == 0:
		return b
	case b.Flags&arena.On == 0:
		return a
	}
	merged := arena.Probe{ID: a.ID, Flags: a.Flags | b.Flags}
	switch {
	case merged.Flags&arena.Timed != 0:
		merged.Flags &^= arena.Sampled
	case a.Flags&b.Flags&arena.Sampled != 0:
		merged.Period = min(a.Period, b.Period)
	default:
		merged.Period = max(a.Period, b.Period)
	}
	return merged
}

// SwitchSpots changes the settings of some spots of the look, by id, at one moment and without
// weaving. The setting of a spot that is being installed takes effect when it is installed.
func (l *Look) SwitchSpots(ctx context.Context, changes map[uint32]arena.Probe) error {
	l.looks.lock.Lock()
	merged := make(map[uint32]arena.Probe, len(changes))
	for name, spot := range l.wants.spots {
		id := l.weaver.SpotID(spot)
		setting, is := changes[id]
		if !is {
			continue
		}
		spot.Flags, spot.Period = setting.Flags, setting.Period
		l.wants.spots[name] = spot
		all, _ := l.looks.spot(name)
		merged[id] = arena.Probe{Flags: all.Flags, Period: all.Period}
	}
	l.looks.lock.Unlock()
	return l.Session.switchSpots(ctx, merged)
}

// Follow shows classes that load from now on to a follower, which replaces the follower that the look
// had before.
func (l *Look) Follow(ctx context.Context, follower Follower) error {
	l.looks.lock.Lock()
	l.follower = &follower
	l.looks.lock.Unlock()
	return l.showLoading(ctx)
}

// followers returns the followers of all looks. The lock is held.
func (s *looks) followers() (all []*Look) {
	for _, l := range s.all {
		if l.follower != nil {
			all = append(all, l)
		}
	}
	return all
}

// freshIDs returns the ids of a request that the look does not have, but that have measured
// for others: hooks that are idle, and hooks that another look has.
func (l *Look) freshIDs(request Request) (idle, active []uint32) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	add := func(id uint32) {
		last, isUsed := l.looks.used[id]
		switch {
		case l.live[id] || !isUsed || last == l:
		case slices.ContainsFunc(l.looks.all, func(other *Look) bool { return other.live[id] }):
			active = append(active, id)
		default:
			idle = append(idle, id)
		}
	}
	for _, h := range request.Hooks {
		add(l.weaver.ID(h.MethodRef))
	}
	for _, site := range request.Sites {
		add(l.weaver.ID(site.Native.MethodRef))
	}
	for i := range request.Spots {
		add(l.weaver.SpotID(request.Spots[i]))
	}
	return idle, active
}

// Restart makes the look begin at zero with all its hooks, and with empty rings if it traces.
func (l *Look) Restart() {
	l.looks.lock.Lock()
	ids := slices.Collect(maps.Keys(l.live))
	l.looks.lock.Unlock()
	l.rebase(ids)
	if l.isTracing() {
		_ = l.emptyRings() // the end reports it
	}
}

// rebase makes the look begin at zero with hooks that have measured before.
func (l *Look) rebase(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	sum, err := l.Session.Sum()
	if err != nil {
		return // the end reports it
	}
	threads, err := l.Arena.Threads()
	if err != nil {
		return
	}
	isFresh := make(map[uint32]bool, len(ids))
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for _, id := range ids {
		isFresh[id] = true
		if totals := sum.Methods[id]; totals != nil {
			l.base[id] = totals
		}
	}
	for _, t := range threads {
		based := make(map[uint32]bool)
		for changed := true; changed; { // a node may stand before its parent
			changed = false
			for _, n := range t.Nodes {
				if !based[n.Ref] && (isFresh[n.ID] || based[n.Parent] && !arena.IsMethod(n.ID)) {
					l.nodes[n.Ref], based[n.Ref], changed = n, true, true
				}
			}
		}
	}
}

// freeze keeps what hooks have measured that the look removes, because other looks may use
// them again.
func (l *Look) freeze(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	sum, err := l.Session.Sum()
	if err != nil {
		return // the end reports it
	}
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for _, id := range ids {
		if totals := l.total(id, sum); totals != nil {
			l.ended[id] = totals
		}
		delete(l.live, id)
	}
}

// total returns what a hook has measured for the look, of all that it has measured; nil if
// nothing. The lock is held.
func (l *Look) total(id uint32, sum *arena.Summary) *arena.Totals {
	ended, all := l.ended[id], sum.Methods[id]
	if !l.live[id] || all == nil {
		return ended
	}
	totals := all.Since(l.base[id])
	if ended != nil {
		totals.Add(ended)
	}
	return totals
}

// Sum returns what the hooks of the look have measured so far, also after the JVM or the
// session has ended.
func (l *Look) Sum() (*arena.Summary, error) { return l.part(l.Session.Sum()) }

// Counts is Sum without the distributions of times.
func (l *Look) Counts() (*arena.Summary, error) { return l.part(l.Session.Counts()) }

// part returns what the hooks of the look have measured, of all that hooks have measured.
func (l *Look) part(sum *arena.Summary, err error) (*arena.Summary, error) {
	if err != nil {
		return nil, err
	}
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	own := *sum
	own.Methods = make(map[uint32]*arena.Totals, len(l.ids))
	for id := range l.ids {
		if totals := l.total(id, sum); totals != nil {
			own.Methods[id] = totals
		}
	}
	return &own, nil
}

// Threads reads the calls of every thread in hooks of the look, without those before it asked
// for the hooks.
func (l *Look) Threads() ([]arena.Thread, error) {
	threads, err := l.Arena.Threads()
	return l.own(threads), err
}

// Stacks is Threads without the trees: it reads only running calls.
func (l *Look) Stacks() ([]arena.Thread, error) {
	threads, err := l.Arena.Stacks()
	return l.own(threads), err
}

// own removes what belongs to other looks, or to the time before this one.
func (l *Look) own(threads []arena.Thread) []arena.Thread {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	if len(l.looks.used) == len(l.ids) && len(l.nodes) == 0 {
		return threads // nothing belongs to others
	}
	isForeign := func(id uint32) bool {
		_, isUsed := l.looks.used[id]
		return isUsed && !l.ids[id]
	}
	for i := range threads {
		t := &threads[i]
		t.Nodes = slices.DeleteFunc(t.Nodes, func(n arena.Node) bool { return isForeign(n.ID) })
		for at := range t.Nodes {
			if before, is := l.nodes[t.Nodes[at].Ref]; is {
				t.Nodes[at] = t.Nodes[at].Since(before)
			}
		}
		t.Stack = slices.DeleteFunc(t.Stack, func(f arena.Frame) bool { return isForeign(f.ID) })
	}
	return threads
}

// Prefetch gets the class files of the loaded classes that are wanted, and keeps them for
// Hook. It does not ask again for what the session has, and does not return again what it has
// returned to this look.
//
// A class whose loader has no file is redefined to see its bytes, if the JVM loses
// nothing by that or if the class is named: then it would be redefined for its hooks
// anyway. named may be nil.
func (l *Look) Prefetch(ctx context.Context, wanted func(class string) bool, named func(class string) bool) ([]LoadedClass, error) {
	defer l.reportProgress()()
	fetched, err := l.Session.prefetch(ctx, wanted, named)
	if err != nil {
		return nil, err
	}
	return l.unseen(fetched, wanted), nil
}

// Survey returns the loaded classes, and gets the files of the wanted classes as
// Prefetch does. It redefines no class, so a class whose loader has no file has none.
// Classes that Prefetch or Survey has returned before are not returned again.
func (l *Look) Survey(ctx context.Context, wanted func(class string) bool) ([]LoadedClass, error) {
	defer l.reportProgress()()
	surveyed, err := l.Session.survey(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return l.unseen(surveyed, wanted), nil
}

// unseen returns classes, and wanted classes that the session has fetched for other looks,
// without classes that this look has seen.
func (l *Look) unseen(fetched []LoadedClass, wanted func(class string) bool) (unseen []LoadedClass) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	for _, c := range fetched {
		if wanted(c.Name) {
			l.seen[seenClass{c.Name, c.Loader}] = true
		}
	}
	unseen = fetched
	if l.looks.all[0] == l && !l.looks.isOld {
		return unseen // everything was fetched for this look
	}
	l.state.lock.Lock()
	defer l.state.lock.Unlock()
	for name, n := range l.state.classes.names {
		if !wanted(name) {
			continue
		}
		for _, c := range n.known {
			if key := (seenClass{c.name, c.loader}); !l.seen[key] {
				l.seen[key] = true
				unseen = append(unseen, c.export())
			}
		}
	}
	return unseen
}

// Methods returns the methods in which the look has hooks, by name.
func (l *Look) Methods() (methods []Method) {
	all := l.methods()
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	return slices.DeleteFunc(all, func(m Method) bool { return !l.live[m.ID] })
}

// Classes returns how many classes have hooks of the look.
func (l *Look) Classes() (n int) {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	classes := make(map[string]bool)
	for m := range l.wants.hooks {
		classes[m.Class] = true
	}
	for key := range l.wants.sites {
		classes[key.caller.Class] = true
	}
	for _, spot := range l.wants.spots {
		classes[spot.Class] = true
	}
	l.state.lock.Lock()
	defer l.state.lock.Unlock()
	for class := range classes {
		if l.state.classes.woven(class) > 0 {
			n++
		}
	}
	return n
}

// MethodsSoFar returns the methods in which the look has or had hooks, by name.
func (l *Look) MethodsSoFar() []Method {
	all := l.methodsSoFar()
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	return slices.DeleteFunc(all, func(m Method) bool { return !l.ids[m.ID] })
}

// LeftAlone returns what the look has asked for and has no hook, by name.
func (l *Look) LeftAlone() []LeftAlone {
	l.looks.lock.Lock()
	classes, methods := make(map[string]bool), make(map[LeftAlone]bool)
	add := func(m classfile.MethodRef) {
		classes[m.Class] = true
		methods[LeftAlone{Class: m.Class, Method: m.Member()}] = true
	}
	for m := range l.wants.hooks {
		add(m)
	}
	for key := range l.wants.sites {
		add(key.caller)
	}
	for _, spot := range l.wants.spots {
		add(spot.MethodRef)
	}
	patterns := l.patterns
	l.looks.lock.Unlock()
	isMatched := func(class string) bool {
		return slices.ContainsFunc(patterns, func(one Wanted) bool { return one.Methods.MatchClass(class) })
	}
	return slices.DeleteFunc(l.leftAlone(), func(left LeftAlone) bool {
		if left.Method != "" {
			return !methods[LeftAlone{Class: left.Class, Method: left.Method}]
		}
		return !classes[left.Class] && !isMatched(left.Class)
	})
}

// arrivals are the calls and labels that the target has announced.
type arrivals struct {
	lock   sync.Mutex
	ticket uint64          // of the last one that was read
	labels []arena.Arrival // all labels so far: a later look needs them
	recent []arena.Arrival // others, until every look has answered them
}

// Discover makes hooks with arena.Discover wait for an answer at their first calls, at
// most for this long; with 0 none waits.
func (l *Look) Discover(wait time.Duration) error {
	if err := l.Arena.MakeArrivals(); err != nil {
		return err
	}
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	l.discovers = true
	if l.looks.tree == nil || l.looks.tree == l || wait > 0 {
		l.Arena.SetWait(wait)
	}
	return nil
}

// Arrivals returns the arrivals after a ticket, in order.
func (l *Look) Arrivals(after uint64) ([]arena.Arrival, error) {
	a := &l.arrivals
	a.lock.Lock()
	defer a.lock.Unlock()
	fresh, err := l.Arena.Arrivals(a.ticket)
	if err != nil {
		return nil, err
	}
	for _, one := range fresh {
		a.ticket = one.Ticket
		if arena.IsLabel(one.ID) {
			a.labels = append(a.labels, one)
		} else {
			a.recent = append(a.recent, one)
		}
	}
	later := func(list []arena.Arrival) []arena.Arrival {
		at, _ := slices.BinarySearchFunc(list, after+1, func(one arena.Arrival, ticket uint64) int { return cmp.Compare(one.Ticket, ticket) })
		return list[at:]
	}
	all := slices.Concat(later(a.labels), later(a.recent))
	slices.SortFunc(all, func(x, y arena.Arrival) int { return cmp.Compare(x.Ticket, y.Ticket) })
	return all, nil
}

// Answer lets the calls with tickets up to this one continue. Calls wait for the look that
// records trees; labels need no answer, because they are kept.
func (l *Look) Answer(ticket uint64) {
	l.looks.lock.Lock()
	tree := l.looks.tree
	isOther := tree != nil && tree != l && tree.discovers
	l.looks.lock.Unlock()
	if isOther {
		return
	}
	l.Arena.Answer(ticket)
	a := &l.arrivals
	a.lock.Lock()
	defer a.lock.Unlock()
	a.recent = slices.DeleteFunc(a.recent, func(one arena.Arrival) bool { return one.Ticket <= ticket })
}

// SetRings sets the size of each thread's ring of traced calls, and the number of levels that
// are traced: see arena.SetRings. No other look can trace until EndRings or until this one is closed.
func (l *Look) SetRings(bytes, levels uint32) error {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	if other := l.looks.traces; other != nil && other != l {
		return &BusyError{"tracing", other.settings.Command}
	}
	if l.looks.traces != l {
		l.looks.traces = l
		if err := l.emptyRings(); err != nil { // left by a trace that has ended
			return err
		}
	}
	return l.Arena.SetRings(bytes, levels)
}

// EndRings lets other looks trace. No hook of this look may trace any more.
func (l *Look) EndRings() error {
	counted, err := l.RingCounters()
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	if l.looks.traces == l {
		l.looks.traces, l.earlier = nil, counted
	}
	return err
}

// emptyRings discards what the rings hold, and counts from now on.
func (l *Look) emptyRings() error {
	rings, err := l.Arena.Rings()
	if err != nil {
		return err
	}
	for _, ring := range rings {
		_ = ring.Read(func(arena.Record) {})
	}
	l.rings, err = l.countRings()
	return err
}

// Rings returns the rings of traced calls if this look traces: nobody else may read them.
func (l *Look) Rings() ([]*arena.Ring, error) {
	if !l.isTracing() {
		return nil, nil
	}
	return l.Arena.Rings()
}

func (l *Look) isTracing() bool {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	return l.looks.traces == l
}

// RingCounters are the sums over the rings of all threads.
type RingCounters struct {
	Opened    uint64 // transactions that have begun
	Discarded uint64 // transactions that were not chosen
	Dropped   uint64 // calls that found no room and were only counted
}

// RingCounters returns what was counted while the look traced.
func (l *Look) RingCounters() (RingCounters, error) {
	if !l.isTracing() {
		return l.earlier, nil
	}
	all, err := l.countRings()
	before := l.earlier
	return RingCounters{
		before.Opened + all.Opened - l.rings.Opened, before.Discarded + all.Discarded - l.rings.Discarded, before.Dropped + all.Dropped - l.rings.Dropped,
	}, err
}

func (l *Look) countRings() (sum RingCounters, err error) {
	rings, err := l.Arena.Rings()
	if err != nil {
		return sum, err
	}
	if sum.Dropped, err = l.Arena.Ringless(); err != nil {
		return sum, err
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			return sum, err
		}
		sum.Opened += state.Opened
		sum.Discarded += state.Discarded
		sum.Dropped += state.Dropped
	}
	return sum, nil
}

// Close removes the hooks of the look from the JVM; the last look of a session ends the
// session. Sum still works afterwards, until Release. The error is a *NotRestoredError where
// the JVM has, or may have, hooks left: it goes on restoring its classes by itself.
func (l *Look) Close(ctx context.Context) (Farewell, error) {
	ctx = context.WithoutCancel(ctx)
	l.looks.lock.Lock()
	if l.isClosed {
		l.looks.lock.Unlock()
		return Farewell{}, nil
	}
	l.isClosed = true
	if l.looks.isEnding { // it was released before
		l.looks.lock.Unlock()
		defer l.reportProgress()()
		return l.Session.close(ctx)
	}
	isLast := l.looks.endIfLast()
	all, before := l.wants.request(), uint32(l.restored)
	l.follower = nil
	l.looks.lock.Unlock()
	if isLast {
		defer l.looks.leave()
		defer l.reportProgress()()
		farewell, err := l.Session.close(ctx)
		farewell.Restored.Classes += before
		return farewell, err
	}
	begin := time.Now()
	installation, err := l.Update(ctx, Change{Remove: all})
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	if l.looks.tree == l {
		l.looks.tree = nil
	}
	if l.looks.traces == l {
		l.looks.traces = nil
	}
	farewell := Farewell{Took: time.Since(begin)}
	farewell.Restored.Classes = before
	for _, batch := range installation.Batches {
		farewell.Restored.Classes += uint32(batch.Classes)
		farewell.Pause = farewell.Pause.Then(batch.Cost)
	}
	farewell.Restored.Nanos = uint64(farewell.Took)
	return farewell, err
}

// endIfLast reports, once, that no look is left but closed ones.
func (s *looks) endIfLast() bool {
	if s.isEnding || slices.ContainsFunc(s.all, func(l *Look) bool { return !l.isClosed }) {
		return false
	}
	s.isEnding = true
	return true
}

// leave reports that the JVM is left.
func (s *looks) leave() {
	if s.forget != nil {
		s.forget()
	}
	close(s.left)
}

// request returns everything that a look wants.
func (w *wants) request() Request {
	all := Request{
		Hooks: slices.Collect(maps.Values(w.hooks)), Sites: slices.Collect(maps.Values(w.sites)), Reflection: w.reflection,
	}
	for _, name := range slices.Sorted(maps.Keys(w.spots)) {
		all.Spots = append(all.Spots, w.spots[name])
	}
	return all
}

// Release frees what was measured, with the last look of the session. If that was not closed
// it also hangs up, and the agent restores all classes by itself.
func (l *Look) Release() error {
	l.looks.lock.Lock()
	l.looks.all, l.looks.isOld = slices.DeleteFunc(l.looks.all, func(other *Look) bool { return other == l }), true
	isLast := len(l.looks.all) == 0
	hangsUp := l.looks.endIfLast() // it was not closed
	l.looks.lock.Unlock()
	if hangsUp {
		defer l.looks.leave()
	}
	if !isLast {
		return nil
	}
	return l.Session.release()
}

// Switch sets what the hooks of Instrument in some methods do, without weaving again.
func (l *Look) Switch(ctx context.Context, methods *pattern.Set, flags arena.Flags, period uint32) error {
	changes := make(map[uint32]arena.Probe)
	l.looks.lock.Lock()
	for _, spot := range l.wants.spots {
		if spot.Key == instrument.PlainKey && methods.Match(spot.MethodRef) {
			changes[l.weaver.SpotID(spot)] = arena.Probe{Flags: flags, Period: period}
		}
	}
	l.looks.lock.Unlock()
	return l.SwitchSpots(ctx, changes)
}
