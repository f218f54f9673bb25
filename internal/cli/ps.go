package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func newPs(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "ps",
		Short: "List the JVMs of this host",
		Long: `List the JVMs of this host, also those in containers: whether one may attach to
them and load agents into them, and if not, why and what to do.

All of it is read from /proc and from the counters JVMs publish; nothing is sent
to any process. A JVM of another user shows with what its command line tells;
root sees all.

UPTIME  since the process started
HEAP    used/largest, as the JVM last published it: newer ones do so after a
        garbage collection only, and with -XX:-UsePerfData never
ATTACH  whether the JVM answers to commands
AGENTS  whether it loads agents while it runs
INSIDE  whether Sonde is in it: yes, no, standby for an agent that was given at its
        start with -javaagent and does nothing until it is asked to, or pack where
        it was started with one, which sonde attach shows`,
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
			if err := writeJSON(out, describeJVM(jvm)); err != nil {
				return err
			}
		}
	case len(jvms) == 0:
		_, _ = fmt.Fprintln(s.err, "no JVM is running"+asFarAsSeen())
	default:
		writeTable(out, psColumns, jvmRows(jvms), s.outWidth())
		writeReasons(out, jvms)
	}
	return out.Flush()
}

// asFarAsSeen is said of what may be incomplete: of other users' processes only
// those named java can be told to be JVMs.
func asFarAsSeen() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return " that this user can see; root sees all"
}

// psColumns are the titles, with numbers to the right.
var psColumns = []column{
	{"PID", true},
	{"USER", false},
	{"JDK", false},
	{"UPTIME", true},
	{"HEAP", true},
	{"ATTACH", false},
	{"AGENTS", false},
	{"INSIDE", false},
	{"MAIN", false},
}

func jvmRows(jvms []*process.JVM) [][]string {
	var rows [][]string
	for _, j := range jvms {
		version := j.Version
		if j.Kind == process.OpenJ9 {
			version = strings.TrimSpace(version + " OpenJ9")
		}
		rows = append(rows, []string{
			strconv.Itoa(j.PID), printable(j.User), orDash(printable(version)), shortDuration(j.Uptime()),
			heapText(j.HeapUsed, j.HeapMax), answerText(j.Attach), answerText(j.Agents), presenceText(j.Inside),
			orDash(printable(j.Main)),
		})
	}
	return rows
}

// writeReasons says beneath the table, once for each reason, why something is
// not allowed.
func writeReasons(w io.Writer, jvms []*process.JVM) {
	pids := map[string][]string{}
	var reasons []string
	for _, j := range jvms {
		if j.Inside == process.Standby {
			continue // Sonde can enter all the same
		}
		seen := ""
		for _, v := range []process.Verdict{j.Attach, j.Agents} {
			if v.Reason == "" || v.Reason == seen {
				continue
			}
			seen = v.Reason
			if pids[v.Reason] == nil {
				reasons = append(reasons, v.Reason)
			}
			pids[v.Reason] = append(pids[v.Reason], strconv.Itoa(j.PID))
		}
	}
	if len(reasons) > 0 {
		_, _ = fmt.Fprintln(w)
	}
	for _, reason := range reasons {
		_, _ = fmt.Fprintf(w, "%s: %s\n", strings.Join(pids[reason], ", "), printable(reason))
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

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// shortDuration writes the two largest units of a duration.
func shortDuration(d time.Duration) string {
	seconds := int64(max(0, d) / time.Second)
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%02dh", days, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	case minutes > 0:
		return fmt.Sprintf("%dm%02ds", minutes, seconds%60)
	}
	return fmt.Sprintf("%ds", seconds)
}

func heapText(used, limit int64) string {
	if used == 0 && limit == 0 {
		return "-"
	}
	return sizeText(used) + "/" + sizeText(limit)
}

// sizeText writes a size with three digits at least where there are as many.
func sizeText(size int64) string {
	const mega, giga = 1 << 20, 1 << 30
	switch {
	case size == 0:
		return "-"
	case size < mega:
		return fmt.Sprintf("%dK", max(1, size>>10))
	case size < giga:
		return fmt.Sprintf("%dM", size/mega)
	case size < 100*giga:
		return fmt.Sprintf("%.1fG", float64(size)/giga)
	}
	return fmt.Sprintf("%dG", size/giga)
}

// jvmJSON is a JVM as `sonde ps --json` writes it. What is not known is left
// out.
type jvmJSON struct {
	PID          int         `json:"pid"`
	NamespacePID int         `json:"namespacePid"`
	OtherPIDs    bool        `json:"otherPidNamespace"`
	OtherMounts  bool        `json:"otherMountNamespace"`
	User         string      `json:"user"`
	UID          uint32      `json:"uid"`
	Kind         string      `json:"kind"`
	Version      string      `json:"version,omitempty"`
	Name         string      `json:"vm,omitempty"`
	Vendor       string      `json:"vendor,omitempty"`
	Main         string      `json:"main,omitempty"`
	Started      time.Time   `json:"started"`
	Uptime       float64     `json:"uptimeSeconds"`
	Heap         *heapJSON   `json:"heap,omitempty"`
	Attach       verdictJSON `json:"attach"`
	Agents       verdictJSON `json:"agents"`
	Inside       string      `json:"inside"` // yes, pack, standby, no, unknown
}

type heapJSON struct {
	Used int64 `json:"used,omitempty"`
	Max  int64 `json:"max,omitempty"`
}

type verdictJSON struct {
	Allowed string `json:"allowed"` // yes, no, unknown
	Reason  string `json:"reason,omitempty"`
}

func describeJVM(j *process.JVM) jvmJSON {
	d := jvmJSON{
		PID: j.PID, NamespacePID: j.NamespacePID, OtherPIDs: j.OtherPIDs, OtherMounts: j.OtherMounts,
		User: j.User, UID: j.UID, Kind: string(j.Kind), Version: j.Version, Name: j.Name, Vendor: j.Vendor,
		Main: j.Main, Started: j.Started.Round(time.Millisecond), Uptime: j.Uptime().Seconds(),
		Attach: verdictJSON{string(j.Attach.Answer), j.Attach.Reason},
		Agents: verdictJSON{string(j.Agents.Answer), j.Agents.Reason},
		Inside: string(j.Inside),
	}
	if j.HeapUsed > 0 || j.HeapMax > 0 {
		d.Heap = &heapJSON{j.HeapUsed, j.HeapMax}
	}
	return d
}
