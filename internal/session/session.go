// Package session observes one JVM: it begins a session with the agent, installs hooks (code
// that counts or times the calls of a method), reads what they measure, and restores the
// JVM. No other package changes the target's classes. Commands use a session through looks:
// each look has hooks and results of its own. A hook that several looks request is
// installed once.
//
// The session requests that the JVM retransform a batch of classes. The JVM passes the bytes
// of each class to the agent, which sends them here and receives the woven class. Classes
// that load later arrive in the same way. Hooks are installed switched off. When the last
// one of a change is installed, those that are to measure are switched on at one moment.
// Package instrument decides which methods get which hooks; package original decides from
// which bytes a class is woven.
//
// # Locks
//
// Locks are acquired in this order:
//
//	looks.changing  held while a look changes its hooks
//	switching       held while a switch table is made and sent
//	looks.lock      protects what the looks want and have measured
//	state.lock      protects everything the session knows, including the state of each class (classTable)
//	the locks of instrument.Weaver and arenaGrower: while one is held, no other is acquired
//
// Code that answers the JVM acquires all of them but the first, so only the first may be held while
// waiting for a batch. Only the first two may be held while waiting for the agent to answer any other
// request. Callbacks (Settings.Notice, Follower) are called without holding state.lock.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Settings configure a session.
type Settings struct {
	Command string        // shown to users who ask which Sonde holds the JVM, such as "sonde count"
	Lease   time.Duration // how long hooks outlive a Sonde that hangs; 0 for the default
	Force   bool          // also weave classes that the JDK damages when they are redefined
	Notice  func(string)  // receives messages for the user; may be nil
	Waiting func(string)  // receives how far slow steps are, every few seconds; may be nil
	// Confirm is asked before hooks go into very many methods; an error keeps them out. May be nil.
	Confirm func(ctx context.Context, methods, classes int) error
	Cache   *cache.Cache // where woven classes are kept; nil for none
	In      *Sessions    // the sessions that commands of this process share; nil for a session of its own
}

// A Session observes one JVM, which no other Sonde can hold meanwhile.
type Session struct {
	*arena.Arena // what hooks measure, also after the JVM or the session has ended
	settings     Settings
	jvm          *process.JVM
	jdk          jdk.Version
	foothold     *targetfs.Foothold
	file         *targetfs.Arena
	peer         *control.Peer
	meter        *cost.Meter
	grower       *arenaGrower
	clock        int64 // the target's clock minus ours
	weaver       *instrument.Weaver

	arrivals  arrivals
	progress  progress
	step      string      // what update does, for progress
	isLeaving atomic.Bool // classes of a batch that is under way get no hooks any more

	// In the order in which they are acquired: see Locks in the package comment.
	looks     looks
	switching sync.Mutex // held while a switch table is made and sent
	state     state
}

// Errors of sessions that ended without Close.
var (
	ErrEnded  = errors.New("the session has ended")
	ErrExited = errors.New("the JVM has exited")
)

// Open opens a session with a JVM and returns its first look: the agent is loaded, an arena
// is mapped, and nothing is woven yet. If Settings.In has a session with this JVM, it begins a
// look in that session.
func Open(ctx context.Context, pid int, settings Settings) (*Look, error) {
	if settings.In != nil {
		return settings.In.look(ctx, pid, settings)
	}
	s, err := openSession(ctx, pid, settings)
	if err != nil {
		return nil, err
	}
	return s.look(settings), nil
}

// openSession opens a session. If the JVM is held by a Sonde that was killed, it first waits until the
// agent of that Sonde has left.
func openSession(ctx context.Context, pid int, settings Settings) (*Session, error) {
	wait := departure{pid: pid, settings: &settings, until: time.Now().Add(departureLimit)}
	for {
		s, err := tryToOpen(ctx, pid, settings)
		var held *HeldError
		if !errors.As(err, &held) || !wait.next(ctx) {
			return s, err
		}
	}
}

