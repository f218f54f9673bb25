package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
INSIDE  whether Sonde is in it: yes; no; standby, for an agent of -javaagent that waits
        for a command; pack, if it was started with a pack, which sonde attach shows`,
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

var psColumns = format.Columns(">PID", "USER", "JDK", ">UPTIME", ">HEAP", "ATTACH", "AGENTS", "INSIDE", "MAIN")

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
	for _, g := range groupBy(all, func(r refusal) string { return r.reason }) {
		var pids []string
		for _, r := range g.list {
			pids = append(pids, r.pid)
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", strings.Join(pids, ", "), format.Printable(g.key))
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
