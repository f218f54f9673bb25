package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
)

// psColumns are the titles, with numbers to the right.
var psColumns = []struct {
	title string
	right bool
}{
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

func jvmRows(jvms []*jvmproc.JVM) [][]string {
	var rows [][]string
	for _, j := range jvms {
		version := j.Version
		if j.Kind == jvmproc.OpenJ9 {
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

// writeTable aligns columns; the last is cut at its beginning to fit a terminal
// of a width, as a class's own name comes at its end.
func writeTable(w io.Writer, rows [][]string, width int) {
	last := len(psColumns) - 1
	widths := make([]int, last)
	for i := range widths {
		widths[i] = len(psColumns[i].title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	used := 0
	for _, n := range widths {
		used += n + 2
	}
	titles := make([]string, len(psColumns))
	for i := range titles {
		titles[i] = psColumns[i].title
	}
	for _, row := range append([][]string{titles}, rows...) {
		var line strings.Builder
		for i, n := range widths {
			gap := strings.Repeat(" ", n-utf8.RuneCountInString(row[i]))
			if psColumns[i].right {
				line.WriteString(gap + row[i] + "  ")
			} else {
				line.WriteString(row[i] + gap + "  ")
			}
		}
		line.WriteString(keepEnd(row[last], width, used))
		_, _ = fmt.Fprintln(w, line.String())
	}
}

// keepEnd cuts the beginning of a text that does not fit behind what is used of
// a terminal's width, unless too little would stay to be of use.
func keepEnd(text string, width, used int) string {
	const least = 12
	runes := []rune(text)
	room := max(width-used, least)
	if width == 0 || len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-room+1:])
}

// writeReasons says beneath the table, once for each reason, why something is
// not allowed.
func writeReasons(w io.Writer, jvms []*jvmproc.JVM) {
	pids := map[string][]string{}
	var reasons []string
	for _, j := range jvms {
		seen := ""
		for _, v := range []jvmproc.Verdict{j.Attach, j.Agents} {
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

func answerText(v jvmproc.Verdict) string {
	if v.Answer == jvmproc.Unknown {
		return "?"
	}
	return string(v.Answer)
}

func presenceText(p jvmproc.Presence) string {
	if p == jvmproc.PresenceUnknown {
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

// printable keeps what other processes call themselves from steering a
// terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
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
