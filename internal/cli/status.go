package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
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
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func newStatus(s streams) *cobra.Command {
	var asJSON, ofService bool
	var top int
	command := &cobra.Command{
		Use:   "status [PID]",
		Short: "Show what Sonde is doing in a JVM, or on this host",
		Long: `Show whether Sonde has hooks in a JVM, by which process and since when, whether that
process is still running, its looks with their cost, and what its hooks have measured so
far. For a pack that the program was started with, show which of its classes were woven.

Everything is read from the memory that the hooks write to, and from the service; the JVM
is not asked and nothing is sent to it.

Without PID, all JVMs of this host are listed in which Sonde is, and the looks of this
user that are running. With --service, the service itself is shown.`,
		Example: `  sonde status
  sonde status 4711
  sonde status 4711 --json | jq .looks[].command
  sonde status --service`,
		Args: atMost("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case ofService && len(args) > 0:
				return usage("--service goes without PID")
			case ofService:
				return serviceStatus(cmd.Context(), s, asJSON)
			case len(args) == 0:
				return hostStatus(cmd.Context(), s, asJSON)
			}
			return ofProcess(func(ctx context.Context, pid int) error { return status(ctx, s, pid, asJSON, top) })(cmd, args)
		},
	}
	command.Flags().BoolVar(&ofService, "service", false, "show the service of this user")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	command.Flags().Var(number(&top, 10, 0, 0), "top", "show at most `N` methods; 0 shows all")
	return command
}

func inspect(pid int) (*process.JVM, error) {
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, &session.NoSuchJVM{PID: pid, Cause: err}
	}
	return jvm, nil
}

// An ownerStatus is the owner of hooks in a JVM, with its measurements.
type ownerStatus struct {
	*session.Owner
	document.Occupant
	account arena.Account // of a pack
	rows    []results.Row
}

func status(ctx context.Context, s streams, pid int, asJSON bool, top int) error {
	jvm, err := inspect(pid)
	if err != nil {
		return err
	}
	found, err := targetfs.Find(jvm)
	if err != nil {
		return err
	}
	owners, unreachable, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return err
	}
	d := document.Status{
		PID: jvm.PID, Version: jvm.Version, Main: jvm.Main, Inside: len(found.Arenas) > 0, Standby: found.Standby,
		Occupants: []document.Occupant{},
	}
	if jvm.Pack != nil {
		d.PackProblem = jvm.Pack.Problem
	}
	var all []*ownerStatus
	for _, o := range owners {
		defer o.Close()
		t, err := readOwner(o)
		if err != nil {
			unreachable = append(unreachable, &session.UnreachableError{PID: pid, Path: o.Path, Cause: err})
			continue
		}
		all, d.Occupants = append(all, t), append(d.Occupants, t.Occupant)
	}
	looks, err := runningLooks(ctx, func(l *service.Description) bool { return l.PID == pid })
	if err != nil {
		s.note("the service does not answer: " + format.OneLine(err))
	}
	if asJSON {
		err = document.Write(s.out, service.Status{Status: d, List: service.List{Looks: looks}})
	} else {
		err = s.print(func(out io.Writer) {
			writeStatus(out, &d, all, top, s.outWidth())
			if len(looks) > 0 {
				_, _ = fmt.Fprintln(out)
				format.WriteTable(out, looksColumns, lookTexts(looks), s.outWidth())
			}
		})
	}
	for _, u := range unreachable {
		err = errors.Join(err, u)
	}
	return err
}

