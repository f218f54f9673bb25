package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A course is how a program was walked, or had hooks everywhere.
type course struct {
	span      twin.Span
	disturbed []disturbance
	hooks     int // methods that had one
	mostLive  int
	executed  uint64
	batches   int
	redefined int           // the class that was most often
	pause     time.Duration // as the JVM tells it
	classes   []string      // that were on the ways
	lives     []string      // which hooks were on when
}

// A disturbance is a time in which hooks went in or out. While the program settles
// after that it is as fast as it is with its hooks, if it has them, or as without.
type disturbance struct {
	span   twin.Span
	hooked bool
}

const command = "bench/walk"

// notice is how long before its end a batch is taken to have begun.
const notice = time.Second

// walked walks a program.
func walked(ctx context.Context, pid int, stay time.Duration) (*course, error) {
	options := rootcause.Defaults()
	options.PID, options.Command, options.Duration, options.Source = pid, command, stay, sampler.FlightRecorder
	var entering, leaving time.Time
	options.Progress = func(p rootcause.Progress) {
		switch {
		case p.Stage == rootcause.Entering && entering.IsZero():
			entering = time.Now()
		case p.Stage == rootcause.Leaving && leaving.IsZero():
			leaving = time.Now()
		}
	}
	began := time.Now()
	found, err := rootcause.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	gone := time.Now()
	if entering.IsZero() || len(found.Batches) == 0 {
		return nil, errors.New("the walk put no hooks in: " + strings.Join(found.Notes, "; "))
	}
	c := &course{
		span: twin.Span{From: began, Until: gone}, hooks: found.Cost.Hooked, mostLive: found.Cost.MostLive, executed: found.Cost.Executed,
		batches: len(found.Batches), redefined: found.Cost.Redefined, pause: found.Cost.Pause, classes: ownClasses(found),
	}
	for i, batch := range found.Batches {
		at := found.Began.Add(batch.At)
		s := twin.Span{From: at.Add(-notice), Until: at}
		if i == 0 {
			s.From = entering
		}
		if !batch.In && !leaving.IsZero() && at.After(leaving) {
			s = twin.Span{From: leaving, Until: gone}
		}
		c.disturbed = append(c.disturbed, disturbance{span: s})
	}
	for _, l := range found.Hooks {
		m := found.Methods[l.Method]
		c.lives = append(c.lives, fmt.Sprintf("%s.%s level %d, %.1f s to %.1f s, %d calls, %d drawn", m.Class, m.Name, l.Level, l.From.Seconds(), l.Until.Seconds(), l.Calls, l.Drawn))
	}
	return c, nil
}

// ownClasses are the classes on the ways that a walk found, but for the JDK's, which
// nobody would instrument as a whole.
func ownClasses(found *climb.Climb) []string {
	var classes []string
	for _, m := range found.Methods {
		isLibrary := strings.HasPrefix(m.Class, "java/") || strings.HasPrefix(m.Class, "jdk/") || strings.HasPrefix(m.Class, "sun/")
		if !isLibrary && !strings.Contains(m.Class, "$$Lambda") {
			classes = append(classes, strings.ReplaceAll(m.Class, "/", "."))
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// instrumented has hooks that time every call in all methods of classes, while stay
// takes.
func instrumented(ctx context.Context, pid int, classes []string, stay func() error) (_ *course, err error) {
	var patterns []string
	for _, class := range classes {
		patterns = append(patterns, class+".*")
	}
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		return nil, err
	}
	c := &course{span: twin.Span{From: time.Now()}, redefined: inAndOut}
	s, err := session.Open(ctx, pid, session.Settings{Command: command})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Release()) }()
	installation, err := s.Instrument(ctx, session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
	c.disturbed = append(c.disturbed, disturbance{twin.Span{From: c.span.From, Until: time.Now()}, true})
	if err == nil {
		err = stay()
	}
	sum, failed := s.Sum()
	leaving := time.Now()
	farewell, closing := s.Close(context.WithoutCancel(ctx))
	if err := errors.Join(err, failed, closing); err != nil {
		return nil, err
	}
	c.span.Until = time.Now()
	c.disturbed = append(c.disturbed, disturbance{span: twin.Span{From: leaving, Until: c.span.Until}})
	for _, totals := range sum.Methods {
		c.executed += totals.Calls
	}
	c.hooks, c.mostLive, c.batches = len(s.Methods()), len(s.Methods()), len(installation.Batches)+1
	c.pause, _ = installation.Pause()
	c.pause += farewell.Pause.Pause
	return c, nil
}
