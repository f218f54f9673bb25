package cli

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// What a table is sorted by.
const (
	hotBySelf  = "self"
	hotByTotal = "total"
	hotByName  = "name"
)

var hotOrders = map[string]func(a, b hotspots.Method) int{hotBySelf: hotspots.BySelf, hotByTotal: hotspots.ByTotal, hotByName: hotspots.ByName}

// A hotView is what of a table is shown, and how. Keys change it.
type hotView struct {
	typed
	sort    string
	threads bool
	paused  bool
	hasKeys bool
}

// press does what a key says, and tells whether it is to end.
func (v *hotView) press(key rune) (quit bool) {
	if v.typing {
		v.edit(key)
		return false
	}
	switch key {
	case 's':
		v.sort = hotBySelf
	case 't':
		v.sort = hotByTotal
	case 'n':
		v.sort = hotByName
	case 'h':
		v.threads = !v.threads
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

// methods are those of a table that pass the filter, in order. What ran nothing
// by itself is left out where self time is what counts.
func (v *hotView) methods(t *hotspots.Table) []hotspots.Method {
	rows := slices.DeleteFunc(slices.Clone(t.Methods), func(m hotspots.Method) bool {
		return v.sort == hotBySelf && m.Samples == 0 || !v.passes(methodName(m.Method))
	})
	slices.SortStableFunc(rows, hotOrders[v.sort])
	return rows
}

// running are the threads of a table that pass the filter. Those that only wait
// are left out.
func (v *hotView) running(t *hotspots.Table) []hotspots.Thread {
	rows := slices.DeleteFunc(slices.Clone(t.Threads), func(th hotspots.Thread) bool {
		return th.Samples == 0 || !v.passes(th.Name)
	})
	if v.sort == hotByName {
		slices.SortStableFunc(rows, func(a, b hotspots.Thread) int { return strings.Compare(a.Name, b.Name) })
	}
	return rows
}