func readOwner(o *session.Owner) (*ownerStatus, error) {
	methods, err := o.Methods()
	if err != nil {
		return nil, err
	}
	sum, err := o.Sum()
	if err != nil {
		return nil, err
	}
	cost, err := o.Cost()
	if err != nil {
		return nil, err
	}
	account, _, err := o.Account()
	if err != nil {
		return nil, err
	}
	t := &ownerStatus{Owner: o, account: account}
	t.Occupant = document.Occupant{
		Command: o.Command, Process: o.Sonde, Alive: string(o.Alive), Since: o.Opened.Round(time.Millisecond), Threads: sum.Threads,
		Dropped: sum.Dropped, HookNanos: cost.Hook, Pause: int64(cost.Pause), Compile: int64(cost.Compile), Methods: []document.Method{},
		Arena: o.Path, Pack: o.Pack,
	}
	t.ArenaUsed, t.ArenaRoom = o.Room()
	if o.Pack != "" {
		t.Classes = document.NewAccount(&account)
	}
	elapsed := time.Since(o.Opened).Seconds()
	for _, m := range methods {
		row := results.ParseRow(m.Name)
		if totals := sum.Methods[m.ID]; totals != nil {
			row.Totals = *totals
		}
		row.PerSecond = float64(row.Calls) / elapsed
		t.Calls += row.Calls
		t.Untimed += row.Totals.Untimed
		t.rows = append(t.rows, row)
	}
	t.HookTotal = cost.Hook * float64(t.Calls)
	timing := results.TimingOf(t.rows...)
	t.Timing = string(timing)
	results.SortRows(t.rows, "calls")
	for i := range t.rows {
		t.rows[i].Timing = timing
		t.Occupant.Methods = append(t.Occupant.Methods, document.NewMethod(&t.rows[i]))
	}
	return t, nil
}

func writeStatus(out io.Writer, d *document.Status, owners []*ownerStatus, top, width int) {
	if !d.Inside {
		_, _ = fmt.Fprintf(out, "Sonde has no hooks and no agent in process %d (JDK %s, %s)\n", d.PID, format.OrDash(format.Printable(d.Version)), format.OrDash(format.Printable(d.Main)))
	}
	for _, t := range owners {
		t.write(out, top, width)
	}
	if d.PackProblem != "" {
		_, _ = fmt.Fprintf(out, "the program was started with a pack, but the agent does not use it: %s\n", format.Printable(d.PackProblem))
	}
	if d.Standby {
		_, _ = fmt.Fprintln(out, "an agent that was loaded at the start (-javaagent) waits for a command")
	}
}

func (t *ownerStatus) write(out io.Writer, top, width int) {
	line := fields(out, 9)
	pack := t.Occupant.Pack
	if pack != "" {
		line("active", "pack %s, since the program started: sonde attach %d shows it, sonde undo %d removes it", pack, t.JVM.PID, t.JVM.PID)
		line("classes", "%s", accountText(&t.account))
		if named := unwovenText(&t.account, mostNamed); named != "" {
			line("", "%s", named)
		}
	} else {
		line("active", "%s", t.Occupant.Command)
		line("process", "%d, %s", t.Sonde, aliveText(t.Owner.Alive))
	}
	line("since", "%s (%s)", t.Opened.Local().Format(time.DateTime), since(t.Opened))
	line("hooks", "in %s; %s by %s", format.Count(len(t.rows), "method", "methods"),
		format.AtLeast(hasLowerBound(t.rows), format.Count(t.Calls, "call", "calls")), format.Count(t.Threads, "thread", "threads"))
	if hasLowerBound(t.rows) {
		line("", "%s", lowerBoundNote)
	}
	room := fmt.Sprintf("%s of %s used", format.Size(t.ArenaUsed), format.Size(t.ArenaRoom))
	if pack == "" { // nobody has measured its cost
		line("cost", "%s", t.costText())
		line("arena", "%s", room)
	} else {
		line("arena", "%s, %s", t.Occupant.Arena, room)
	}
	untimed := t.Untimed
	if t.Timing == string(results.Untimed) {
		untimed = 0 // as asked for
	}
	for _, note := range arenaNotes(untimed, t.Dropped) {
		line("", "%s", note)
	}
	rows, hidden := calledRows(t.rows, top)
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out)
	format.WriteTable(out, countColumns, rowTexts(rows, overloadsOf(t.rows)), width)
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "method more", "methods more"))
	}
}

