package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Apply replaces the applied set. Only the differences are changed in the JVM. If the set
// is wrong, nothing is changed.
func (w *Watch) Apply(ctx context.Context, set *probeset.Set) (*Report, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	w.settle()
	return w.apply(ctx, set)
}

func (w *Watch) apply(ctx context.Context, set *probeset.Set) (*Report, error) {
	w.lock.Lock()
	numbers := maps.Clone(w.numbers)
	w.lock.Unlock()
	r, err := read(set, numbers)
	if err != nil {
		return nil, err
	}
	if err := w.begin(ctx, r); err != nil {
		return nil, err
	}
	if err := w.readClasses(ctx, r); err != nil {
		return nil, err
	}
	report, todo, err := w.prepare(r)
	warnings := w.warn()
	if err != nil {
		if todo != nil { // classes that have loaded meanwhile get the hooks of the old plan
			err = errors.Join(err, w.install(ctx, todo, report))
		}
		return nil, err
	}
	report.Warnings = warnings
	if err := w.install(ctx, todo, report); err != nil {
		return nil, err
	}
	w.lock.Lock()
	w.plan.positions.keep(r.sequences)
	w.lock.Unlock()
	return report, w.target.OnLoading(ctx, w.excludes(), w.loading)
}

// begin subscribes to loading classes before the loaded classes are listed, so that none
// is missed in between.
func (w *Watch) begin(ctx context.Context, r *request) error {
	if !w.started {
		if err := w.target.Discover(0); err != nil { // labels come as arrivals; no thread waits for an answer
			return err
		}
		w.started = true
	}
	return w.target.OnLoading(ctx, excludesOf(r, nil), w.loading)
}

