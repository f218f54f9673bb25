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
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
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
			s := s.forHost(cmd)
			switch {
			case ofService && len(args) > 0:
				return usage("--service cannot be used with PID")
			case ofService:
				return serviceStatus(cmd.Context(), s, asJSON)
			case len(args) == 0:
				return hostStatus(cmd.Context(), s, asJSON)
			}
			pid, err := processNumber(args[0])
			if err != nil {
				return err
			}
			return status(cmd.Context(), s, pid, asJSON, top)
		},
	}
	command.Flags().BoolVar(&ofService, "service", false, "show the service of this user")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	command.Flags().VarP(number(&top, 10, 0, 0), "top", "n", "show at most `N` methods; 0 shows all")
	return command
}

func status(ctx context.Context, s streams, pid int, asJSON bool, top int) error {
	d, err := askHost(ctx, s, func(h service.Host) (service.Status, error) { return h.Status(ctx, pid) })
	if err != nil {
		return err
	}
	err = s.writeResult(asJSON, d, func(out io.Writer) {
		writeStatus(out, &d.Status, top, s.outWidth())
		if len(d.Looks) > 0 {
			_, _ = fmt.Fprintln(out)
			format.WriteTable(out, looksColumns, lookTexts(d.Looks), s.outWidth(), looksExpendable...)
		}
	})
	return withProblems(err, d.Problems)
}

// withProblems adds the problems that a document reports to an error.
func withProblems(err error, problems []string) error {
	for _, problem := range problems {
		err = errors.Join(err, errors.New(problem))
	}
	return err
}

func writeStatus(out io.Writer, d *document.Status, top, width int) {
	if !d.Inside {
		_, _ = fmt.Fprintf(out, "Sonde has no hooks and no agent in process %d (JDK %s, %s)\n", d.PID, format.OrDash(format.Printable(d.Version)), format.OrDash(format.Printable(d.Main)))
	}
	for i := range d.Occupants {
		writeOccupant(out, d.PID, &d.Occupants[i], top, width)
	}
	if d.PackProblem != "" {
		_, _ = fmt.Fprintf(out, "the program was started with a pack, but the agent does not use it: %s\n", format.Printable(d.PackProblem))
	}
	if d.Standby {
		_, _ = fmt.Fprintln(out, "an agent that was loaded at the start (-javaagent) waits for a command")
	}
}

func writeOccupant(out io.Writer, pid int, o *document.Occupant, top, width int) {
	var all []results.Row
	for i := range o.Methods {
		all = append(all, o.Methods[i].Row(results.Timing(o.Timing)))
	}
	line := fields(out, 9)
	if o.Pack != "" {
		line("active", "pack %s, since the program started: sonde pack live %d shows it, sonde undo %d removes it", o.Pack, pid, pid)
		line("classes", "%s", accountText(o.Classes))
		if named := unwovenText(o.Classes, mostNamed); named != "" {
			line("", "%s", named)
		}
	} else {
		line("active", "%s", o.Command)
		line("process", "%d, %s", o.Process, aliveText(o.Alive))
	}
	line("since", "%s (%s)", o.Since.Local().Format(time.DateTime), since(o.Since))
	line("hooks", "in %s; %s by %s", format.Count(len(all), "method", "methods"),
		format.AtLeast(hasLowerBound(all), format.Count(o.Calls, "call", "calls")), format.Count(o.Threads, "thread", "threads"))
	if hasLowerBound(all) {
		line("", "%s", lowerBoundNote)
	}
	room := fmt.Sprintf("%s of %s used", format.Size(o.ArenaUsed), format.Size(o.ArenaRoom))
	if o.Pack == "" { // nobody has measured its cost
		line("cost", "%s", occupantCost(o))
		line("arena", "%s", room)
	} else {
		line("arena", "%s, %s", o.Arena, room)
	}
	untimed := o.Untimed
	if o.Timing == string(results.Untimed) {
		untimed = 0 // as asked for
	}
	for _, note := range arenaNotes(untimed, o.Dropped) {
		line("", "%s", note)
	}
	rows, hidden := calledRows(all, top)
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out)
	format.WriteTable(out, countColumns, rowTexts(rows, overloadsOf(all)), width, expendable...)
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "method more", "methods more"))
	}
}

func occupantCost(o *document.Occupant) string {
	text := fmt.Sprintf("installing hooks paused the program for %s and took %s of compiler time",
		format.Nanos(float64(o.Pause)), format.Nanos(float64(o.Compile)))
	if o.HookNanos == 0 {
		return text + "; the cost per call has not been measured yet"
	}
	return fmt.Sprintf("about %s per call, %s of processor time in total; %s", format.Call(o.HookNanos), format.Nanos(o.HookTotal), text)
}

func aliveText(alive string) string {
	text := lifeText(process.Answer(alive))
	if process.Answer(alive) == process.No {
		text += ": the agent removes its hooks when Sonde's lease expires; sonde undo removes them now"
	}
	return text
}

func newUndo(s streams) *cobra.Command {
	look, asJSON := 0, false
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
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			pid, err := processNumber(args[0])
			switch {
			case err != nil:
				return err
			case look != 0 && asJSON:
				return usage("--json cannot be used with --look")
			case look != 0:
				return undoLook(ctx, s, pid, look)
			}
			return undo(ctx, s.forHost(cmd), pid, asJSON)
		},
	}
	command.Flags().Var(number(&look, 0, 1, 0), "look", "end only the look with this number `N`")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func undo(ctx context.Context, s streams, pid int, asJSON bool) error {
	isInside := false
	done, err := askHost(ctx, s, func(h service.Host) (document.Undone, error) {
		if before, err := h.Status(ctx, pid); err == nil { // else undoing fails as well, and says why
			announceUndo(s.err, &before.Status)
			isInside = before.Inside
		}
		return h.Undo(ctx, pid)
	})
	switch {
	case ctx.Err() != nil && isInside:
		return leavingError(pid)
	case err != nil:
		return err
	}
	return withProblems(s.writeResult(asJSON, done, func(out io.Writer) { writeUndone(out, &done) }), done.Problems)
}

