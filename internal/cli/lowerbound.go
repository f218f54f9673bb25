package cli

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

// lowerBoundNote explains the mark of counts that may lack calls.
const lowerBoundNote = "≥: " + session.WhyLowerBound

// lowerBoundJSON says of calls that there may have been more, and why.
type lowerBoundJSON struct {
	LowerBound bool   `json:"lowerBound,omitempty"`
	Why        string `json:"lowerBoundReason,omitempty"`
}

func describeLowerBound(isLowerBound bool) lowerBoundJSON {
	if !isLowerBound {
		return lowerBoundJSON{}
	}
	return lowerBoundJSON{true, session.WhyLowerBound}
}

// callsText is a number of calls.
func callsText(calls uint64, isLowerBound bool) string {
	return format.AtLeast(isLowerBound, grouped(int(calls)))
}

// hasLowerBound reports whether the calls of any row are a lower bound.
func hasLowerBound(rows []methodRow) bool {
	for i := range rows {
		if rows[i].LowerBound {
			return true
		}
	}
	return false
}

// idleLines name what no call was counted of. Whether methods that HotSpot may replace were
// called is not known.
func idleLines(rows []methodRow) (lines []string) {
	const most = 3
	idle, unsure, overloads := 0, []string(nil), overloadsOf(rows)
	for i := range rows {
		switch row := &rows[i]; {
		case row.Calls > 0:
		case row.LowerBound:
			unsure = append(unsure, row.shown(overloads))
		default:
			idle++
		}
	}
	if idle > 0 {
		lines = append(lines, count(idle, "method with a hook was", "methods with hooks were")+" not called")
	}
	if len(unsure) > 0 {
		named := strings.Join(unsure[:min(most, len(unsure))], ", ")
		if len(unsure) > most {
			named += ", …"
		}
		lines = append(lines, fmt.Sprintf("no call was counted of %s (%s), which HotSpot may have replaced: ≥ 0",
			count(len(unsure), "method", "methods"), printable(named)))
	}
	return lines
}
