package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
)

// monitorOrders are what --sort knows: the largest first, names from A to Z.
var monitorOrders = map[string]func(r *monitor.Row) float64{
	"calls":   func(r *monitor.Row) float64 { return float64(r.Calls) },
	"errors":  func(r *monitor.Row) float64 { return float64(r.Errors) },
	"mean":    func(r *monitor.Row) float64 { return r.Mean },
	"p99":     func(r *monitor.Row) float64 { return r.P99 },
	"running": func(r *monitor.Row) float64 { return float64(r.Running) },
	"name":    func(*monitor.Row) float64 { return 0 },
}

// monitorKeys are the keys that sort.
var monitorKeys = map[rune]string{'c': "calls", 'e': "errors", 'm': "mean", '9': "p99", 'r': "running", 'n': "name"}

// A monitorView is what of a table is shown, and how. Keys change it.
type monitorView struct {
	typed
	sort     string
	by       string
	hideIdle bool // also rows that were asked for by name
	paused   bool
	hasKeys  bool
}

// press does what a key says, and tells whether it is to end.
func (v *monitorView) press(key rune) (quit bool) {
	if v.typing {
		v.edit(key)
		return false
	}
	if sort, is := monitorKeys[key]; is {
		v.sort = sort
	}
	switch key {
	case 'g':
		if v.by == byMethod {
			v.by = byPattern
		} else {
			v.by = byMethod
		}
	case 'p', ' ':
		v.paused = !v.paused
	case '/':
		v.typing = true
	case keyEscape:
		v.filter = ""
	case 'q':
		return true
	}
	return false
}

// keyLine says what keys do, or what is typed.
func (v *monitorView) keyLine() string {
	if v.typing {
		return "filter: " + printable(v.filter) + "_"
	}
	words := []string{"by " + v.sort}
	if v.filter != "" {
		words = append(words, "filter "+strconv.Quote(v.filter))
	}
	if v.paused {
		words = append(words, "paused")
	}
	line := strings.Join(words, ", ")
	if v.hasKeys {
		return line + "   [c]alls [e]rrors [m]ean p9[9] [r]unning [n]ame  / filter  [g]roup  [p]ause  [q]uit"
	}
	return line + "   Ctrl-C ends it"
}

// rows are those that pass the filter and have something to tell, in order.
func (v *monitorView) rows(i *monitor.Interval, names map[monitor.Key]string) []monitor.Row {
	rows := slices.DeleteFunc(slices.Clone(i.Rows), func(r monitor.Row) bool {
		isIdle := r.Calls == 0 && r.Timed == 0 && r.Running == 0 && !r.LowerBound
		return isIdle && (v.hideIdle || r.Key.Pattern == "") || !v.passes(names[r.Key])
	})
	key := monitorOrders[v.sort]
	slices.SortStableFunc(rows, func(a, b monitor.Row) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(names[a.Key], names[b.Key]))
	})
	return rows
}