// readClasses reads which classes are loaded, and the files of those that the set needs.
func (w *Watch) readClasses(ctx context.Context, r *request) error {
	named, err := w.target.Prefetch(ctx, func(class string) bool { return r.matchClass(class) && r.mayTouch(class) }, r.nameClass)
	if err != nil {
		return err
	}
	library := w.universe.Library
	isOurs := func(class string) bool { return !library.Has(class) && !universe.IsSondes(class) }
	all, err := w.target.Survey(ctx, func(class string) bool { return r.needsAll() && isOurs(class) })
	if err != nil {
		return err
	}
	known, err := w.target.Known(ctx)
	if err != nil {
		return err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, list := range [][]universe.Loaded{named, known, all} {
		for _, c := range list {
			w.universe.Add(c)
		}
	}
	return nil
}

// A todo is the list of changes that apply a plan.
type todo struct {
	request  session.SpotRequest
	switches map[uint32]arena.Probe
}

// prepare compiles a request and adopts its plan, so that loading classes get its spots
// from then on.
func (w *Watch) prepare(r *request) (*Report, *todo, error) {
	w.queue.open()
	w.lock.Lock()
	defer w.lock.Unlock()
	next, fresh, err := w.compiled(r)
	if err != nil {
		if w.plan == nil {
			w.catchUp(nil)
			return nil, nil, err
		}
		w.catchUp(w.compiler(w.plan))
		return &Report{}, w.difference(w.plan, false), err
	}
	w.catchUp(w.compiler(next))
	report := &Report{Changes: probeset.Diff(w.set, r.set)}
	report.Probes, report.Tags = next.report()
	todo := w.difference(next, fresh)
	report.Woven, report.Removed, report.Switched = len(todo.request.Add), len(todo.request.Remove), len(todo.switches)
	w.adopt(next, report.Changes)
	return report, todo, nil
}

// manyAnchors is the number of anchors above which there is a warning: each is a hook that
// is always on.
const manyAnchors = 1000

// warn reports sequences that name so many methods that they slow the program down, and
// the effects of rules.
func (w *Watch) warn() (warnings []string) {
	w.lock.Lock()
	anchors := 0
	if w.plan != nil {
		anchors, warnings = w.plan.anchors(), w.gaps(w.plan)
	}
	w.lock.Unlock()
	if anchors > manyAnchors {
		warnings = append(warnings, fmt.Sprintf("%d methods are named by sequences, and each gets a hook that is always on: narrower patterns cost the program less", anchors))
	}
	for _, text := range warnings {
		w.notice(text)
	}
	return warnings
}

// compiled returns the plan of a request, and whether the paths of threads must be reset.
func (w *Watch) compiled(r *request) (next *plan, fresh bool, err error) {
	positions, fresh, err := w.placed(r.sequences)
	if err != nil {
		return nil, false, err
	}
	c := w.compiler(newPlan(r, positions))
	if err := c.compile(); err != nil {
		return nil, false, err
	}
	w.addTraces(c)
	return c.plan, fresh, nil
}

// placed assigns positions to sequences. Paths must be reset if positions get another
// meaning.
func (w *Watch) placed(wanted []*pattern.Sequence) (p *positions, fresh bool, err error) {
	p = &positions{}
	if w.plan != nil {
		p = w.plan.positions.clone()
	}
	before := p.ever
	used := p.used()
	if err := p.place(wanted); err != nil {
		anew := &positions{ever: before}
		if again := anew.place(wanted); again != nil {
			return nil, false, again
		}
		return anew, true, nil
	}
	return p, p.used()&^used&before != 0, nil
}

// install makes the changes, and records those that were made even if a later one fails.
func (w *Watch) install(ctx context.Context, t *todo, report *Report) error {
	w.lock.Lock()
	isDue := len(t.request.Add) > 0 || len(t.request.Remove) > 0 || t.request.HandOff && !w.handsOff
	w.lock.Unlock()
	if err := w.makeRings(); err != nil {
		return err
	}
	if isDue {
		installation, err := w.target.UpdateSpots(ctx, t.request)
		if err != nil {
			return fmt.Errorf("putting hooks in: %w", err)
		}
		report.Installation = installation
		w.lock.Lock()
		for _, s := range t.request.Remove {
			delete(w.applied, spotName(&s))
		}
		for _, s := range t.request.Add {
			w.applied[spotName(&s)] = s
		}
		w.handsOff = t.request.HandOff
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

// makeRings sets the size of the threads' trace buffers and the depth of traces.
func (w *Watch) makeRings() error {
	w.lock.Lock()
	levels := w.plan.levels
	w.lock.Unlock()
	if levels == 0 {
		return nil
	}
	bytes := w.options.RingBytes
	if bytes == 0 {
		bytes = defaultRing
	}
	return w.target.SetRings(bytes, uint32(levels))
}

// adopt makes a plan the current one.
func (w *Watch) adopt(next *plan, changes []probeset.Change) {
	changed := make(map[string]bool)
	for _, change := range changes {
		changed[change.Name] = changed[change.Name] || change.Kind == probeset.OfProbe && change.Action != probeset.Alter
	}
	w.set, w.plan = next.set, next
	maps.Copy(w.numbers, next.numbers)
	for _, p := range next.probes {
		if _, is := w.began[p.Name]; !is || changed[p.Name] {
			w.began[p.Name] = beginning{time.Now(), w.callsOf(p.Name)}
		}
		if p.Level >= probeset.Trace {
			w.traced[p.Name] = true
		}
	}
	w.queue.forget()
	for _, s := range next.spots {
		w.learn(s)
		w.noteDepends(s)
	}
}

// noteDepends registers the classes whose new subclasses require another check of a spot's
// conditions.
func (w *Watch) noteDepends(s *planned) {
	for _, d := range s.depends {
		for _, name := range d.Open {
			id := w.target.SpotID(s.Spot)
			w.queue.depend(id, name)
			below, _ := w.universe.Subtypes(name)
			for _, c := range below {
				w.queue.depend(id, c.Name)
			}
		}
	}
}

// learn records the name and the groups of a spot for its results.
func (w *Watch) learn(s *planned) {
	if s.Kind == instrument.Watches {
		id := w.target.SpotID(s.Spot)
		w.names[id] = s.name(id)
		w.grouped[id] = s.Groups != 0 || s.Context != 0
		if s.probe != nil {
			w.groups[id] = s.probe.GroupBy
		}
	}
}

// difference returns the changes that lead from the applied spots to a plan.
func (w *Watch) difference(next *plan, fresh bool) *todo {
	t := &todo{switches: make(map[uint32]arena.Probe)}
	for _, name := range slices.Sorted(maps.Keys(next.spots)) {
		s := next.spots[name].Spot
		had, is := w.applied[name]
		switch {
		case !is || !isAlike(had, s):
			t.request.Add = append(t.request.Add, s)
		case had.Flags != s.Flags || had.Period != s.Period:
			t.switches[w.target.SpotID(s)] = arena.Probe{Flags: s.Flags, Period: s.Period}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		if next.spots[name] == nil {
			t.request.Remove = append(t.request.Remove, w.applied[name])
		}
	}
	t.request.ResetPaths = fresh
	t.request.Bridges = slices.Sorted(maps.Keys(next.bridges))
	t.request.HandOff = next.set.HandOff && next.hasContext() && next.forbidsHandOff() == ""
	return t
}

// isAlike reports whether two spots of one name differ at most in flags and period.
func isAlike(a, b instrument.Spot) bool {
	return a.Kind == b.Kind && a.Form == b.Form && a.Below == b.Below && a.Direct == b.Direct && a.First == b.First &&
		a.Tag == b.Tag && a.Groups == b.Groups && a.Context == b.Context
}

// A Report is the result of Apply.
type Report struct {
	Changes                  []probeset.Change
	Woven, Removed, Switched int                   // spots
	Installation             *session.Installation // the cost of weaving; nil where nothing was woven
	Probes                   []Applied
	Tags                     []Applied
	// Warnings are for the user. Options.Notice has received them, too.
	Warnings []string
}

// Applied is the effect of a probe or a tag.
type Applied struct {
	Name      string
	Methods   []string // methods it acts in, as class.Name(descriptor), by name
	Anchors   int      // methods of its sequences
	LeftOut   []LeftOut
	Unmatched []string // patterns and elements of sequences that match no loaded method
	Redacted  []string // captures whose values are not read
	Traced    int      // methods called by its methods that are also traced
	Untraced  int      // methods of the same levels that exceed the limit
}

// A LeftOut is a method or class that a probe names and in which it does not act.
type LeftOut struct {
	Method string // class.Name(descriptor), or a class
	Err    error
}