func (t *ownerStatus) costText() string {
	text := fmt.Sprintf("installing hooks paused the program for %s and took %s of compiler time",
		format.Nanos(float64(t.Pause)), format.Nanos(float64(t.Compile)))
	if t.HookNanos == 0 {
		return text + "; the cost per call has not been measured yet"
	}
	return fmt.Sprintf("about %s per call, %s of processor time in total; %s", format.Call(t.HookNanos), format.Nanos(t.HookTotal), text)
}

func aliveText(alive process.Answer) string {
	text := lifeText(alive)
	if alive == process.No {
		text += ": the agent removes its hooks when Sonde's lease expires; sonde undo removes them now"
	}
	return text
}

func newUndo(s streams) *cobra.Command {
	look := 0
	command := &cobra.Command{
		Use:   "undo PID",
		Short: "Remove everything that Sonde has put into a JVM, or what one look has",
		Long: `Make the agent in a JVM restore every class and end, whoever put it there and whether
or not that command still runs, and wait until it is done. A command that is ended this
way still prints its result. A pack that the program was started with is removed as well,
until the program is restarted; its measurements stay in its arena, for sonde report. A
flight recording that a killed Sonde has left running is stopped.

Leftover files of this user are removed on the whole host: those of processes that have
ended, and the agent's jar if no running JVM has loaded it.

With --look, only that look ends; hooks that others use stay, and so do files.`,
		Example: `  sonde undo 4711
  sonde undo 4711 --look 12`,
		Args: exactly("PID"),
		RunE: ofProcess(func(ctx context.Context, pid int) error {
			if look != 0 {
				return undoLook(ctx, s, pid, look)
			}
			err := undo(ctx, s, pid)
			if err != nil && !errors.Is(err, process.ErrNoProcess) { // a process that is gone may have left files
				return err
			}
			return errors.Join(err, sweep(ctx, s))
		}),
	}
	command.Flags().Var(number(&look, 0, 1, 0), "look", "end only the look with this number `N`")
	return command
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
		_, err := fmt.Fprintf(s.out, "Sonde has no hooks and no agent in process %d\n", pid)
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
	_, _ = fmt.Fprintf(s.err, "Sonde is already removing its hooks from process %d\n", jvm.PID)
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
		_, _ = fmt.Fprintf(s.err, "asking %s (process %d, %s) to remove its hooks from process %d\n", format.Printable(o.Command), o.Sonde, lifeText(o.Alive), o.JVM.PID)
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
		return fmt.Errorf("process %d: interrupted while waiting; the JVM goes on removing the hooks: sonde status %d shows when they are gone", o.JVM.PID, o.JVM.PID)
	case errors.Is(err, session.ErrStays):
		return fmt.Errorf("process %d: %w; it may be stopped, or a thread may be blocked in a hook; check with sonde status %d, then try again", o.JVM.PID, err, o.JVM.PID)
	}
	return err
}

// stoppedHint says how to resume a process that is stopped; empty if it runs.
func stoppedHint(pid int) string {
	if jvm, err := process.Local.Inspect(pid); err != nil || !jvm.Stopped {
		return ""
	}
	return fmt.Sprintf(": it is stopped by a signal or a debugger; kill -CONT %d resumes it", pid)
}

func lifeText(alive process.Answer) string {
	switch alive {
	case process.Yes:
		return "alive"
	case process.No:
		return "dead"
	}
	return "whether it is still running is unknown"
}

// sweep removes the files of processes that have ended.
func sweep(ctx context.Context, s streams) error {
	removed, err := targetfs.Sweep(ctx, process.Local)
	if len(removed) > 0 {
		_, _ = fmt.Fprintf(s.out, "removed %s of processes that have ended: %s\n", format.Count(len(removed), "leftover file", "leftover files"), format.Printable(firstOf(removed, 3)))
	}
	if err != nil {
		return fmt.Errorf("removing leftover files: %w", err)
	}
	return nil
}