func tryToOpen(ctx context.Context, pid int, settings Settings) (opened *Session, err error) {
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, &NoSuchJVM{PID: pid, Cause: err}
	}
	s := &Session{jvm: jvm, settings: settings}
	s.looks.used, s.looks.left = make(map[uint32]*Look), make(chan struct{})
	s.state.init()
	begun := s // opened is nil where an error is returned
	defer func() {
		if err != nil {
			begun.abandon()
		}
	}()
	s.weaver, err = instrument.NewWeaver(instrument.Settings{Cache: settings.Cache, Notice: settings.Notice, Live: true, Beside: s.isBeside()})
	if err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, s.noHooks(err)
	}
	if s.jdk, err = jdk.ParseVersion(s.peer.Hello().Java); err != nil {
		return nil, err
	}
	if err := s.openArena(ctx); err != nil {
		return nil, err
	}
	s.meter = cost.Watch(jvm)
	return s, nil
}

// firstRoom is the first allocation of an arena.
const firstRoom = 8 << 20

func (s *Session) openArena(ctx context.Context) (err error) {
	if s.file, err = s.foothold.Arena(0, firstRoom); err != nil {
		return err
	}
	owner := arena.Owner{
		Target: s.jvm.PID, TargetStart: s.jvm.StartTicks(), Sonde: os.Getpid(), Command: s.settings.Command, Opened: time.Now(),
	}
	if s.Arena, err = arena.Create(s.file.File, s.file.Allocated(), owner); err != nil {
		return err
	}
	if err := s.Arena.MakeSpill(firstMethods); err != nil {
		return err
	}
	if err := s.peer.Map(ctx, s.file.Path, uint64(s.Arena.Length()), s.Arena.Epoch()); err != nil {
		return s.explain(err)
	}
	s.clock = arena.AheadNow(s.Arena.OpenedNanos())
	s.grower = growArena(s.Arena, s.file)
	return nil
}

// JVM returns what was known of the target when the session began.
func (s *Session) JVM() *process.JVM { return s.jvm }

// isBeside reports whether a pack has its own hooks in the JVM.
func (s *Session) isBeside() bool {
	return s.jvm.Inside == process.Packed || s.jvm.Pack != nil && s.jvm.Pack.Problem == ""
}

// TagsClass returns the internal name of the agent's class from which conditions read tags.
func (s *Session) TagsClass() string { return s.weaver.TagsClass() }

// JDK returns the target's version.
func (s *Session) JDK() jdk.Version { return s.jdk }

// Done returns a channel that is closed when the session has ended, by Close or
// otherwise: Err returns the reason.
func (s *Session) Done() <-chan struct{} { return s.peer.Done() }

// Err returns why the session has ended; nil while it goes on.
func (s *Session) Err() error {
	err := s.peer.Err()
	switch {
	case err == nil:
		return nil
	case s.Arena != nil && s.Arena.StopAsked():
		return fmt.Errorf("%w: sonde undo has removed its hooks", ErrEnded)
	case hasExited(s.jvm):
		return fmt.Errorf("process %d: %w", s.jvm.PID, ErrExited)
	}
	return s.explain(err)
}

// hasExited also recognizes a process that is ending, or a zombie: the kernel frees its
// memory before it closes its sockets.
func hasExited(jvm *process.JVM) bool {
	if !process.Local.Same(jvm) {
		return true
	}
	_, err := process.Local.Inspect(jvm.PID)
	return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrNotJVM)
}

// Sum returns what the hooks of all looks have measured so far.
func (s *Session) Sum() (*arena.Summary, error) { return s.Arena.Sum(arena.Monotonic() + s.clock) }

// Counts is Sum without the distributions of times.
func (s *Session) Counts() (*arena.Summary, error) {
	return s.Arena.Counts(arena.Monotonic() + s.clock)
}

// A Farewell is what closing a session cost and what could not be undone.
type Farewell struct {
	Restored control.Restored
	Took     time.Duration
	Pause    cost.Cost
	Remarks  []string
}

