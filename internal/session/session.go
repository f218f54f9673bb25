// Package session is one JVM under observation: it enters, puts hooks in, reads
// what they measure, and leaves. It is the only owner of what happens in a
// target.
//
// A session stands on packages that know nothing of each other: attach loads
// the agent, foothold keeps what lies in the target's file system, control
// speaks with the agent, arena reads what hooks write, origin says what a class
// is woven from and weave weaves it.
//
// Weaving happens here, in answer to the JVM: a batch of classes is to be
// retransformed, the JVM shows each to the agent, the agent hands it over and
// gets back the woven class. Hooks go in switched off, and are switched on
// together when all are in.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// Settings are what a session needs to know of who asks for it.
type Settings struct {
	Command string        // for a human who asks who holds the JVM, such as "sonde count"
	Lease   time.Duration // how long the hooks outlive a Sonde that is stuck; 0 for the default
	Force   bool          // weave also what the JDK would damage by that
	Notice  func(string)  // gets what a user should read; may be nil
	Waiting func(string)  // gets what a slow Close waits for, every few seconds; may be nil
	Cache   *cache.Cache  // where woven classes are kept; nil keeps none
}

// A Session is the hold that one Sonde has on one JVM.
type Session struct {
	workshop
	jvm      *process.JVM
	jdk      jdk.Version
	foothold *targetfs.Foothold
	file     *targetfs.Arena
	arena    *arena.Arena
	peer     *control.Peer
	meter    *cost.Meter
	keeper   *keeper
	clock    int64 // what the target's clock is ahead of ours

	store    store      // class files of loaded classes
	switches sync.Mutex // held while a switch table is made and sent
	watching sync.Mutex // held while spots go in or out
}

// How a session can end that was not closed.
var (
	ErrEnded  = errors.New("the session was ended from outside")
	ErrExited = errors.New("it has ended") // the JVM
)

// Open enters a JVM: afterwards the agent is there, an arena is mapped, and
// nothing is woven yet.
func Open(ctx context.Context, pid int, settings Settings) (opened *Session, err error) {
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, &NoSuchJVM{PID: pid, Cause: err}
	}
	s := &Session{jvm: jvm}
	s.settings = settings
	s.book.init()
	begun := s // what is returned in an error's place is nil
	defer func() {
		if err != nil {
			begun.abandon()
		}
	}()
	if err := s.compileTemplates(); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
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

// firstRoom is what an arena has before anyone asked for more.
const firstRoom = 8 << 20

func (s *Session) openArena(ctx context.Context) (err error) {
	if s.file, err = s.foothold.Arena(0, firstRoom); err != nil {
		return err
	}
	owner := arena.Owner{
		Target: s.jvm.PID, TargetStart: s.jvm.StartTicks(), Sonde: os.Getpid(), Command: s.settings.Command, Opened: time.Now(),
	}
	if s.arena, err = arena.Create(s.file.File(), s.file.Allocated(), owner); err != nil {
		return err
	}
	if err := s.arena.MakeSpill(firstMethods); err != nil {
		return err
	}
	if err := s.peer.Map(ctx, s.file.Path(), uint64(s.arena.Length()), s.arena.Epoch()); err != nil {
		return s.explain(err)
	}
	s.clock = ledger.AheadNow(s.arena.OpenedNanos())
	s.keeper = keep(s.arena, s.file)
	return nil
}

// JVM is what was known of the target when the session began.
func (s *Session) JVM() *process.JVM { return s.jvm }

// JDK is the target's version.
func (s *Session) JDK() jdk.Version { return s.jdk }

// Done is closed when the session has ended, by Close or otherwise: Err says
// why.
func (s *Session) Done() <-chan struct{} { return s.peer.Done() }

// Err is nil while the session goes on.
func (s *Session) Err() error {
	err := s.peer.Err()
	switch {
	case err == nil:
		return nil
	case s.arena != nil && s.arena.StopAsked():
		return fmt.Errorf("%w: the hooks are out (sonde undo)", ErrEnded)
	case hasExited(s.jvm):
		return fmt.Errorf("process %d: %w (%w)", s.jvm.PID, ErrExited, err)
	}
	return s.explain(err)
}

// hasExited also knows a process that is ending, or that nobody has waited for:
// the kernel takes its memory before it closes its sockets.
func hasExited(jvm *process.JVM) bool {
	if !process.Local.Same(jvm) {
		return true
	}
	_, err := process.Local.Inspect(jvm.PID)
	return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrNotJVM)
}

// Sum is what was measured so far. It works also when the JVM, or the session,
// has ended.
func (s *Session) Sum() (*arena.Summary, error) { return s.arena.Sum(ledger.Monotonic() + s.clock) }

// Threads is what each thread measured.
func (s *Session) Threads() ([]arena.Thread, error) { return s.arena.Threads() }

// A Farewell is what leaving a JVM took and what could not be undone.
type Farewell struct {
	Restored control.Restored
	Took     time.Duration
	Pause    cost.Cost
	Remarks  []string
}

// Close takes everything out of the JVM. Sum still works afterwards, until
// Release. The error is a *NotRestoredError where the JVM still has hooks, or may
// have: it goes on restoring its classes by itself.
func (s *Session) Close(ctx context.Context) (Farewell, error) {
	begin := time.Now()
	before, _ := s.meter.Read() // a reading of nothing has a cost that is not known
	restored, err := s.leave(context.WithoutCancel(ctx))
	s.kept.ended.Store(true) // who gave it may close it now
	after, _ := s.meter.Read()
	farewell := Farewell{Restored: restored, Took: time.Since(begin), Pause: before.Until(after), Remarks: digest(restored.Remarks)}
	s.keeper.stop()
	s.meter.Close()
	if removal := s.foothold.Remove(); removal != nil {
		farewell.Remarks = append(farewell.Remarks, removal.Error())
	}
	return farewell, err
}

// erroneous is how the JVM refuses to change a class whose static initialiser
// has failed.
const erroneous = "class redefinition failed: invalid class"

// digest makes one remark of those that say the same of many classes.
func digest(remarks []string) []string {
	var kept []string
	failed := 0
	for _, remark := range remarks {
		if strings.HasSuffix(remark, erroneous) {
			failed++
			continue
		}
		kept = append(kept, remark)
	}
	if failed > 0 {
		kept = append(kept, fmt.Sprintf("%d classes whose static initialiser has failed stay as they are: the JVM runs nothing of them", failed))
	}
	return kept
}

// Release forgets what was measured. In a session that nobody closed it also
// hangs up, whereupon the agent puts everything back by itself.
func (s *Session) Release() error {
	_ = s.peer.Close()
	s.keeper.stop() // it reads the arena
	return s.arena.Close()
}

// abandon undoes what a failed Open began.
func (s *Session) abandon() {
	if s.keeper != nil {
		s.keeper.stop()
	}
	if s.peer != nil {
		_ = s.peer.Close()
	}
	if s.arena != nil {
		_ = s.arena.Close()
	}
	if s.foothold != nil {
		_ = s.foothold.Remove()
	}
}
