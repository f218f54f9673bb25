package liveprobes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Apply replaces the applied set. Only the differences are changed in the JVM. If the set
// is wrong, nothing is changed.
func (w *Probes) Apply(ctx context.Context, set *probeset.Set) (*Report, error) {
	w.shared.turn.Lock()
	defer w.shared.turn.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	w.lock.Lock()
	w.reported = make(map[string]bool)
	w.classes.Settle()
	w.lock.Unlock()
	return w.apply(ctx, set)
}

func (w *Probes) apply(ctx context.Context, set *probeset.Set) (*Report, error) {
	r, err := probes.NewRequest(set, w.shared.numbers)
	if err != nil {
		return nil, err
	}
	defer func() {
		w.lock.Lock()
		defer w.lock.Unlock()
		if w.plan != nil {
			w.shared.freeQuotas(w, w.plan.Probes)
		}
	}()
	if !w.started {
		if err := w.target.Discover(0); err != nil { // labels come as arrivals; no thread waits for an answer
			return nil, err
		}
		w.started = true
	}
	// Before the loaded classes are listed, so that no class is missed in between.
	if err := w.follow(ctx, r, nil); err != nil {
		return nil, err
	}
	if err := w.readClasses(ctx, r); err != nil {
		return nil, err
	}
	report, todo, err := w.prepare(r)
	if err != nil {
		if todo != nil { // classes that have loaded meanwhile get the hooks of the old plan
			err = errors.Join(err, w.install(ctx, todo, report))
		}
		return nil, err
	}
	if err := w.install(ctx, todo, report); err != nil {
		return nil, err
	}
	w.lock.Lock()
	w.shared.keep(w, r.Sequences)
	open := w.plan.OpenTypes()
	w.lock.Unlock()
	return report, w.follow(ctx, r, open)
}

// follow requests the classes that load from now on: classes that the set names or, if it depends
// on others, all classes except in unneeded packages. New subtypes of the open types matter, too.
func (w *Probes) follow(ctx context.Context, r *probes.Request, open []string) error {
	follower := session.Follower{Loading: w.loading}
	w.isNarrow.Store(!r.NeedsAll() && !r.NeedsTypes())
	if w.isNarrow.Load() {
		follower.Only = []control.Filter{}
		for prefix, suffix := range r.Bounds() {
			follower.Only = append(follower.Only, control.Filter{Prefix: prefix, Suffix: suffix})
		}
	} else {
		follower.Excludes = r.UnneededPackages(open)
	}
	return w.target.Follow(ctx, follower)
}

// readClasses reads which classes are loaded, and the class files that the set needs.
func (w *Probes) readClasses(ctx context.Context, r *probes.Request) error {
	if err := w.readNamed(ctx, r); err != nil {
		return err
	}
	library := w.classes.Library
	w.lock.Lock()
	r.Resolve(w.classes.Universe)
	w.lock.Unlock()
	isByType := r.NeedsTypes()
	if isByType {
		if err := w.follow(ctx, r, nil); err != nil { // it may have been narrow
			return err
		}
	}
	isOurs := func(class string) bool { return !library.Has(class) && !universe.IsSondes(class) }
	isAll := isByType || r.NeedsAll()
	all, err := w.target.Survey(ctx, func(class string) bool { return (isAll || r.ReadsClass(class)) && isOurs(class) })
	if err != nil {
		return err
	}
	known, err := w.target.Known(ctx)
	if err != nil {
		return err
	}
	w.addClasses(known, all)
	if !isByType {
		return nil
	}
	// Classes whose loaders have no file, such as proxies, are read only if they may match.
	w.lock.Lock()
	r.Learn(w.classes.Universe)
	w.lock.Unlock()
	return w.readNamed(ctx, r)
}

// readNamed reads the files of the classes that the set names.
func (w *Probes) readNamed(ctx context.Context, r *probes.Request) error {
	named, err := w.target.Prefetch(ctx, func(class string) bool { return r.MatchClass(class) && r.MayRedefine(class) }, r.NamesClass)
	w.addClasses(named)
	return err
}

func (w *Probes) addClasses(lists ...[]universe.Loaded) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, list := range lists {
		for _, c := range list {
			w.classes.Add(c)
		}
	}
}

// A todo is the list of changes that apply a plan.
type todo struct {
	change   session.Change
	switches map[uint32]arena.Probe
}