// announceUndo says what is about to be removed: that may take a while.
func announceUndo(out io.Writer, d *document.Status) {
	for i := range d.Occupants {
		o := &d.Occupants[i]
		if o.Pack != "" {
			_, _ = fmt.Fprintf(out, "removing pack %s from process %d\n", format.Printable(o.Pack), d.PID)
		} else {
			_, _ = fmt.Fprintf(out, "asking %s (process %d, %s) to remove its hooks from process %d\n", format.Printable(o.Command), o.Process, lifeText(process.Answer(o.Alive)), d.PID)
		}
	}
	for _, problem := range d.Problems { // such as an agent that is leaving already
		_, _ = fmt.Fprintf(out, "note: %s\n", format.Printable(problem))
	}
	if d.Stopped && d.Inside {
		_, _ = fmt.Fprintf(out, "note: process %d cannot restore its classes%s\n", d.PID, resumeHint(d.PID))
	}
}

// stoppedHint says how to resume a process that is stopped; empty if it runs.
func stoppedHint(pid int) string {
	if jvm, err := process.Local.Inspect(pid); err != nil || !jvm.Stopped {
		return ""
	}
	return resumeHint(pid)
}

func resumeHint(pid int) string {
	return fmt.Sprintf(": it is stopped by a signal or a debugger; kill -CONT %d resumes it", pid)
}

func writeUndone(out io.Writer, d *document.Undone) {
	for _, name := range d.Recordings {
		_, _ = fmt.Fprintf(out, "stopped the recording %s in process %d\n", format.Printable(name), d.PID)
	}
	for _, r := range d.Removed {
		hooked := "hooks"
		if r.Methods != nil {
			hooked = "the hooks of " + format.Count(*r.Methods, "method", "methods")
		}
		if r.Command == "" && r.Pack == "" {
			_, _ = fmt.Fprintf(out, "the hooks in process %d were removed\n", d.PID)
			continue
		}
		_, _ = fmt.Fprintf(out, "removed %s from process %d in %s\n", hooked, d.PID, format.Duration(time.Duration(r.Millis*float64(time.Millisecond))))
		if r.Pack != "" {
			_, _ = fmt.Fprintf(out, "its measurements stay: sonde report %s\n", format.Printable(shellWord(r.Arena)))
		}
	}
	if len(d.Removed)+len(d.Recordings)+len(d.Problems) == 0 {
		_, _ = fmt.Fprintf(out, "Sonde has no hooks and no agent in process %d\n", d.PID)
	}
	if len(d.Files) > 0 {
		_, _ = fmt.Fprintf(out, "removed %s of processes that have ended: %s\n", format.Count(len(d.Files), "leftover file", "leftover files"), format.Printable(firstOf(d.Files, 3)))
	}
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
        measurements sonde pack live shows`,
		Example: `  sonde ps
  sonde ps --json | jq 'select(.agents.allowed == "yes") | .pid'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			jvms, err := askHost(cmd.Context(), s.forHost(cmd), func(h service.Host) (service.JVMs, error) { return h.JVMs(cmd.Context()) })
			if err != nil {
				return err
			}
			return writeJVMs(s, jvms.JVMs, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object per JVM")
	return command
}

func writeJVMs(s streams, jvms []document.JVM, asJSON bool) error {
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	switch {
	case asJSON:
		for _, jvm := range jvms {
			if err := document.Write(out, jvm); err != nil {
				return err
			}
		}
	case len(jvms) == 0:
		_, _ = fmt.Fprintln(s.err, "no JVM is running"+asFarAsSeen())
	default:
		format.WriteTable(out, psColumns, jvmRows(jvms), s.outWidth(), psExpendable...)
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

var (
	psColumns    = format.Columns(">PID", "USER", "JDK", ">UPTIME", ">HEAP", "ATTACH", "AGENTS", "SONDE", "MAIN")
	psExpendable = []string{"HEAP", "AGENTS", "UPTIME", "USER", "ATTACH"}
)

func jvmRows(jvms []document.JVM) [][]string {
	var rows [][]string
	for i := range jvms {
		j := &jvms[i]
		version := j.Version
		if process.Kind(j.Kind) == process.OpenJ9 {
			version = strings.TrimSpace(version + " OpenJ9")
		}
		rows = append(rows, []string{
			strconv.Itoa(j.PID), format.Printable(j.User), format.OrDash(format.Printable(version)), format.ShortDuration(time.Duration(j.Uptime * float64(time.Second))),
			heapText(j.Heap), answerText(j.Attach), answerText(j.Agents), presenceText(process.Presence(j.Inside)),
			format.OrDash(format.Printable(j.Main)),
		})
	}
	return rows
}

// writeReasons writes below the table why something is not allowed, once per reason.
func writeReasons(w io.Writer, jvms []document.JVM) {
	type refusal struct{ pid, reason string }
	var all []refusal
	for i := range jvms {
		j := &jvms[i]
		for _, v := range []process.Verdict{j.Attach, j.Agents} {
			r := refusal{strconv.Itoa(j.PID), v.Reason}
			if process.Presence(j.Inside) != process.Standby && v.Reason != "" && !slices.Contains(all, r) { // Sonde can attach to a standby
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

func heapText(heap *document.Heap) string {
	if heap == nil {
		return "-"
	}
	return format.Size(heap.Used) + "/" + format.Size(heap.Max)
}
