package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/arena"
	"github.com/sonde-jvm/sonde/internal/foothold"
	"github.com/sonde-jvm/sonde/internal/probe"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A choice is what commands are told that put hooks into methods of a JVM.
type choice struct {
	streams
	pid      int
	patterns []string
	set      *probe.Set
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
	if c.set, err = probe.ParseSet(c.patterns...); err != nil {
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
		return errors.Join(interruption(ctx, err), v.abandon(ctx))
	}
	if v.watching.isUsed() {
		v.tellApplied(ctx)
	} else {
		v.tellInstallation()
	}
	if _, err := foothold.LetGo(jvm); err != nil { // one that sonde run --hold keeps from beginning
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
	})
	if err != nil {
		endCache()
		return interruption(ctx, err)
	}
	v.endCache = endCache
	return nil
}

// abandon leaves without a result.
func (v *visit) abandon(ctx context.Context) error {
	v.watching.end()
	_, closing := v.session.Close(ctx)
	v.endCache()
	_ = v.session.Release()
	return closing
}

// interruption says what a Ctrl-C means before there is a result.
func interruption(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted before the hooks were in: nothing was measured, nothing is left behind")
	}
	return err
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
	if err != nil || ended == endedUndone || ended == endedExited {
		return nil, err
	}
	// One that says goodbye tells at least how long it took.
	if farewell.Restored.Nanos == 0 && !farewell.Restored.Unmapped {
		pid := v.choice.pid
		if _, err := inspect(pid); err == nil {
			return nil, fmt.Errorf("process %d did not answer: its hooks are in until it does, and go by themselves then: sonde status %d", pid, pid)
		}
		return nil, nil
	}
	return &farewell, nil
}

// tellWaiting says what is waited for, should the JVM be slow to let go. It
// returns what ends that.
func tellWaiting(pid int, say func(format string, args ...any)) func() {
	const patience = 2 * time.Second
	timer := time.AfterFunc(patience, func() {
		why := ""
		if jvm, err := inspect(pid); err == nil && jvm.Stopped {
			why = fmt.Sprintf(": it is stopped, by a signal or a debugger: kill -CONT %d resumes it", pid)
		}
		say("waiting for process %d to put its classes back%s", pid, why)
	})
	return func() { timer.Stop() }
}
