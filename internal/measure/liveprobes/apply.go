package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/sequence"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Apply has the JVM do what a set says and nothing else of what was applied before. Only
// what differs is touched. Where something is wrong with the set nothing is.
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
	if err := w.look(ctx, r); err != nil {
		return nil, err
	}
	report, todo, err := w.prepare(r)
	warnings := w.warn()
	if err != nil {
		if todo != nil { // classes that loaded meanwhile get what they would have got
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

// begin has classes shown that load from now on, before anybody looks at those that are
// loaded, so that none is missed in between.
func (w *Watch) begin(ctx context.Context, r *request) error {
	if !w.started {
		if err := w.target.Discover(0); err != nil { // labels are told as arrivals; nobody waits
			return err
		}
		w.started = true
	}
	return w.target.OnLoading(ctx, excludesOf(r, nil), w.loading)
}

// look learns which classes are loaded, and gets the files of those that matter.
func (w *Watch) look(ctx context.Context, r *request) error {
	named, err := w.target.Prefetch(ctx, func(class string) bool { return r.matchClass(class) && r.mayTouch(class) }, r.nameClass)
	if err != nil {
		return err
	}
	library := w.world.library
	isOurs := func(class string) bool { return !library.has(class) && !isSondes(class) }
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
	for _, list := range [][]session.LoadedClass{named, known, all} {
		for _, c := range list {
			w.world.add(c)
		}
	}
	return nil
}

// A todo is what has to be done to have a plan applied.
type todo struct {
	request  session.WatchRequest
	switches map[uint32]arena.Probe
}

// prepare compiles a request. From then on it is what classes get that load.
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
	report.Woven, report.Removed, report.Switched = len(todo.request.Spots), len(todo.request.Without), len(todo.switches)
	w.adopt(next, report.Changes)
	return report, todo, nil
}

// manyAnchors is from how many on the user is told: each is a hook that is always on.
const manyAnchors = 1000

// warn tells of sequences whose methods are so many that the JVM will feel them, and of
// what rules keep from acting.
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

// compiled is the plan of a request.
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

// placed finds positions for sequences. Where those that were used before are used for
// others, or there is room only if all are placed anew, paths begin anew.
func (w *Watch) placed(wanted []*sequence.Sequence) (p *positions, fresh bool, err error) {
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
