package calltree

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// Options are what to look for, and how.
type Options struct {
	PID     int
	Methods *pattern.Set // the roots
	Limits  Limits
	Watch   time.Duration // how long calls are counted; 0 puts no hook in
	Hooks   int           // how many methods are watched at most
	// Redefine has the JVM redefine classes that no loader has a file of, to see them.
	Redefine bool
	Force    bool         // put hooks also into classes that the JDK damages by that
	Command  string       // for a human who asks who holds the JVM
	Cache    *cache.Cache // where woven classes are kept; may be nil
	Notice   func(string)
	Waiting  func(string) // gets what a slow end waits for; may be nil
	// Watching is told how many methods have hooks, once they are on; may be nil.
	Watching func(methods int)
}

// A Result is a tree and where it is from.
type Result struct {
	PID       int
	JDK, Main string
	*Tree
	Loaders  []Loader
	Classes  int // that are loaded and known
	Fileless int // of those, the program's whose file is not known: what they call and override is not in the tree
	AsOf     time.Time
	Holder   string // who held the JVM, so that it was not asked: the classes are as of AsOf
	// Of --watch:
	WatchedFor time.Duration
	Watched    int // methods that had hooks
	Unwatched  int // methods that could have had some beyond the bound
	Remarks    []string
}

// Look tells what methods of a JVM can call. Nothing stays in the JVM.
func Look(ctx context.Context, options Options) (*Result, error) {
	jvm, err := process.Local.Inspect(options.PID)
	if err != nil {
		return nil, &session.NoSuchJVM{PID: options.PID, Cause: err}
	}
	image := openLibrary(jvm.Image)
	defer image.close()
	hooked, holder, err := others(ctx, jvm)
	if err != nil {
		return nil, err
	}
	l := &look{Options: options, image: image, result: &Result{PID: options.PID, JDK: jvm.Version, Main: jvm.Main}}
	if holder != "" && options.Watch == 0 {
		if known, at := recall(jvm); known != nil {
			l.result.Holder, l.result.AsOf = holder, at
			if err := l.grow(known); err != nil {
				return nil, err
			}
			l.result.Mark(hooked)
			return l.result, nil
		}
	}
	return l.enter(ctx, jvm)
}

// A look under way.
type look struct {
	Options
	image   *library
	session *session.Session
	result  *Result
}

// enter asks the JVM, and leaves it as it was.
func (l *look) enter(ctx context.Context, jvm *process.JVM) (_ *Result, err error) {
	l.session, err = session.Open(ctx, l.PID, session.Settings{Command: l.Command, Force: l.Force, Notice: l.remark, Waiting: l.Waiting, Cache: l.Cache})
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.session.Release() }()
	err = l.ask(ctx, jvm)
	farewell, closing := l.session.Close(ctx)
	for _, text := range farewell.Remarks {
		l.remark(text)
	}
	if err := errors.Join(err, closing); err != nil {
		return nil, err
	}
	return l.result, nil
}

func (l *look) remark(text string) {
	l.result.Remarks = append(l.result.Remarks, text)
	if l.Notice != nil {
		l.Notice(text)
	}
}

func (l *look) ask(ctx context.Context, jvm *process.JVM) error {
	l.result.JDK, l.result.AsOf = l.session.JDK().String(), time.Now()
	loaded, err := l.survey(ctx)
	if err != nil {
		return err
	}
	remember(jvm, loaded)
	if err := l.grow(loaded); err != nil {
		return err
	}
	if l.Watch > 0 {
		return l.watch(ctx)
	}
	return nil
}

// survey lists the loaded classes. What the JDK has on disk is read there, the rest the
// JVM is asked for, once.
func (l *look) survey(ctx context.Context) ([]Class, error) {
	isOurs := func(class string) bool { return !l.image.has(class) && !isSondes(class) }
	var loaded []session.LoadedClass
	if l.Redefine {
		captured, err := l.session.Prefetch(ctx, isOurs, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		loaded = captured
	}
	surveyed, err := l.session.Survey(ctx, isOurs)
	if err != nil {
		return nil, err
	}
	var classes []Class
	for _, c := range append(loaded, surveyed...) {
		if !isSondes(c.Name) {
			classes = append(classes, Class{Name: c.Name, Loader: c.Loader, File: c.File, Reason: c.Reason})
		}
	}
	return classes, nil
}

// isSondes tells classes that came with Sonde.
func isSondes(class string) bool {
	return strings.HasPrefix(class, "sonde/agent/") || strings.HasPrefix(class, "java/lang/Sonde")
}

// grow makes the tree, of classes whose files are known or in the run-time image.
func (l *look) grow(loaded []Class) error {
	for i := range loaded {
		c := &loaded[i]
		if c.JDK = l.image.isJDK(c.Name) || l.image == nil && c.Loader == 0; c.File == nil && l.image.has(c.Name) {
			c.File = l.image.file(c.Name)
		}
	}
	world := NewWorld(loaded)
	roots, err := world.Find(l.Methods)
	if err != nil {
		return fmt.Errorf("process %d: %w", l.PID, err)
	}
	l.result.Tree = world.Tree(roots, l.Limits)
	l.result.Loaders = world.Loaders()
	l.result.Classes, l.result.Fileless = len(loaded), world.fileless+world.unreadable
	return nil
}

// others are the hooks that a living Sonde or a pack has in a JVM, and who that is. What cannot be
// read of it is nothing that is known.
func others(ctx context.Context, jvm *process.JVM) (hooked map[callgraph.Method]Hooked, holder string, err error) {
	occupants, _, err := session.Occupants(ctx, jvm, false)
	if err != nil {
		return nil, "", err
	}
	hooked = make(map[callgraph.Method]Hooked)
	for _, o := range occupants {
		defer o.Close()
		if o.Pack == "" && o.Alive == process.No {
			continue
		}
		holder = o.Holder()
		methods, err := o.Methods()
		if err != nil {
			continue
		}
		sum, err := o.Sum()
		if err != nil {
			continue
		}
		for _, m := range methods {
			class, name, descriptor, ok := session.SplitMember(m.Name)
			if !ok {
				continue
			}
			h := Hooked{Holder: holder}
			if totals := sum.Methods[m.ID]; totals != nil {
				h.Calls, h.LowerBound = totals.Calls, totals.LowerBound
			}
			hooked[callgraph.Method{Class: strings.ReplaceAll(class, ".", "/"), Name: name, Descriptor: descriptor}] = h
		}
	}
	return hooked, holder, nil
}
