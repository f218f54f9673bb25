package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A choice is what commands are told that put hooks into methods of a JVM.
type choice struct {
	streams
	pid      int
	patterns []string
	set      *pattern.Set
	force    bool
	cache    liveCache
	listLeft bool
}

// choose reads which methods of which JVM are meant.
func (c *choice) choose(args []string) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	c.patterns = args[1:]
	if c.set, err = pattern.ParseSet(c.patterns...); err != nil {
		return &usageError{err}
	}
	return nil
}

// A visit is the stay in a JVM, from the moment hooks go in until they are out.
type visit struct {
	choice       *choice
	screen       *screen
	session      *session.Session
	installation *session.Installation
	began        time.Time // when the hooks went on
	cost         costMeter
	endCache     func()   // once nothing is woven any more
	watching     watching // where a context or a condition was asked for

	lock    sync.Mutex
	remarks []string

	toldLeft int // how many were said to be left alone
}

// enter puts the hooks in, for the command of a name. Where that fails or is
// interrupted, whatever was done is undone.
func (v *visit) enter(ctx context.Context, name string, flags arena.Flags, period uint32) (err error) {
	start := time.Now()
	pid := v.choice.pid
	if err := v.open(ctx, commandLine(name, v.choice.patterns)); err != nil {
		return err
	}
	jvm := v.session.JVM()
	v.screen.say("attached to %d (JDK %v, %s) in %s", pid, v.session.JDK(), orDash(printable(jvm.Main)), durationText(time.Since(start)))
	v.cost.begin(v.session, flags, period)
	v.cost.measure(ctx)
	if v.watching.set != nil {
		err = unfit(v.apply(ctx, flags))
	} else {
		v.installation, err = v.session.Instrument(ctx, session.Wanted{Methods: v.choice.set, Flags: flags, Period: period})
	}
	v.began = time.Now()
	if err != nil {
		return v.abandon(ctx, err)
	}
	if v.watching.isUsed() {
		v.tellApplied(ctx)
	} else {
		v.tellInstallation()
	}
	if _, err := targetfs.LetGo(jvm); err != nil { // one that sonde run --hold keeps from beginning
		v.remark(oneLine(err))
	}
	return nil
}

// open enters the JVM, with the cache.
func (v *visit) open(ctx context.Context, command string) error {
	kept, endCache, err := v.choice.cache.openCache(v.remark)
	if err != nil {
		return err
	}
	v.session, err = session.Open(ctx, v.choice.pid, session.Settings{
		Command: command, Force: v.choice.force, Notice: v.remark, Cache: kept,
		Waiting: func(text string) { v.screen.say("%s", text) },
	})
	if err != nil {
		endCache()
		return interruption(ctx, err)
	}
	v.endCache = endCache
	return nil
}

// abandon leaves without a result, because of a failure or an interruption.
func (v *visit) abandon(ctx context.Context, cause error) error {
	v.watching.end()
	farewell, closing := v.session.Close(ctx)
	v.endCache()
	_ = v.session.Release()
	for _, text := range farewell.Remarks {
		v.remark(text)
	}
	return interruption(ctx, errors.Join(cause, closing))
}

// interruption explains a Ctrl-C before there is a result.
func interruption(ctx context.Context, err error) error {
	return interruptedBefore(ctx, "the hooks were in: nothing was measured", err)
}

// interruptedBefore explains a Ctrl-C before something was reached. It claims that
// nothing is left in the JVM only where the JVM has restored all of its classes.
func interruptedBefore(ctx context.Context, what string, err error) error {
	var left *session.NotRestoredError
	switch {
	case ctx.Err() == nil:
		return err
	case errors.As(err, &left):
		return fmt.Errorf("interrupted before %s; %w", what, left)
	}
	return fmt.Errorf("interrupted before %s, nothing is left behind", what)
}

// remark keeps and shows what the user should read. It may be called at any
// time, from anywhere.
func (v *visit) remark(text string) {
	v.lock.Lock()
	v.remarks = append(v.remarks, text)
	v.lock.Unlock()
	v.screen.say("note: %s", printable(text))
}

// endedBy tells who ended the session, and says so.
func (v *visit) endedBy() string {
	err := v.session.Err()
	v.remark(oneLine(err))
	switch {
	case errors.Is(err, session.ErrEnded):
		return endedUndone
	case errors.Is(err, session.ErrExited):
		return endedExited
	}
	return endedLost
}

// leave takes the hooks out, and gives what that took. That is nil where there was
// nothing to take out any more.
func (v *visit) leave(ctx context.Context, ended string) (*session.Farewell, error) {
	v.watching.end()
	farewell, err := v.session.Close(ctx)
	v.endCache()
	for _, text := range farewell.Remarks {
		v.remark(text)
	}
	// An agent that says goodbye reports at least how long it took. One that left by
	// itself has nothing to report.
	answered := farewell.Restored.Nanos != 0 || farewell.Restored.Unmapped
	if err != nil || ended == endedUndone || ended == endedExited || !answered {
		return nil, err
	}
	return &farewell, nil
}
