package calltree

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
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
	image := jimage.OpenLibrary(jvm.Image)
	defer image.Close()
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
	image   *jimage.Library
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
	isOurs := func(class string) bool { return !l.image.Has(class) && !isSondes(class) }
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
		if c.JDK = l.image.IsJDK(c.Name) || l.image == nil && c.Loader == 0; c.File == nil && l.image.Has(c.Name) {
			c.File = l.image.Class(c.Name)
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
func others(ctx context.Context, jvm *process.JVM) (hooked map[classfile.MethodRef]Hooked, holder string, err error) {
	occupants, _, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return nil, "", err
	}
	hooked = make(map[classfile.MethodRef]Hooked)
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
			method, ok := classfile.ParseMethodRef(m.Name)
			if !ok {
				continue
			}
			h := Hooked{Holder: holder}
			if totals := sum.Methods[m.ID]; totals != nil {
				h.Calls, h.LowerBound = totals.Calls, totals.LowerBound
			}
			hooked[method] = h
		}
	}
	return hooked, holder, nil
}

// watch counts the calls of the tree's methods for a while. Leaving the JVM takes the
// hooks out, all at once. A Ctrl-C ends it early, with what was seen.
func (l *look) watch(ctx context.Context) error {
	methods, more := l.result.Watchable(l.Hooks, l.Limits.JDK)
	l.result.Unwatched = more
	wanted := make(map[string]bool)
	var request session.Request
	for _, m := range methods {
		wanted[m.Class] = true
		request.Hooks = append(request.Hooks, session.Hook{MethodRef: m, Flags: arena.On | arena.Flat})
	}
	// What was read on disk the JVM has not been asked for yet.
	isWanted := func(class string) bool { return wanted[class] }
	if _, err := l.session.Prefetch(ctx, isWanted, isWanted); err != nil {
		return err
	}
	if _, err := l.session.Hook(ctx, request); err != nil {
		return err
	}
	began := time.Now()
	had := make(map[classfile.MethodRef]uint32)
	for _, m := range methods {
		if id := l.session.ID(m); l.session.IsHooked(id) {
			had[m] = id
		}
	}
	l.result.Watched = len(had)
	if l.Watching != nil {
		l.Watching(len(had))
	}
	timer := time.NewTimer(l.Watch)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-l.session.Done():
		l.remark(l.session.Err().Error())
	}
	l.result.WatchedFor = time.Since(began)
	return l.read(had)
}

// read notes what the hooks have seen, and which there are not.
func (l *look) read(had map[classfile.MethodRef]uint32) error {
	sum, err := l.session.Sum()
	if err != nil {
		return err
	}
	hooked := make(map[classfile.MethodRef]Hooked)
	for m, id := range had {
		hooked[m] = Hooked{}
		if totals := sum.Methods[id]; totals != nil {
			hooked[m] = Hooked{Calls: totals.Calls, LowerBound: totals.LowerBound}
		}
	}
	l.result.Mark(hooked)
	reasons := make(map[classfile.MethodRef]string)
	for _, left := range l.session.LeftAlone() {
		m := classfile.MethodRef{Class: left.Class}
		if left.Method != "" {
			m, _ = classfile.ParseMethodRef(left.Class + "." + left.Method)
		}
		reasons[m] = left.Reason
	}
	l.result.Refuse(reasons)
	return nil
}

// A Sonde holds a JVM alone: while one does, another cannot ask for its classes. So
// those of the last look are kept in the user's cache, for this user alone, by process
// and its start. What the JDK has on disk is not in it.

const (
	mostRemembered = 256 << 20 // bytes of class files of one JVM
	mostSnapshots  = 8
	snapshotFormat = 1
)

type snapshot struct {
	Format  int
	Classes []Class
}

// errOther says that another version of Sonde wrote it.
var errOther = errors.New("a snapshot of another format")

func snapshotPath(jvm *process.JVM) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "sonde", "classes", fmt.Sprintf("%d-%d.gz", jvm.PID, jvm.StartTicks())), nil
}

// remember keeps classes for a later look. That it cannot harms none.
func remember(jvm *process.JVM, classes []Class) {
	size := 0
	for _, c := range classes {
		size += len(c.File) + len(c.Name)
	}
	path, err := snapshotPath(jvm)
	if err != nil || size > mostRemembered || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-*") // for its owner alone
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(file.Name()) }() // where it was not renamed
	err = errors.Join(writeSnapshot(file, classes), file.Close())
	if err == nil && os.Rename(file.Name(), path) == nil {
		forget(filepath.Dir(path))
	}
}

func writeSnapshot(w io.Writer, classes []Class) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(packed).Encode(snapshot{snapshotFormat, classes}), packed.Close())
}

// recall gives the classes of the last look and when that was; nil where there was none.
func recall(jvm *process.JVM) ([]Class, time.Time) {
	path, err := snapshotPath(jvm)
	if err != nil {
		return nil, time.Time{}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, time.Time{}
	}
	classes, err := readSnapshot(file)
	if err != nil {
		return nil, time.Time{}
	}
	return classes, info.ModTime()
}

func readSnapshot(r io.Reader) ([]Class, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var s snapshot
	if err := gob.NewDecoder(io.LimitReader(packed, 2*mostRemembered)).Decode(&s); err != nil {
		return nil, err
	}
	if s.Format != snapshotFormat {
		return nil, errOther
	}
	return s.Classes, nil
}

// forget removes all but the newest snapshots.
func forget(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type kept struct {
		path string
		at   time.Time
	}
	var all []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, kept{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(b.at.UnixNano(), a.at.UnixNano()) })
	for _, k := range all[min(len(all), mostSnapshots):] {
		_ = os.Remove(k.path)
	}
}