// prepare compiles a request and adopts its plan, so that loading classes get its spots
// from then on.
func (w *Probes) prepare(r *probes.Request) (*Report, *todo, error) {
	w.queue.open()
	w.lock.Lock()
	defer w.lock.Unlock()
	next, reset, err := w.compiled(r)
	if err != nil {
		if w.plan == nil {
			w.catchUp(nil)
			return nil, nil, err
		}
		w.catchUp(w.plan)
		w.report(w.plan.Warnings())
		return &Report{}, w.difference(w.plan, false), err
	}
	w.catchUp(next)
	report := &Report{Changes: probeset.Diff(w.set, r.Set), Warnings: w.report(next.Warnings())}
	report.Probes, report.Tags = next.Report()
	todo := w.difference(next, reset)
	report.Woven, report.Removed, report.Switched = len(todo.change.Add.Spots), len(todo.change.Remove.Spots), len(todo.switches)
	w.adopt(next, report.Changes)
	return report, todo, nil
}

// report passes warnings to the user and returns them. Each is reported once until a set is
// applied again. The lock is held.
func (w *Probes) report(warnings []string) (fresh []string) {
	for _, text := range warnings {
		if !w.reported[text] {
			w.reported[text] = true
			fresh = append(fresh, text)
			w.notice(text)
		}
	}
	return fresh
}

// compiled returns the plan of a request, and whether the paths of threads must be reset.
func (w *Probes) compiled(r *probes.Request) (next *plan, reset bool, err error) {
	positions, reset, err := w.shared.next(w, r.Sequences)
	if err != nil {
		return nil, false, err
	}
	if err := w.limit(r); err != nil {
		return nil, false, err
	}
	compiled, err := probes.Compile(w.classes, r, positions.Only(r.Sequences), w.options.Flags)
	if err != nil {
		return nil, false, err
	}
	w.shared.positions = positions
	maps.Copy(w.shared.numbers, r.Numbers)
	next = &plan{Plan: compiled, calls: make(map[classfile.MethodRef]int), projects: make(map[string]bool), closed: make(map[classfile.MethodRef]bool)}
	w.addTraces(next)
	return next, reset, nil
}

// limit assigns quotas to the probes with a limit of calls. A probe keeps a quota that it has.
func (w *Probes) limit(r *probes.Request) error {
	for _, p := range r.Probes {
		if p.Calls == 0 {
			continue
		}
		if p.Quota = w.quotaOf(p.Name); p.Quota > 0 {
			continue
		}
		var err error
		if p.Quota, err = w.shared.newQuota(w); err != nil {
			return err
		}
		if err := w.target.MakeQuota(p.Quota); err != nil {
			return err
		}
	}
	return nil
}

// quotaOf returns the number of the quota of an applied probe; 0 if it has none.
func (w *Probes) quotaOf(probe string) uint16 {
	if w.plan != nil {
		for _, p := range w.plan.Probes {
			if p.Name == probe {
				return p.Quota
			}
		}
	}
	return 0
}

