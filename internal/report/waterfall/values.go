package waterfall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// shownValues is how many different values of one expression a folded row tells.
const shownValues = 3

// valueTexts are the values of a row's calls, a line for each expression.
func valueTexts(r *row) []string {
	type key struct {
		atExit bool
		index  int
	}
	var order []key
	texts := map[key][]string{}
	names := map[key]string{}
	for _, c := range r.calls {
		for _, v := range c.Values {
			k := key{v.AtExit, v.Index}
			if _, known := names[k]; !known {
				order = append(order, k)
				names[k] = format.Line(v.Expression)
			}
			if text := valueText(v); !slices.Contains(texts[k], text) {
				texts[k] = append(texts[k], text)
			}
		}
	}
	var lines []string
	for _, k := range order {
		told := texts[k]
		rest := ""
		if len(told) > shownValues {
			rest = fmt.Sprintf(", … %s more", format.Grouped(uint64(len(told)-shownValues)))
			told = told[:shownValues]
		}
		lines = append(lines, names[k]+" = "+strings.Join(told, ", ")+rest)
	}
	return lines
}

// valueText is a value as a terminal may show it.
func valueText(v trace.Value) string {
	switch {
	case v.Redacted && v.Text == "":
		return trace.Mask
	case v.Failed:
		return "(failed)"
	case v.Null:
		return "null"
	case v.Cut:
		return format.Line(v.Text) + "…"
	}
	return format.Line(v.Text)
}