// close takes everything out of the JVM.
func (s *Session) close(ctx context.Context) (Farewell, error) {
	begin := time.Now()
	before, _ := s.meter.Read() // the cost of an empty reading is unknown
	restored, err := s.leave(context.WithoutCancel(ctx))
	s.weaver.ReleaseCache()
	after, _ := s.meter.Read()
	farewell := Farewell{Restored: restored, Took: time.Since(begin), Pause: before.Until(after), Remarks: digest(restored.Remarks)}
	s.grower.stop()
	s.meter.Close()
	if removal := s.foothold.Remove(); removal != nil {
		farewell.Remarks = append(farewell.Remarks, removal.Error())
	}
	return farewell, err
}

// erroneous is how the JVM refuses to change a class whose static initializer has failed.
const erroneous = "class redefinition failed: invalid class"

// mostRemarks bounds what is printed about classes that could not be restored.
const mostRemarks = 100

// digest combines remarks that say the same of many classes.
func digest(remarks []string) []string {
	var others []string
	failed := 0
	for _, remark := range remarks {
		if strings.HasSuffix(remark, erroneous) {
			failed++
			continue
		}
		others = append(others, remark)
	}
	if more := len(others) - mostRemarks; more > 0 {
		others = append(others[:mostRemarks], fmt.Sprintf("and %s about classes that were not restored", format.Count(more, "more remark", "more remarks")))
	}
	if failed > 0 {
		others = append(others, format.Count(failed, "class was", "classes were")+" not restored, because the static initializer has failed; the program cannot use such a class")
	}
	return others
}

// release frees what was measured.
func (s *Session) release() error {
	_ = s.peer.Close()
	s.grower.stop() // it reads the arena
	return s.Arena.Close()
}

// abandon undoes what a failed Open began.
func (s *Session) abandon() {
	if s.grower != nil {
		s.grower.stop()
	}
	if s.peer != nil {
		_ = s.peer.Close()
	}
	if s.Arena != nil {
		_ = s.Arena.Close()
	}
	if s.foothold != nil {
		_ = s.foothold.Remove()
	}
}

// HeldError reports that another Sonde, or the agent of a pack, holds the JVM.
type HeldError struct {
	PID    int
	Holder string
}

// packHolder is the prefix of the name of a pack's agent.
const packHolder = "pack "

func (e *HeldError) Error() string {
	if strings.HasPrefix(e.Holder, packHolder) {
		return fmt.Sprintf("process %d was started with %s, whose hooks are not known yet: try again in a moment, or remove the pack with sonde undo %d", e.PID, e.Holder, e.PID)
	}
	return fmt.Sprintf("process %d is held by %s: wait, or free it with sonde undo %d", e.PID, e.Holder, e.PID)
}

// NoSuchJVM reports that a process does not exist or is not a JVM.
type NoSuchJVM struct {
	PID   int
	Cause error
}

func (e *NoSuchJVM) Error() string {
	if errors.Is(e.Cause, process.ErrNoProcess) {
		return fmt.Sprintf("process %d: there is no such process: sonde ps lists the running JVMs", e.PID)
	}
	if errors.Is(e.Cause, process.ErrNotJVM) {
		return fmt.Sprintf("process %d: %v: sonde ps lists the running JVMs", e.PID, process.ErrNotJVM)
	}
	return fmt.Sprintf("%v: sonde ps lists the running JVMs", e.Cause)
}

// Unwrap returns the cause.
func (e *NoSuchJVM) Unwrap() error { return e.Cause }

// A NotRestoredError reports that a JVM still had hooks when Sonde stopped waiting
// for it. Nobody renews its lease any more, so it restores its classes by itself.
type NotRestoredError struct {
	PID   int
	Cause error
}

func (e *NotRestoredError) Error() string {
	return fmt.Sprintf("process %d has not restored all of its classes yet (%v); the agent continues without Sonde, and sonde status %d shows when it has finished", e.PID, e.Cause, e.PID)
}

// Unwrap returns why Sonde stopped waiting.
func (e *NotRestoredError) Unwrap() error { return e.Cause }
