package rootcause

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

// climb goes up from spots, level by level.
func (w *walker) climb(ctx context.Context, spots []*spot) error {
	for _, s := range spots {
		s.climbed = true
	}
	w.enter(Weaving)
	w.noteRedefined()
	clear(w.redefined)
	planned, err := w.plan(ctx, spots)
	if err != nil {
		return err
	}
	for _, s := range spots {
		if top := w.know(s.top.method); !top.own {
			s.above = top.reason
		}
	}
	if len(planned) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s on the way up from %s", format.Plural(len(planned), "method"), format.Plural(len(spots), "hot spot"))
	if err := w.weaveAndSettle(ctx, planned, why); err != nil {
		return err
	}
	w.enter(Climbing)
	for level := 0; level <= w.Levels; level++ {
		more, err := w.climbLevel(ctx, spots, level)
		if err != nil || !more {
			return w.andSurprises(ctx, err)
		}
	}
	return w.andSurprises(ctx, nil)
}

// climbLevel measures the methods of one level; false where there is none above.
func (w *walker) climbLevel(ctx context.Context, spots []*spot, level int) (more bool, err error) {
	w.level = level
	var due []*subject
	of := make(map[*subject]int)
	for i, s := range w.spots {
		if !slices.Contains(spots, s) || !s.isHot() {
			continue
		}
		s.top.each(s.least(), func(one *way) {
			more = more || one.level > level
			known := w.subjects[one.method]
			if one.level == level && known != nil && known.state == climb.Woven && !slices.Contains(due, known) {
				due = append(due, known)
				of[known] = i
			}
		})
	}
	for crew := range slices.Chunk(due, w.Hooks) {
		if err := w.measure(ctx, crew, level, of); err != nil {
			return false, err
		}
	}
	return more, nil
}

// andSurprises ends a climb. Callers that stacks did not show, and that count, get
// hooks in one more batch.
func (w *walker) andSurprises(ctx context.Context, err error) error {
	if err := errors.Join(err, w.allOff(ctx)); err != nil {
		return err
	}
	surprises, err := w.surprises(ctx)
	if err != nil || len(surprises) == 0 {
		return err
	}
	if err := w.weaveAndSettle(ctx, surprises, fmt.Sprintf("%s that stacks did not show", format.Plural(len(surprises), "caller"))); err != nil {
		return err
	}
	var woven []*subject
	of := w.spotsOf(surprises)
	for _, s := range surprises {
		if s.state == climb.Woven {
			woven = append(woven, s)
		}
	}
	for crew := range slices.Chunk(woven, w.Hooks) {
		if err := w.measure(ctx, crew, w.level+1, of); err != nil {
			return err
		}
	}
	return w.allOff(ctx)
}

// spotsOf are the spots for whose sake callers get hooks that stacks did not show.
func (w *walker) spotsOf(surprises []*subject) map[*subject]int {
	of := make(map[*subject]int)
	for _, caller := range surprises {
		for i, s := range w.spots {
			s.top.each(s.least(), func(at *way) {
				if known := w.subjects[at.method]; known != nil && known.callers[caller.method] > 0 {
					of[caller] = i
				}
			})
		}
	}
	return of
}

// surprising is the part of a method's calls that a caller must make to count.
const surprising = 0.05

// surprises are callers that hooks have met and stacks have not, where their classes
// were not redefined yet.
func (w *walker) surprises(ctx context.Context) ([]*subject, error) {
	var met []method
	for _, s := range w.order {
		cut := w.isCut(s.method)
		for m, hits := range s.callers {
			isNews := cut || w.calls.edges[edge{m, s.method}] == nil
			if isNews && isMethod(m) && float64(hits) >= surprising*float64(s.drawn) && !slices.Contains(met, m) {
				met = append(met, m)
			}
		}
	}
	slices.SortFunc(met, method.compare)
	if err := w.fetch(ctx, met); err != nil {
		return nil, err
	}
	var found []*subject
	for _, m := range met {
		caller := w.know(m)
		if caller.state != climb.Seen {
			continue
		}
		reason := w.obstacle(caller)
		if w.redefined[m.class] > 0 && reason == "" {
			reason = "stacks did not show it, and its class has been changed once for this climb"
		}
		if reason != "" {
			caller.leave(reason)
			continue
		}
		caller.own = true
		found = append(found, caller)
	}
	return found, nil
}

// isCut reports whether most stacks through a method end there because the recorder
// keeps no more of them.
func (w *walker) isCut(m method) bool {
	var cut, all float64
	for _, s := range w.spots {
		s.top.each(s.least(), func(at *way) {
			if at.method == m {
				cut, all = cut+at.cut, all+at.weight
			}
		})
	}
	return cut > all/2
}

const (
	// mostSettling bounds how long is waited for compilers: some programs have them busy
	// all the time.
	mostSettling = 8 * time.Second
	settleLook   = 250 * time.Millisecond
)

// weaveAndSettle puts hooks in and waits until the program runs as it did.
func (w *walker) weaveAndSettle(ctx context.Context, subjects []*subject, why string) error {
	w.settling = true
	defer func() { w.settling = false }()
	if err := w.weave(ctx, subjects, why); err != nil {
		return err
	}
	return w.settle(ctx)
}

// hooksOut is why there is a batch at the end of a climb, or of the walk.
const hooksOut = "all hooks out"

// unhookAndSettle takes out what a climb has put in, as nothing is left to be climbed for
// now: while only stacks are looked at, the program runs the code it had.
func (w *walker) unhookAndSettle(ctx context.Context) error {
	var request session.Request
	for _, s := range w.order {
		if !s.woven {
			continue
		}
		s.request(&request, 0, 0)
		s.woven = false
		if s.state == climb.Woven { // it was not its turn: another climb may come by
			s.state, s.sites = climb.Seen, nil
		}
	}
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	clear(w.claimed)
	w.settling = true
	defer func() { w.settling = false }()
	installation, err := w.session.Unhook(ctx, request)
	if err != nil {
		return err
	}
	w.account(installation, hooksOut, false)
	return w.settle(ctx)
}

// settle waits until code that got hooks is compiled again. What samples say
// meanwhile does not count.
func (w *walker) settle(ctx context.Context) error {
	limit := time.Now().Add(mostSettling)
	last, err := w.session.Read()
	if err != nil {
		return err
	}
	var lull cost.Lull
	for isDone := false; !isDone && time.Now().Before(limit); {
		if err := w.pause(ctx, settleLook); err != nil {
			return err
		}
		now, err := w.session.Read()
		if err != nil {
			return err
		}
		isDone = lull.Add(last.Until(now))
		last = now
	}
	w.startLook()
	return nil
}
