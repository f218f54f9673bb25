package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
)

// hostCommands ask about the JVMs of this host. They use the service if it is running, and do not
// start it: this process can answer as well.
var hostCommands = []string{"ps", "status", "doctor", "undo"}

// forHost returns the streams of such a command, which may be asked not to use the service.
func (s streams) forHost(command *cobra.Command) streams {
	s.useService = s.useService && !isSet(command, noServiceFlag)
	return s
}

// askHost asks the service if one is running, and otherwise this process.
func askHost[T any](ctx context.Context, s streams, ask func(service.Host) (T, error)) (answer T, err error) {
	if client := s.runningService(ctx); client != nil {
		answer, err = ask(client)
		if !errors.Is(err, service.ErrNone) && !errors.Is(err, service.ErrEnding) {
			return answer, err
		}
	}
	return ask(localHost{})
}

// runningService returns the service; nil if there is none, or if it does not answer.
func (s streams) runningService(ctx context.Context) *service.Client {
	const patience = 3 * time.Second
	if !s.useService {
		return nil
	}
	client, err := place().Find(ctx)
	if err != nil {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := client.Call(short, http.MethodGet, "/v1/service", nil, nil); {
	case err == nil:
		return client
	case errors.Is(err, context.DeadlineExceeded):
		s.note("the service does not answer: this command runs without it")
	}
	return nil
}

// A localHost answers in this process.
type localHost struct {
	service *host // nil outside the service
}

// JVMs implements [service.Host].
func (localHost) JVMs(ctx context.Context) (service.JVMs, error) {
	all := service.JVMs{JVMs: []document.JVM{}}
	jvms, err := process.Local.Find(ctx)
	if err != nil {
		return all, fmt.Errorf("listing processes: %w", err)
	}
	for _, jvm := range jvms {
		all.JVMs = append(all.JVMs, document.NewJVM(jvm))
	}
	return all, nil
}

func inspect(pid int) (*process.JVM, error) {
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, &session.NoSuchJVM{PID: pid, Cause: err}
	}
	return jvm, nil
}

// Status implements [service.Host].
func (localHost) Status(ctx context.Context, pid int) (d service.Status, err error) {
	jvm, err := inspect(pid)
	if err != nil {
		return d, err
	}
	found, err := targetfs.Find(jvm)
	if err != nil {
		return d, err
	}
	owners, unreachable, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return d, err
	}
	d.Looks = []service.Description{}
	d.Status = document.Status{
		PID: jvm.PID, Version: jvm.Version, Main: jvm.Main, Inside: len(found.Arenas) > 0, Standby: found.Standby, Stopped: jvm.Stopped,
		Occupants: []document.Occupant{},
	}
	if jvm.Pack != nil {
		d.PackProblem = jvm.Pack.Problem
	}
	for _, o := range owners {
		defer o.Close()
		occupant, err := readOwner(o)
		if err != nil {
			unreachable = append(unreachable, &session.UnreachableError{PID: pid, Path: o.Path, Cause: err})
			continue
		}
		d.Occupants = append(d.Occupants, occupant)
	}
	for _, u := range unreachable {
		d.Problems = append(d.Problems, format.OneLine(u))
	}
	return d, nil
}

