package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/arena"
	"github.com/sonde-jvm/sonde/internal/foothold"
	"github.com/sonde-jvm/sonde/internal/session"
)

// Why counting ended.
const (
	endedDuration    = "duration"
	endedCalls       = "calls"
	endedInterrupted = "interrupted"
	endedUndone      = "undone"
	endedExited      = "exited" // the JVM has
	endedLost        = "lost"   // the agent is
	endedUnread      = "unread" // nobody reads what is written
)

// A count under way.
type countRun struct {
	*counting
	screen       *screen
	session      *session.Session
	installation *session.Installation
	began        time.Time // when the hooks went on
	cost         costMeter

	lock    sync.Mutex
	remarks []string

	toldLeft int // how many were said to be left alone

	spreads map[uint32]*spread // of sampled times, by method
	shownAt time.Time          // the last look
	shown   map[uint32]uint64
}

func (c *counting) run(ctx context.Context) error {
	// A reader that goes away, as head does, must not kill it with hooks in the
	// JVM: what it writes then fails, and it leaves in order.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	r := &countRun{counting: c, screen: newScreen(c.streams)}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	ended := r.watch(ctx)
	var failure error
	if ended == endedLost {
		failure = r.session.Err()
	}
	// What was measured is read before the hooks go: it is as of now.
	look, err := r.look()
	if err != nil {
		return errors.Join(err, r.leave(ctx, nil))
	}
	look.final, look.ended = true, ended
	defer tellWaiting(r.pid, r.screen.say)()
	r.cost.measure(context.WithoutCancel(ctx))
	r.screen.clear()
	if err := r.leave(ctx, look); err != nil {
		failure = errors.Join(failure, err)
	}
	return errors.Join(r.write(look), failure)
}

// enter puts the hooks in. Where that fails or is interrupted, whatever was done
// is undone.
func (r *countRun) enter(ctx context.Context) (err error) {
	start := time.Now()
	r.session, err = session.Open(ctx, r.pid, session.Settings{Command: commandLine("count", r.patterns), Force: r.force, Notice: r.remark})
	if err != nil {
		return interruption(ctx, err)
	}
	jvm := r.session.JVM()
	r.screen.say("attached to %d (JDK %v, %s) in %s", r.pid, r.session.JDK(), orDash(printable(jvm.Main)), durationText(time.Since(start)))
	flags, period := r.flags()
	r.cost.begin(r.session, flags, period)
	r.cost.measure(ctx)
	r.installation, err = r.session.Instrument(ctx, session.Wanted{Methods: r.set, Flags: flags, Period: period})
	r.began = time.Now()
	if err != nil {
		_, closing := r.session.Close(ctx)
		_ = r.session.Release()
		return errors.Join(interruption(ctx, err), closing)
	}
	r.tellInstallation()
	if _, err := foothold.LetGo(jvm); err != nil { // one that sonde run --hold keeps from beginning
		r.remark(oneLine(err))
	}
	return nil
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
func (r *countRun) remark(text string) {
	r.lock.Lock()
	r.remarks = append(r.remarks, text)
	r.lock.Unlock()
	r.screen.say("note: %s", printable(text))
}

// watch waits for the end and shows what happens meanwhile. It tells why it
// ended.
func (r *countRun) watch(ctx context.Context) string {
	refresh := time.NewTicker(r.interval)
	defer refresh.Stop()
	var due, poll, batch <-chan time.Time
	if r.duration > 0 {
		timer := time.NewTimer(r.duration - time.Since(r.began))
		defer timer.Stop()
		due = timer.C
	}
	if r.calls > 0 {
		const pollEvery = 20 * time.Millisecond
		ticker := time.NewTicker(pollEvery)
		defer ticker.Stop()
		poll = ticker.C
	}
	if r.timing == timingSampled {
		const batchEvery = 100 * time.Millisecond
		ticker := time.NewTicker(batchEvery)
		defer ticker.Stop()
		batch = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-r.session.Done():
			return r.endedBy()
		case <-due:
			return endedDuration
		case <-poll:
			if sum, err := r.session.Sum(); err == nil && totalCalls(sum) >= r.calls {
				return endedCalls
			}
		case <-batch:
			r.takeBatch()
		case <-refresh.C:
			if err := r.show(ctx); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
		}
	}
}

// takeBatch notes what was timed lately, by which to tell how sure it is.
func (r *countRun) takeBatch() {
	sum, err := r.session.Sum()
	if err != nil {
		return // the end will say it
	}
	if r.spreads == nil {
		r.spreads = make(map[uint32]*spread)
	}
	for id, totals := range sum.Methods {
		if r.spreads[id] == nil {
			r.spreads[id] = &spread{}
		}
		r.spreads[id].add(totals)
	}
}

// endedBy tells who ended the session, and says so.
func (r *countRun) endedBy() string {
	err := r.session.Err()
	r.remark(oneLine(err))
	switch {
	case errors.Is(err, session.ErrEnded):
		return endedUndone
	case errors.Is(err, session.ErrExited):
		return endedExited
	}
	return endedLost
}

// leave takes the hooks out and says what that took.
func (r *countRun) leave(ctx context.Context, look *countLook) error {
	gone := look != nil && (look.ended == endedUndone || look.ended == endedExited)
	farewell, err := r.session.Close(ctx)
	for _, text := range farewell.Remarks {
		r.remark(text)
	}
	if err != nil {
		return err
	}
	if gone || look == nil {
		return nil
	}
	// One that says goodbye tells at least how long it took.
	if farewell.Restored.Nanos == 0 && !farewell.Restored.Unmapped {
		if _, err := inspect(r.pid); err == nil {
			return fmt.Errorf("process %d did not answer: its hooks are in until it does, and go by themselves then: sonde status %d", r.pid, r.pid)
		}
		return nil
	}
	look.farewell = &farewell
	return nil
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

func totalCalls(sum *arena.Summary) (calls uint64) {
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls
}
