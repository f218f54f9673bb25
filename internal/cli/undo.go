package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

func newUndo(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "undo PID",
		Short: "Remove everything that Sonde has put into a JVM",
		Long: `Make the agent in a JVM restore every class and end, whoever put it there and whether
or not that command still runs, and wait until it is done. A command that is ended this
way still prints its result. A pack that the program was started with is removed as well,
until the program is restarted; its measurements stay in its arena, for sonde report. A
flight recording that a killed Sonde has left running is stopped.

Leftover files of this user are removed on the whole host: those of processes that are
gone, and the agent's jar if no running JVM has loaded it.`,
		Example: `  sonde undo 4711`,
		Args:    exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := processNumber(args[0])
			if err != nil {
				return err
			}
			err = undo(cmd.Context(), s, pid)
			if err != nil && !errors.Is(err, process.ErrNoProcess) { // a process that is gone may have left files
				return err
			}
			return errors.Join(err, sweep(cmd.Context(), s))
		},
	}
}

func undo(ctx context.Context, s streams, pid int) error {
	jvm, err := inspect(pid)
	if err != nil {
		return err
	}
	occupants, unreachable, err := session.Owners(ctx, jvm, true)
	if err != nil {
		return err
	}
	recordings, stopping := sampler.StopLeftovers(ctx, pid)
	for _, name := range recordings {
		if _, err := fmt.Fprintf(s.out, "stopped the recording %s in process %d\n", name, pid); err != nil {
			return err
		}
	}
	if len(occupants)+len(unreachable)+len(recordings) == 0 && stopping == nil {
		_, err := fmt.Fprintf(s.out, "Sonde is not in process %d\n", pid)
		return err
	}
	failed := []error{stopping}
	for _, o := range occupants {
		failed = append(failed, evict(ctx, s, o))
		o.Close()
	}
	for _, u := range unreachable {
		failed = append(failed, awaitLeaving(ctx, s, jvm, u))
	}
	return errors.Join(failed...)
}

// awaitLeaving waits for an agent that is about to leave by itself: its file goes first.
func awaitLeaving(ctx context.Context, s streams, jvm *process.JVM, u *session.UnreachableError) error {
	if !errors.Is(u, os.ErrNotExist) {
		return u
	}
	_, _ = fmt.Fprintf(s.err, "Sonde is already leaving process %d\n", jvm.PID)
	if err := session.AwaitDeparture(ctx, jvm, u.Path); err != nil {
		return errors.Join(u, err)
	}
	_, err := fmt.Fprintf(s.out, "the hooks in process %d were removed\n", jvm.PID)
	return err
}

func evict(ctx context.Context, s streams, o *session.Owner) error {
	hooked := "hooks"
	if methods, err := o.Methods(); err == nil {
		hooked = "the hooks of " + format.Count(len(methods), "method", "methods")
	}
	if o.Pack != "" {
		_, _ = fmt.Fprintf(s.err, "removing pack %s from process %d\n", format.Printable(o.Pack), o.JVM.PID)
	} else {
		_, _ = fmt.Fprintf(s.err, "asking %s (process %d, %s) to leave process %d\n", format.Printable(o.Command), o.Sonde, lifeText(o.Alive), o.JVM.PID)
	}
	start := time.Now()
	if err := evictFrom(ctx, s, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "removed %s from process %d in %s\n", hooked, o.JVM.PID, format.Duration(time.Since(start)))
	if o.Pack != "" {
		_, err = fmt.Fprintf(s.out, "its measurements stay: sonde report %s\n", format.Printable(shellWord(o.Path)))
	}
	return err
}

// evictFrom makes an owner of hooks leave, and waits until it has.
func evictFrom(ctx context.Context, s streams, o *session.Owner) error {
	if hint := stoppedHint(o.JVM.PID); hint != "" {
		_, _ = fmt.Fprintf(s.err, "note: process %d cannot restore its classes%s\n", o.JVM.PID, hint)
	}
	err := o.Evict(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("process %d: interrupted; the hooks will still be removed: sonde status %d", o.JVM.PID, o.JVM.PID)
	case errors.Is(err, session.ErrStays):
		return fmt.Errorf("process %d: %w: it may be stopped, or a thread may be stuck in a hook: check sonde status %d, and try again when it runs", o.JVM.PID, err, o.JVM.PID)
	}
	return err
}

// stoppedHint says how to resume a process that is stopped; empty if it runs.
func stoppedHint(pid int) string {
	if jvm, err := process.Local.Inspect(pid); err != nil || !jvm.Stopped {
		return ""
	}
	return fmt.Sprintf(": it is stopped, by a signal or a debugger: kill -CONT %d resumes it", pid)
}

func lifeText(alive process.Answer) string {
	switch alive {
	case process.Yes:
		return "alive"
	case process.No:
		return "dead"
	}
	return "not visible from here"
}

// sweep removes the files of processes that are gone.
func sweep(ctx context.Context, s streams) error {
	removed, err := targetfs.Sweep(ctx, process.Local)
	if len(removed) > 0 {
		const most = 3
		more := ""
		if len(removed) > most {
			more = ", …"
		}
		_, _ = fmt.Fprintf(s.out, "removed %s of processes that are gone: %s%s\n", format.Count(len(removed), "leftover", "leftovers"),
			format.Printable(strings.Join(removed[:min(most, len(removed))], ", ")), more)
	}
	if err != nil {
		return fmt.Errorf("removing leftovers: %w", err)
	}
	return nil
}
