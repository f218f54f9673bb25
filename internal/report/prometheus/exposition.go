package prometheus

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// contentType is that of the text that write writes.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Bounds of the buckets of times: powers of two nanoseconds, where the arena's own
// buckets begin, so that no call is in a wrong one. Below a microsecond, the cost of
// hooks is too large a part of the times.
const (
	firstBound = 10 // 1.024 µs
	lastBound  = 36 // 69 s
)

// write writes the text format, version 0.0.4. since is the time from the first reading on, from which
// Prometheus computes its own intervals. Running calls are known only if the hooks are installed.
func write(w io.Writer, of Target, isUp bool, since *monitor.Interval) error {
	out := &exposer{Writer: bufio.NewWriter(w), own: []label{{"main", of.Main}}}
	if of.Instance != "" {
		out.own = append(out.own, label{"jvm", of.Instance})
	}
	out.family("sonde_jvm_info", "gauge", "The JVM that is measured now. Only this series changes when the program is restarted.")
	out.sample("sonde_jvm_info", 1, label{"pid", strconv.Itoa(of.PID)}, label{"jdk", of.JDK})
	out.family("sonde_monitor_up", "gauge", "Whether the hooks are installed.")
	up := 0.0
	if isUp {
		up = 1
	}
	out.sample("sonde_monitor_up", up)
	out.family("sonde_calls_lost_total", "counter", "Calls that were not counted because the arena had no room.")
	out.sample("sonde_calls_lost_total", float64(since.Lost))
	rows := since.Rows
	out.each("sonde_calls_total", "counter", "Calls begun.", rows, func(r *monitor.Row) float64 { return float64(r.Calls) })
	if bounds := slices.DeleteFunc(slices.Clone(rows), func(r monitor.Row) bool { return !r.LowerBound }); len(bounds) > 0 {
		out.each("sonde_calls_lower_bound", "gauge", "1 where HotSpot may replace a method by an intrinsic, so that calls may be missing.", bounds, func(*monitor.Row) float64 { return 1 })
	}
	out.each("sonde_call_errors_total", "counter", "Calls that ended with an exception.", rows, func(r *monitor.Row) float64 { return float64(r.Errors) })
	if isUp {
		out.each("sonde_calls_running", "gauge", "Threads in such a call.", rows, func(r *monitor.Row) float64 { return float64(r.Running) })
		out.each("sonde_calls_stalled", "gauge", "Threads in such a call that is older than the threshold.", rows, func(r *monitor.Row) float64 { return float64(r.Stalled) })
		out.each("sonde_call_oldest_seconds", "gauge", "Age of the oldest call under way.", rows, func(r *monitor.Row) float64 { return r.Oldest.Seconds() })
	}
	for _, c := range []*convention{&httpServer, &httpClient, &database, &processed, &sent, &own} {
		out.times(c, rows)
	}
	return out.Flush()
}

type label struct{ Name, Value string }

// labelsOf returns the labels that distinguish the series of a row.
func labelsOf(k monitor.Key) []label {
	labels := []label{{"class", k.Method.Class}, {"method", k.Method.Name}, {"descriptor", k.Method.Descriptor}}
	switch {
	case k.Category != "" && k.Method.Class != "":
		labels = append([]label{{"category", k.Category}, {"direction", k.Direction}}, labels...)
	case k.Category != "":
		labels = []label{{"category", k.Category}, {"direction", k.Direction}}
	case k.Pattern != "":
		labels = []label{{"pattern", k.Pattern}}
	}
	if k.Within != "" {
		labels = append(labels, label{"within", k.Within})
	}
	for _, tag := range k.TagValues() {
		labels = append(labels, label{"tag_" + tag[0], tag[1]})
	}
	if k.Callers != "" {
		labels = append(labels, label{"callers", k.Callers})
	}
	return labels
}

// An exposer keeps the first error until Flush.
type exposer struct {
	*bufio.Writer
	own []label // of every series
}

func (e *exposer) family(name, kind, help string) {
	_, _ = fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposer) each(name, kind, help string, rows []monitor.Row, value func(*monitor.Row) float64) {
	e.family(name, kind, help)
	for n := range rows {
		e.sample(name, value(&rows[n]), labelsOf(rows[n].Key)...)
	}
}

// times writes the histograms of the rows that a convention is for.
func (e *exposer) times(c *convention, rows []monitor.Row) {
	isNew := true
	for n := range rows {
		if conventionOf(&rows[n].Key) != c {
			continue
		}
		if isNew {
			e.family(c.metric, "histogram", c.help)
			isNew = false
		}
		e.histogram(c.metric, c.labelsOf(&rows[n].Key), &rows[n])
	}
}

// histogram writes how many calls took no longer than each bound.
func (e *exposer) histogram(name string, labels []label, r *monitor.Row) {
	spread := cmp.Or(r.Spread, &arena.Spread{})
	bucket := func(bound float64, below uint64) {
		e.sample(name+"_bucket", float64(below), append(labels[:len(labels):len(labels)], label{"le", number(bound)})...)
	}
	for power := firstBound; power <= lastBound; power++ {
		bucket(math.Ldexp(1, power)/1e9, spread.Below(1<<power))
	}
	bucket(math.Inf(1), spread.Count())
	e.sample(name+"_sum", r.Nanos/1e9, labels...)
	e.sample(name+"_count", float64(spread.Count()), labels...)
}

var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (e *exposer) sample(name string, value float64, labels ...label) {
	_, _ = e.WriteString(name)
	before := "{"
	for _, l := range slices.Concat(e.own, labels) {
		_, _ = fmt.Fprintf(e, "%s%s=\"%s\"", before, l.Name, escaped.Replace(l.Value))
		before = ","
	}
	_, _ = fmt.Fprintf(e, "} %s\n", number(value))
}

func number(value float64) string {
	if math.IsInf(value, 1) {
		return "+Inf"
	}
	if value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
