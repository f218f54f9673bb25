package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/found"
	"github.com/sonde-jvm/sonde/internal/measure/goals"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

const (
	// goalsEvery is how often goals are compared with figures, or a tenth of their shortest time, but not more often than
	// goalsLeast.
	goalsEvery = time.Second
	goalsLeast = 100 * time.Millisecond
	// mostGoalSteps is how many steps of a goal are kept for the result.
	mostGoalSteps = 200
	// mostShares is how long the time course of what hooks cost may be.
	mostShares = 200
	// enoughErrors is how many failed calls show where exceptions come from.
	enoughErrors = 8
)

// A goalsRun compares the goals of an applied set with what is measured, and does what follows.
type goalsRun struct {
	*applyRun
	goals     []*goalRun
	isChanged atomic.Bool              // another sonde apply has changed the set
	said      atomic.Pointer[[]string] // the state of all goals, for other commands

	last     *monitor.Reading
	settling *overhead.Settling // nil once the program has settled after a change of its hooks
	read     cost.Reading       // at the last look at it
	costAt   cost.Reading       // when the cost of hooks was measured
	counted  hookCounts         // until then
	shares   overhead.Shares    // parts of the program's time that hooks took
	course   []document.HookShare

	lock    sync.Mutex // guards the steps of all goals
	actions sync.WaitGroup
	stays   context.Context // done when the actions of missed goals have to end
	depart  context.CancelFunc
}

// hookCounts are the calls of hooks until a moment.
type hookCounts struct {
	all, timed uint64
	inside     uint64 // below methods
}

// A goalRun is a goal with the search below its method.
type goalRun struct {
	*goals.Tracker
	steps  []document.GoalStep
	isBusy atomic.Bool // its command runs

	descent                // of the last search
	isFound bool           // it has ended
	failed  int            // calls
	thrown  map[string]int // failed calls by the method that threw
}

// begin follows the goals of the set that is applied.
func (g *goalsRun) begin(ctx context.Context) {
	var now []*goalRun
	set := g.holder.Probes.Set()
	g.lock.Lock()
	for i := range set.Goals {
		goal := &goalRun{Tracker: goals.New(&set.Goals[i])}
		for _, old := range g.goals {
			if old.Goal.Method.String() == goal.Goal.Method.String() {
				goal.steps = slices.Clone(old.steps)
			}
		}
		now = append(now, goal)
	}
	g.lock.Unlock()
	g.goals = now
	for _, goal := range now {
		if c := g.recall(ctx, goal); c != nil && len(goal.steps) == 0 {
			g.log(goal, "not measured yet", fmt.Sprintf("cause found on %s: %s; if the goal is missed, the search begins there", dayOf(c), c.Text))
		}
	}
	g.endRings()
	g.last, g.settling = monitor.Start(g.session.Now()), nil
	if g.stays == nil {
		g.stays, g.depart = context.WithCancel(context.Background())
	}
}

// end waits for the commands of missed goals, for a while.
func (g *goalsRun) end() {
	if g.stays == nil {
		return
	}
	defer time.AfterFunc(actionPatience, g.depart).Stop()
	g.actions.Wait()
	g.depart()
}

// every returns how often goals are compared with figures.
func (g *goalsRun) every() time.Duration {
	every := goalsEvery
	for _, goal := range g.goals {
		every = min(every, max(goalsLeast, goal.Goal.Window()/10))
	}
	return every
}

// evaluate compares all goals with figures, and does what follows.
func (g *goalsRun) evaluate(ctx context.Context) {
	if g.isChanged.Swap(false) {
		g.begin(ctx)
	}
	if len(g.goals) == 0 {
		return
	}
	rows, err := g.take()
	if err != nil {
		return // the end reports it
	}
	isSettled, part := g.hasSettled(), g.measureCost()
	for _, goal := range g.goals {
		o := goals.Observation{At: g.last.At, Rows: rows[goal.Goal.Probe], Cost: part, Budget: cmp.Or(g.budget, g.usualBudget), Found: goal.isFound}
		if isSettled {
			o.Reading = g.last
		}
		for _, step := range goal.Next(o) {
			g.do(ctx, goal, step)
		}
		if isSettled && goal.Raised && !goal.isFound {
			g.search(ctx, goal)
		}
	}
	lines := g.lines()
	g.said.Store(&lines)
}

