package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

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
