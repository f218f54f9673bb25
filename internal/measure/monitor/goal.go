package monitor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A Goal is a condition on the figures of a row that should not hold, such as p95 > 200ms.
type Goal struct {
	text     string
	quantity string
	quantile float64 // of a percentile
	less     bool
	equal    bool // the limit itself meets the condition, too
	limit    float64
	isShare  bool // errors are compared as a part of the calls
}

// WantsGoal says how a goal is written.
const WantsGoal = "a condition such as 'p95 > 200ms', 'mean > 1ms', 'max > 5s', 'errors > 1%', 'errors > 0', 'calls < 1', 'rate < 10' or 'stalled > 0'"

var goalText = regexp.MustCompile(`^([a-z]+)([0-9]{1,2}(?:\.[0-9]+)?)?(<=|>=|<|>)([0-9.]+)([a-zµ%]*)$`)

// ParseGoal reads a goal. It reports whether the text is one.
func ParseGoal(text string) (g *Goal, ok bool) {
	parts := goalText.FindStringSubmatch(strings.Join(strings.Fields(text), ""))
	if parts == nil {
		return nil, false
	}
	g = &Goal{text: strings.TrimSpace(text), quantity: parts[1], less: parts[3][0] == '<', equal: len(parts[3]) == 2}
	limit, err := strconv.ParseFloat(parts[4], 64)
	if err != nil {
		return nil, false
	}
	g.limit = limit
	unit := parts[5]
	if g.quantity == "p" {
		percent, err := strconv.ParseFloat(parts[2], 64)
		g.quantile = percent / 100
		if err != nil || percent <= 0 {
			return nil, false
		}
	} else if parts[2] != "" {
		return nil, false
	}
	switch g.quantity {
	case "p", "mean", "max":
		d, err := time.ParseDuration(parts[4] + unit)
		g.limit = float64(d)
		return g, err == nil
	case "errors":
		if unit == "%" {
			g.isShare, g.limit = true, limit/100
			return g, true
		}
		return g, unit == ""
	case "calls", "rate", "stalled":
		return g, unit == ""
	}
	return nil, false
}

func (g *Goal) String() string { return g.text }

// Missed reports whether the condition holds for a row, with the figure as a text. Times of rows without timed calls, and
// errors of rows without calls, meet no condition.
func (g *Goal) Missed(r *Row) (figure string, is bool) {
	var value float64
	switch g.quantity {
	case "p", "mean", "max":
		if r.Timed == 0 || g.quantity == "p" && r.Placed == 0 {
			return "", false
		}
		value = map[string]float64{"mean": r.Mean, "max": r.Max}[g.quantity]
		if g.quantity == "p" {
			value = r.at(g.quantile)
		}
		figure = format.Nanos(value)
	case "errors":
		value, figure = float64(r.Errors), format.Grouped(r.Errors)
		if g.isShare {
			if r.Calls == 0 {
				return "", false
			}
			value /= float64(r.Calls)
			figure = format.Percent(value)
		}
	case "calls":
		value, figure = float64(r.Calls), format.Grouped(r.Calls)
	case "rate":
		value, figure = r.Rate, format.Rate(r.Rate)+" calls/s"
	case "stalled":
		value, figure = float64(r.Stalled), format.Grouped(r.Stalled)
	}
	switch {
	case value == g.limit:
		return figure, g.equal
	case g.less:
		return figure, value < g.limit
	}
	return figure, value > g.limit
}

// Sentence says that a row has missed a goal.
func (g *Goal) Sentence(row, figure string) string {
	name := g.quantity
	if name == "p" {
		name += strconv.FormatFloat(100*g.quantile, 'f', -1, 64)
	}
	return fmt.Sprintf("%s: %s is %s (--fail-if '%s')", row, name, figure, g.text)
}
