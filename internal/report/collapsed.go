package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// writeCollapsed writes a line for each calling context that has a time of its own:
// the calls that lead to it, and nanoseconds.
func writeCollapsed(w io.Writer, p *cct.Profile) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	frames := names(p.Methods)
	for i := range frames {
		frames[i] = strings.ReplaceAll(frames[i], ";", ":") // it parts frames
	}
	var walk func(n *cct.Node, path string)
	walk = func(n *cct.Node, path string) {
		for _, c := range n.Children {
			here := frames[c.Method]
			if path != "" {
				here = path + ";" + here
			}
			if nanos := math.Round(c.Self.Nanos); nanos > 0 {
				_, _ = fmt.Fprintf(out, "%s %.0f\n", here, nanos)
			}
			walk(c, here)
		}
	}
	walk(p.Merged, "")
	return out.Flush()
}