// endRings lets other commands trace if no probe does any more.
func (g *goalsRun) endRings() {
	if !slices.ContainsFunc(g.holder.Probes.Set().Probes, isTraced) {
		_, _ = g.traces.Read() // the end reports errors
		_ = g.session.EndRings()
	}
}

// take takes a reading, and returns the rows of each probe.
func (g *goalsRun) take() (rows map[string][]uint32, err error) {
	stall := goalsEvery
	for _, goal := range g.goals {
		for _, b := range goal.Goal.Bounds {
			if b.Quantity == "running" {
				stall = min(stall, time.Duration(b.Limit))
			}
		}
	}
	reading, err := monitor.Take(g.holder.Probes, g.last, stall)
	if err != nil {
		return nil, err
	}
	g.last = reading
	found, err := g.holder.Probes.Results()
	if err != nil {
		return nil, err
	}
	rows = make(map[string][]uint32)
	for i := range found.Rows {
		rows[found.Rows[i].Probe] = append(rows[found.Rows[i].Probe], found.Rows[i].ID)
	}
	return rows, nil
}

// hasSettled reports whether the program runs as before hooks were changed. Then figures start from zero.
func (g *goalsRun) hasSettled() bool {
	if g.settling == nil {
		return true
	}
	now, err := g.session.Read()
	if err != nil {
		return false // the session ends
	}
	since := g.read.Until(now)
	g.read = now
	if g.settling.Add(since) == overhead.Unsettled {
		return false
	}
	g.settling = nil
	g.beginFigures()
	return true
}

// hooksChanged makes figures start from zero when the program has settled.
func (g *goalsRun) hooksChanged() {
	g.beginFigures()
	if !g.target.settle.isUsed() {
		return
	}
	var err error
	if g.read, err = g.session.Read(); err == nil {
		g.settling = &overhead.Settling{Rule: overhead.ForRootCause}
	}
}

func (g *goalsRun) beginFigures() {
	for _, goal := range g.goals {
		goal.Begin()
		goal.again()
	}
}

// measureCost adds to the time course of what hooks cost, and returns the part of the program's CPU time that hooks below methods
// took; negative if it was not measured.
func (g *goalsRun) measureCost() float64 {
	now, err := g.session.Read()
	since, isFirst := g.costAt.Until(now), g.costAt.At.IsZero()
	if err != nil || !isFirst && since.Elapsed < drillBudgetEvery {
		return -1
	}
	var counted hookCounts
	var failed error
	counted.inside, err = g.holder.Probes.CallsInside()
	counted.all, counted.timed, failed = g.hookedCalls()
	each, before := g.cost.Cost(), g.counted
	if err != nil || failed != nil || each == nil {
		return -1
	}
	g.costAt, g.counted = now, counted
	if isFirst || counted.all < before.all || counted.inside < before.inside {
		return -1
	}
	program, inside := overhead.ProgramNanos(since), each.Median*float64(counted.inside-before.inside)
	all := hookNanos(counted.all-before.all, counted.timed-min(before.timed, counted.timed), each) + (overhead.RecordPart-1)*inside
	isRaised := slices.ContainsFunc(g.goals, func(goal *goalRun) bool { return goal.Raised })
	g.course = addShare(g.course, document.HookShare{At: now.At.Round(time.Millisecond), Share: g.shares.Add(now.At, since.Elapsed, time.Duration(all), time.Duration(program)), Raised: isRaised})
	if !isRaised {
		return -1
	}
	return overhead.RecordPart * inside / program
}

// addShare adds to a time course. When it becomes too long, two of its parts become one, with the larger share.
func addShare(course []document.HookShare, s document.HookShare) []document.HookShare {
	if course = append(course, s); len(course) <= mostShares {
		return course
	}
	half := course[:0]
	for pair := range slices.Chunk(course, 2) {
		last := pair[len(pair)-1]
		last.Share, last.Raised = max(pair[0].Share, last.Share), pair[0].Raised || last.Raised
		half = append(half, last)
	}
	return half
}

// do does what a goal asks for, and logs it.
func (g *goalsRun) do(ctx context.Context, goal *goalRun, step goals.Step) {
	switch step.Do {
	case goals.Raise:
		g.raise(ctx, goal, step)
	case goals.Lower:
		goal.isFound = false
		done := step.Why + ": the hooks below it are removed"
		if err := g.holder.Probes.SetLevel(ctx, goal.Goal.Probe, probeset.Time); err != nil {
			done = step.Why + ", but the hooks below it could not be removed: " + format.OneLine(err)
		}
		g.log(goal, step.Seen, done)
		g.endRings()
		g.hooksChanged()
	case goals.Report:
		g.report(goal, step.Seen)
	case goals.Note:
		g.log(goal, step.Seen, step.Why)
	}
}