func newPs(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "ps",
		Short: "List the JVMs of this host",
		Long: `List the JVMs of this host, including those in containers, and whether Sonde can attach
to them and load its agent. If not, the reason and a remedy follow the table.

Everything is read from /proc and from the counters that JVMs publish; nothing is sent to
any process. For a JVM of another user only the command line is known; root sees all.

UPTIME  time since the process started
HEAP    used/maximum, as last published by the JVM: newer JVMs publish it only after a
        garbage collection, and with -XX:-UsePerfData never
ATTACH  whether the JVM accepts the attach protocol
AGENTS  whether it loads agents while it runs
SONDE   whether Sonde has hooks or an agent in it: yes; no; standby, if an agent of
        -javaagent waits for a command; pack, if it was started with a pack, whose
        measurements sonde attach shows`,
		Example: `  sonde ps
  sonde ps --json | jq 'select(.agents.allowed == "yes") | .pid'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ps(cmd.Context(), s, process.Local, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object per JVM")
	return command
}

func ps(ctx context.Context, s streams, host process.Host, asJSON bool) error {
	jvms, err := host.Find(ctx)
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	switch {
	case asJSON:
		for _, jvm := range jvms {
			if err := document.Write(out, document.NewJVM(jvm)); err != nil {
				return err
			}
		}
	case len(jvms) == 0:
		_, _ = fmt.Fprintln(s.err, "no JVM is running"+asFarAsSeen())
	default:
		format.WriteTable(out, psColumns, jvmRows(jvms), s.outWidth())
		writeReasons(out, jvms)
	}
	return out.Flush()
}

// asFarAsSeen is added if the list may be incomplete: of other users' processes, only those
// named java are recognised.
func asFarAsSeen() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return " that this user can see; root sees all"
}

var psColumns = format.Columns(">PID", "USER", "JDK", ">UPTIME", ">HEAP", "ATTACH", "AGENTS", "SONDE", "MAIN")

func jvmRows(jvms []*process.JVM) [][]string {
	var rows [][]string
	for _, j := range jvms {
		version := j.Version
		if j.Kind == process.OpenJ9 {
			version = strings.TrimSpace(version + " OpenJ9")
		}
		rows = append(rows, []string{
			strconv.Itoa(j.PID), format.Printable(j.User), format.OrDash(format.Printable(version)), format.ShortDuration(j.Uptime()),
			heapText(j.HeapUsed, j.HeapMax), answerText(j.Attach), answerText(j.Agents), presenceText(j.Inside),
			format.OrDash(format.Printable(j.Main)),
		})
	}
	return rows
}

// writeReasons writes below the table why something is not allowed, once per reason.
func writeReasons(w io.Writer, jvms []*process.JVM) {
	type refusal struct{ pid, reason string }
	var all []refusal
	for _, j := range jvms {
		for _, v := range []process.Verdict{j.Attach, j.Agents} {
			r := refusal{strconv.Itoa(j.PID), v.Reason}
			if j.Inside != process.Standby && v.Reason != "" && !slices.Contains(all, r) { // Sonde can attach to a standby
				all = append(all, r)
			}
		}
	}
	if len(all) > 0 {
		_, _ = fmt.Fprintln(w)
	}
	for _, g := range format.GroupBy(all, func(r refusal) string { return r.reason }) {
		var pids []string
		for _, r := range g.List {
			pids = append(pids, r.pid)
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", strings.Join(pids, ", "), format.Printable(g.Key))
	}
}

func answerText(v process.Verdict) string {
	if v.Answer == process.Unknown {
		return "?"
	}
	return string(v.Answer)
}

func presenceText(p process.Presence) string {
	if p == process.PresenceUnknown {
		return "?"
	}
	return string(p)
}

func heapText(used, limit int64) string {
	if used == 0 && limit == 0 {
		return "-"
	}
	return format.Size(used) + "/" + format.Size(limit)
}