// install makes the changes, and records each change that was made, even if a later one fails.
func (w *Probes) install(ctx context.Context, t *todo, report *Report) error {
	w.lock.Lock()
	isDue := len(t.change.Add.Spots) > 0 || len(t.change.Remove.Spots) > 0 || t.change.HandOff && !w.handsOff || t.change.TimeTasks && !w.timesTasks
	levels := w.plan.levels
	w.lock.Unlock()
	if levels > 0 {
		if err := w.target.SetRings(cmp.Or(w.options.RingBytes, defaultRing), uint32(levels)); err != nil {
			return err
		}
	}
	if isDue {
		installation, err := w.target.Update(ctx, t.change)
		if err != nil {
			return fmt.Errorf("installing hooks: %w", err)
		}
		report.Installation = installation
		w.lock.Lock()
		for _, s := range t.change.Remove.Spots {
			delete(w.applied, s.FullName())
		}
		for _, s := range t.change.Add.Spots {
			w.applied[s.FullName()] = s
		}
		w.handsOff, w.timesTasks = t.change.HandOff, t.change.TimeTasks
		w.lock.Unlock()
	}
	if len(t.switches) == 0 {
		return nil
	}
	if err := w.target.SwitchSpots(ctx, t.switches); err != nil {
		return fmt.Errorf("switching hooks: %w", err)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for name, s := range w.applied {
		if setting, is := t.switches[w.target.SpotID(s)]; is {
			s.Flags, s.Period = setting.Flags, setting.Period
			w.applied[name] = s
		}
	}
	return nil
}

// defaultRing is the default size of a thread's buffer of trace records.
const defaultRing = 128 << 10

// adopt makes a plan the current one.
func (w *Probes) adopt(next *plan, changes []probeset.Change) {
	changed := make(map[string]bool)
	for _, change := range changes {
		changed[change.Name] = changed[change.Name] || change.Kind == probeset.OfProbe && change.Action != probeset.Alter
	}
	for _, p := range next.Probes {
		began, is := w.began[p.Name]
		if !is || changed[p.Name] {
			began = beginning{at: time.Now(), calls: w.callsOf(p.Name)}
		}
		if p.Quota != w.quotaOf(p.Name) {
			calls := w.callsOf(p.Name)
			began.free = calls - min(calls, began.calls)
		}
		w.began[p.Name] = began
		w.setQuota(p)
	}
	w.set, w.plan = next.Set, next
	maps.Copy(w.numbers, next.Numbers)
	for _, p := range next.Probes {
		if p.Level >= probeset.Trace && !p.Goal { // below a goal that is met, nothing has hooks
			w.traced[p.Name] = true
		}
	}
	w.queue.forget()
	for _, s := range next.Spots {
		w.learn(s)
	}
}

// learn records the name of a spot for its results, and the classes whose new subclasses
// require another check of its conditions.
func (w *Probes) learn(s *probes.Spot) {
	id := w.target.SpotID(s.Spot)
	w.methods[id] = s.MethodRef
	if s.Measures() {
		name := s.Describe(id)
		name.Class = w.nameOf(s)
		w.names[id] = name
	}
	for _, name := range s.OpenTypes() {
		w.queue.depend(id, name)
		below, _ := w.classes.Subtypes(name)
		for _, c := range below {
			w.queue.depend(id, c.Name)
		}
	}
}

// nameOf returns the class of a spot. For a proxy of interfaces it is the interface that has the method, with
// the proxy's own name: com/acme/Repository$Proxy12.
func (w *Probes) nameOf(s *probes.Spot) string {
	super, isProxy := universe.Proxied(s.Class)
	if !isProxy || super != "" || s.Method.Owner == nil {
		return s.Class
	}
	if name := w.classes.InheritedFrom(s.Method); name != "" {
		return name + s.Class[strings.LastIndexByte(s.Class, '/')+1:]
	}
	return s.Class
}

// difference returns the changes that lead from the applied spots to a plan.
func (w *Probes) difference(next *plan, reset bool) *todo {
	t := &todo{switches: make(map[uint32]arena.Probe)}
	for _, name := range slices.Sorted(maps.Keys(next.Spots)) {
		s := next.Spots[name].Spot
		had, is := w.applied[name]
		switch {
		case !is || !isAlike(had, s):
			t.change.Add.Spots = append(t.change.Add.Spots, s)
		case had.Flags != s.Flags || had.Period != s.Period:
			t.switches[w.target.SpotID(s)] = arena.Probe{Flags: s.Flags, Period: s.Period}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		if next.Spots[name] == nil {
			t.change.Remove.Spots = append(t.change.Remove.Spots, w.applied[name])
		}
	}
	t.change.ResetPaths = reset
	t.change.Bridges = next.Bridges()
	t.change.HandOff, t.change.TimeTasks = next.HandsOff(), next.TimesTasks()
	return t
}

// isAlike reports whether two spots of one name differ at most in flags and period.
func isAlike(a, b instrument.Spot) bool {
	return a.Kind == b.Kind && a.Form == b.Form && a.Below == b.Below && a.Direct == b.Direct && a.First == b.First &&
		a.Outside == b.Outside && a.Fails == b.Fails && a.Queued == b.Queued && a.Tag == b.Tag && a.Groups == b.Groups && a.Context == b.Context
}

// A Report is the result of Apply.
type Report struct {
	Changes                  []probeset.Change
	Woven, Removed, Switched int                   // spots
	Installation             *session.Installation // the cost of weaving; nil where nothing was woven
	Probes                   []probes.Applied
	Tags                     []probes.Applied
	// Warnings are for the user. Options.Notice has received them, too.
	Warnings []string
}