// raise puts hooks into what the method of a missed goal calls.
func (g *goalsRun) raise(ctx context.Context, goal *goalRun, step goals.Step) {
	goal.descent = newDescent(g.holder.Probes, goal.slowerThan())
	goal.recalled, goal.isFound, goal.failed, goal.thrown = g.recall(ctx, goal), false, 0, make(map[string]int)
	roots := g.holder.Probes.RootsOf(goal.Goal.Probe)
	for _, m := range roots {
		goal.opened[m] = true
	}
	where := "its callees"
	way, ahead := goal.takeWay()
	if len(way) > 0 {
		where += fmt.Sprintf(", and on %s: %s", goal.wayText(), goal.recalled.Text)
	}
	woven, _, err := g.holder.Probes.Raise(ctx, goal.Goal.Probe, roots, append(way, roots...), ahead)
	if err != nil {
		goal.Failed()
		_ = g.holder.Probes.SetLevel(ctx, goal.Goal.Probe, probeset.Time) // another command may trace, or the session ends
		g.log(goal, step.Seen, step.Why+", and its callees could not get hooks: "+format.OneLine(err))
		return
	}
	g.isTraced = true
	g.log(goal, step.Seen, fmt.Sprintf("%s: %s in %s", step.Why, format.Count(woven, "new hook", "new hooks"), where))
	g.hooksChanged()
}

// recall returns what an earlier search has found below the method of a goal about times; nil if nothing is known.
func (g *goalsRun) recall(ctx context.Context, goal *goalRun) *found.Cause {
	if goal.slowerThan() == 0 {
		return nil
	}
	return remembered(ctx, g.holder.Probes, g.holder.Probes.RootsOf(goal.Goal.Probe))
}

// add takes in transactions, for the searches below methods.
func (g *goalsRun) add(ended []*trace.Transaction) {
	for _, goal := range g.goals {
		if !goal.Raised {
			continue
		}
		for _, tx := range ended {
			if tx.Lost == 0 && !tx.Begin.Before(goal.level) {
				goal.add(tx, tx.Root)
			}
		}
	}
}

// add takes in the calls of the goal's method in a transaction, which may be that of another method.
func (g *goalRun) add(tx *trace.Transaction, c *trace.Call) {
	if c == nil {
		return
	}
	if c.Probe != g.Goal.Probe {
		for _, callee := range c.Children {
			g.add(tx, callee)
		}
		return
	}
	if c != tx.Root {
		tx = &trace.Transaction{Root: c, Duration: c.Duration}
	}
	if c.Threw {
		g.failed++
		g.thrown[drill.Thrower(c)]++
	}
	if g.slow > 0 {
		g.descent.add(tx)
	}
}

// slowerThan returns the time from which on a call is slow; 0 if the goal is not about times.
func (g *goalRun) slowerThan() time.Duration {
	for _, b := range g.Goal.Bounds {
		if b.Less && b.Quantity != "errors" {
			return time.Duration(b.Limit)
		}
	}
	return 0
}

// search compares slow calls with normal ones. If most of the excess is in a method whose callees have no hooks, these get them.
func (g *goalsRun) search(ctx context.Context, goal *goalRun) {
	if goal.slow == 0 {
		goal.isFound = goal.failed >= enoughErrors
		return
	}
	switch {
	case goal.root == nil && goal.isEnoughToBegin():
		goal.slowestRoot()
	case goal.root == nil || !goal.isEnough():
		return
	}
	choice := goal.choose()
	if choice.Open == nil {
		goal.cause, goal.isFound = goal.tree.Explain(choice, nil, 0), true
		if !goal.isAsBefore() { // the text of sonde drill may say more, because it has samples
			keepFound(g.holder.Probes, goal.cause, goal.slow, goal.onPath)
		}
		done := "most of the excess: " + goal.cause.Text
		if text := goal.compared(); text != "" {
			done += "; " + text
		}
		g.log(goal, goal.Seen, done)
		return
	}
	last := goal.follow(choice)
	woven, _, err := g.holder.Probes.Raise(ctx, goal.Goal.Probe, g.holder.Probes.MethodsOf(goal.path), []classfile.MethodRef{last}, drillAhead)
	switch {
	case err != nil:
		goal.isFound = true
		g.log(goal, goal.Seen, "the search ends, because a callee could not get a hook: "+format.OneLine(err))
	case woven > 0:
		g.log(goal, goal.Seen, fmt.Sprintf("%s has %s of the excess: %s in its callees", choice.Open.Name(), format.Percent(goal.tree.Time(choice.Open).Share.Part), format.Count(woven, "new hook", "new hooks")))
		g.hooksChanged()
	}
}

