package calltree

import (
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options say which methods to look at, and how.
type Options struct {
	PID     int
	Methods *pattern.Set // the roots
	Limits  Limits
	Watch   time.Duration // how long calls are counted; 0: no hooks are installed
	Hooks   int           // how many methods get hooks at most
	// Redefine makes the JVM redefine classes whose loaders have no file, to see them.
	Redefine bool
	session.Settings
	// Entered is called when the JVM is asked; may be nil.
	Entered func()
	// Known receives a function that returns the SHA-256 sum of a class file, "" if it is not known; may be nil. The function
	// can be called only until Known returns.
	Known func(digest func(class string) string)
	// Watching receives how many methods have hooks, once they are on; may be nil.
	Watching func(methods int)
}

// A Result is a tree and where it comes from.
type Result struct {
	PID       int
	JDK, Main string
	*Tree
	Loaders  []Loader
	Classes  int // loaded classes
	Fileless int // classes of the program whose file is not known: what they call and override is not in the tree
	AsOf     time.Time
	Holder   string // the owner of the JVM, if that prevented asking it: the classes are as of AsOf

	// The following are set by Options.Watch.
	WatchedFor time.Duration
	Watched    int // methods that had hooks
	Unwatched  int // further methods that could have had hooks
	Remarks    []string
}

// Look returns what methods of a JVM can call. Nothing stays in the JVM.
func Look(ctx context.Context, options Options) (*Result, error) {
	jvm, err := process.Local.Inspect(options.PID)
	if err != nil {
		return nil, &session.NoSuchJVM{PID: options.PID, Cause: err}
	}
	library := jimage.OfJVM(jvm)
	defer func() { _ = library.Close() }()
	hooked, holder, err := others(ctx, jvm, &options.Settings)
	if err != nil {
		return nil, err
	}
	l := &look{Options: options, library: library, result: &Result{PID: options.PID, JDK: jvm.Version, Main: jvm.Main}}
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

// look is the state of one call of Look.
type look struct {
	Options
	library *jimage.Image
	session *session.Look
	result  *Result
}

// enter asks the JVM, and restores it.
func (l *look) enter(ctx context.Context, jvm *process.JVM) (_ *Result, err error) {
	settings := l.Settings
	settings.Notice = l.remark
	l.session, err = session.Open(ctx, l.PID, settings)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.session.Release() }()
	if l.Entered != nil {
		l.Entered()
	}
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

// survey lists the loaded classes. The JDK's class files are read from disk; the JVM is
// asked for the others, once.
func (l *look) survey(ctx context.Context) ([]universe.Loaded, error) {
	isOurs := func(class string) bool { return !l.library.Has(class) && !universe.IsSondes(class) }
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
	return slices.DeleteFunc(append(loaded, surveyed...), func(c universe.Loaded) bool { return universe.IsSondes(c.Name) }), nil
}

// grow makes the tree of loaded classes whose files are known or in the run-time image.
func (l *look) grow(loaded []universe.Loaded) error {
	world := NewWorld(universe.Of(l.library, loaded))
	world.addProxies()
	roots, err := world.Find(l.Methods)
	if err != nil {
		return fmt.Errorf("process %d: %w", l.PID, err)
	}
	if l.Known != nil {
		l.Known(world.universe.Digest)
	}
	l.result.Tree = world.Tree(roots, l.Limits)
	l.result.Loaders = world.Loaders()
	l.result.Classes, l.result.Fileless = len(loaded), world.fileless
	return nil
}

// others returns the hooks that others have in a JVM, and the name of the Sonde that holds it, if it is
// another process. Hooks that cannot be read are left out.
func others(ctx context.Context, jvm *process.JVM, settings *session.Settings) (hooked map[classfile.MethodRef]Hooked, holder string, err error) {
	owners, _, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return nil, "", err
	}
	hooked = make(map[classfile.MethodRef]Hooked)
	for _, o := range owners {
		defer o.Close()
		if o.Pack == "" && o.Alive == process.No {
			continue
		}
		if o.IsInTheWay(settings) {
			holder = o.Holder()
		}
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
			h := Hooked{Holder: o.Holder()}
			if totals := sum.Methods[m.ID]; totals != nil {
				h.Calls, h.LowerBound = totals.Calls, totals.LowerBound
			}
			hooked[method] = h
		}
	}
	return hooked, holder, nil
}

// watch counts the calls of the tree's methods for a while. Closing the session takes the
// hooks out. When ctx ends early the calls so far are kept.
func (l *look) watch(ctx context.Context) error {
	methods, more := l.result.Watchable(l.Hooks, l.Limits.JDK)
	l.result.Unwatched = more
	wanted := make(map[string]bool)
	var request session.Request
	for _, m := range methods {
		wanted[m.Class] = true
		request.Hooks = append(request.Hooks, session.Hook{MethodRef: m, Flags: arena.On | arena.Flat})
	}
	// The JVM has not been asked yet for classes that were read from disk.
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

// read marks in the tree what the hooks have counted, and which methods have none.
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

// A JVM has one owner at a time; another Sonde cannot ask it for its classes. Therefore the
// classes of the last look are kept in the user's cache directory, readable by this user
// only, by process and start time. Class files that the JDK has on disk are not part of it.

const (
	mostRemembered = 256 << 20 // bytes of class files of one JVM
	mostSnapshots  = 8
	snapshotFormat = 1
)

type snapshot struct {
	Format  int
	Classes []universe.Loaded
}

func snapshotPath(jvm *process.JVM) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "sonde", "classes", fmt.Sprintf("%d-%d.gz", jvm.PID, jvm.StartTicks())), nil
}

// remember keeps classes for a later look. A failure has no consequences.
func remember(jvm *process.JVM, classes []universe.Loaded) {
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

func writeSnapshot(w io.Writer, classes []universe.Loaded) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(packed).Encode(snapshot{snapshotFormat, classes}), packed.Close())
}

// recall returns the classes of the last look and its time; nil where there was none.
func recall(jvm *process.JVM) ([]universe.Loaded, time.Time) {
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
	return readSnapshot(file), info.ModTime()
}

// readSnapshot returns nil where the snapshot is damaged or of another version of Sonde.
func readSnapshot(r io.Reader) []universe.Loaded {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil
	}
	return decodeSnapshot(io.LimitReader(packed, 2*mostRemembered))
}

func decodeSnapshot(r io.Reader) []universe.Loaded {
	var s snapshot
	err := gob.NewDecoder(r).Decode(&s)
	if err != nil || s.Format != snapshotFormat {
		return nil
	}
	return s.Classes
}

// forget removes all but the newest snapshots.
func forget(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range all[min(len(all), mostSnapshots):] {
		_ = os.Remove(filepath.Join(dir, old.Name()))
	}
}