func readOwner(o *session.Owner) (d document.Occupant, err error) {
	methods, err := o.Methods()
	if err != nil {
		return d, err
	}
	sum, err := o.Sum()
	if err != nil {
		return d, err
	}
	cost, err := o.Cost()
	if err != nil {
		return d, err
	}
	account, _, err := o.Account()
	if err != nil {
		return d, err
	}
	d = document.Occupant{
		Command: o.Command, Process: o.Sonde, Alive: string(o.Alive), Since: o.Opened.Round(time.Millisecond), Threads: sum.Threads,
		Dropped: sum.Dropped, HookNanos: cost.Hook, Pause: int64(cost.Pause), Compile: int64(cost.Compile), Methods: []document.Method{},
		Arena: o.Path, Pack: o.Pack,
	}
	d.ArenaUsed, d.ArenaRoom = o.Room()
	if o.Pack != "" {
		d.Classes = document.NewAccount(&account)
	}
	var rows []results.Row
	for _, m := range methods {
		row := results.ParseRow(m.Name)
		if totals := sum.Methods[m.ID]; totals != nil {
			row.Totals = *totals
		}
		since := o.Opened // the hooks of a pack do not say since when they are there
		if !m.Hooked.IsZero() {
			since = m.Hooked
		}
		row.PerSecond = float64(row.Calls) / time.Since(since).Seconds()
		d.Calls += row.Calls
		d.Untimed += row.Totals.Untimed
		rows = append(rows, row)
	}
	d.HookTotal = cost.Hook * float64(d.Calls)
	timing := results.TimingOf(rows...)
	d.Timing = string(timing)
	results.SortRows(rows, "calls")
	for i := range rows {
		rows[i].Timing = timing
		d.Methods = append(d.Methods, document.NewMethod(&rows[i]))
	}
	return d, nil
}

// Undo implements [service.Host].
func (localHost) Undo(ctx context.Context, pid int) (document.Undone, error) {
	d := document.Undone{PID: pid, Removed: []document.Removal{}}
	if err := undoIn(ctx, pid, &d); err != nil {
		return d, err
	}
	files, err := targetfs.Sweep(ctx, process.Local)
	d.Files = files
	if err != nil {
		d.Problems = append(d.Problems, format.OneLine(fmt.Errorf("removing leftover files: %w", err)))
	}
	return d, nil
}

// undoIn removes what Sonde has put into a JVM. It records failures that do not prevent the rest.
func undoIn(ctx context.Context, pid int, d *document.Undone) error {
	jvm, err := inspect(pid)
	if err != nil {
		return err
	}
	occupants, unreachable, err := session.Owners(ctx, jvm, true)
	if err != nil {
		return err
	}
	check := func(err error) bool {
		if err != nil {
			d.Problems = append(d.Problems, format.OneLine(err))
		}
		return err == nil
	}
	recordings, stopping := sampler.StopLeftovers(ctx, pid)
	d.Recordings = recordings
	check(stopping)
	for _, o := range occupants {
		removal := document.Removal{Command: o.Command, Process: o.Sonde, Pack: o.Pack, Arena: o.Path}
		if methods, err := o.Methods(); err == nil {
			number := len(methods)
			removal.Methods = &number
		}
		start := time.Now()
		if check(evict(ctx, o)) {
			removal.Millis = time.Since(start).Seconds() * 1000
			d.Removed = append(d.Removed, removal)
		}
		o.Close()
	}
	for _, u := range unreachable {
		if check(awaitLeaving(ctx, jvm, u)) {
			d.Removed = append(d.Removed, document.Removal{Arena: u.Path})
		}
	}
	return nil
}

// awaitLeaving waits for an agent that is about to leave by itself: its file goes first.
func awaitLeaving(ctx context.Context, jvm *process.JVM, u *session.UnreachableError) error {
	if !errors.Is(u, os.ErrNotExist) {
		return u
	}
	if err := session.AwaitDeparture(ctx, jvm, u.Path); err != nil {
		return errors.Join(u, err)
	}
	return nil
}

// evict makes an owner of hooks leave, and waits until it has.
func evict(ctx context.Context, o *session.Owner) error {
	err := o.Evict(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return leavingError(o.JVM.PID)
	case errors.Is(err, session.ErrStays):
		return fmt.Errorf("process %d: %w; it may be stopped, or a thread may be blocked in a hook; check with sonde status %d, then try again", o.JVM.PID, err, o.JVM.PID)
	}
	return err
}

// leavingError says that nobody waits any more until hooks are removed.
func leavingError(pid int) error {
	return fmt.Errorf("process %d: interrupted while waiting; the JVM goes on removing the hooks: sonde status %d shows when they are gone", pid, pid)
}