// log keeps and shows a step of a goal. It may be called from any goroutine.
func (g *goalsRun) log(goal *goalRun, seen, done string) {
	now := time.Now()
	g.lock.Lock()
	goal.steps = append(goal.steps, document.GoalStep{At: now.Round(time.Millisecond), Seen: seen, Done: done})
	goal.steps = goal.steps[max(0, len(goal.steps)-mostGoalSteps):]
	g.lock.Unlock()
	g.screen.say("%s", format.Printable(fmt.Sprintf("%s goal %s: %s; %s", now.Format(time.TimeOnly), goal.Goal.Title(), cmp.Or(seen, "no calls"), done)))
}

// report runs the command of a missed goal, or posts what was found. It does not wait for its end.
func (g *goalsRun) report(goal *goalRun, seen string) {
	action := goal.Goal.OnMiss
	if !goal.isBusy.CompareAndSwap(false, true) {
		g.log(goal, seen, "on-miss is left out, because it is still running for the last miss")
		return
	}
	described := g.describeGoal(goal)
	described.State = string(goals.Missed) // even if the latest calls meet it
	var findings bytes.Buffer
	err := document.Write(&findings, document.GoalMissed{
		PID: g.pid, JDK: g.session.JDK().String(), Main: g.session.JVM().Main, At: time.Now().Round(time.Millisecond), Goal: described,
	})
	g.actions.Go(func() {
		defer goal.isBusy.Store(false)
		if err == nil {
			err = perform(g.stays, action, findings.Bytes())
		}
		done := "on-miss: " + action.String()
		if err != nil {
			done = "on-miss failed: " + format.OneLine(err)
		}
		g.log(goal, seen, done)
	})
}

func (g *goalsRun) describeGoal(goal *goalRun) document.Goal {
	d := document.Goal{
		Method: goal.Goal.Method.String(), Goal: []string{}, State: string(goal.State), Seen: goal.Seen, Misses: goal.Misses, Raised: goal.Raised, Path: goal.levels,
		Findings: goal.findings(),
	}
	for _, b := range goal.Goal.Bounds {
		d.Goal = append(d.Goal, b.String())
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	d.Steps = append([]document.GoalStep{}, goal.steps...)
	return d
}

// findings says what the last search has found.
func (g *goalRun) findings() (lines []string) {
	if g.cause != nil {
		lines = append(lines, fmt.Sprintf("%s (%s of the excess of slow calls)", g.cause.Text, format.Percent(max(0, g.cause.Share))))
	} else if n := len(g.levels); n > 0 {
		lines = append(lines, drill.NotFound(g.levels[n-1]).Text)
	}
	if g.cause == nil && g.recalled != nil {
		lines = append(lines, fmt.Sprintf("cause found on %s: %s; fresh figures have not confirmed it yet", dayOf(g.recalled), g.recalled.Text))
	}
	most := ""
	for method, calls := range g.thrown {
		if calls > g.thrown[most] || calls == g.thrown[most] && method < most {
			most = method
		}
	}
	if most != "" {
		lines = append(lines, fmt.Sprintf("%s threw in %s of %s", most, format.Grouped(g.thrown[most]), format.Count(g.failed, "failed call", "failed calls")))
	}
	return lines
}

// describe returns the state of all goals for the result.
func (g *goalsRun) describe() (all []document.Goal) {
	for _, goal := range g.goals {
		all = append(all, g.describeGoal(goal))
	}
	return all
}

// lines returns the state of all goals, a line each.
func (g *goalsRun) lines() (lines []string) {
	for _, goal := range g.goals {
		text := fmt.Sprintf("goal %s: %s", goal.Goal.Title(), goal.State)
		if goal.Seen != "" {
			text += ", " + goal.Seen
		}
		if goal.Raised {
			text += ", with hooks in its callees"
		}
		if found := goal.findings(); len(found) > 0 {
			text += "; " + strings.Join(found, "; ")
		}
		lines = append(lines, format.Printable(text))
	}
	return lines
}
