package monitor

import (
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// Figure returns the figure of a row that a bound is about, and whether the bound holds. Times of rows without timed calls, and
// the part of errors in rows without calls, are not known; then it does not hold.
func Figure(b *probeset.Bound, r *Row) (figure string, holds, isKnown bool) {
	var value float64
	switch b.Quantity {
	case "p", "mean", "max":
		if r.Timed == 0 || b.Quantity == "p" && r.Placed == 0 {
			return "", false, false
		}
		value = map[string]float64{"mean": r.Mean, "max": r.Max}[b.Quantity]
		if b.Quantity == "p" {
			value = r.at(b.Quantile)
		}
		figure = format.Nanos(value)
	case "running":
		value, figure = float64(r.Oldest), format.Duration(r.Oldest)
	case "errors":
		value, figure = float64(r.Errors), format.Grouped(r.Errors)
		if b.IsShare {
			if r.Calls == 0 {
				return "", false, false
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
	case value == b.Limit:
		return figure, b.Equal, true
	case b.Less:
		return figure, value < b.Limit, true
	}
	return figure, value > b.Limit, true
}
