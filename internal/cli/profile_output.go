package cli

import (
	"bufio"
	"errors"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report"
)

// write writes the result to where it was asked for.
func (c *profiling) write(p *cct.Profile) error {
	tell, failed := c.writeOutputs(c.outputs, func(path string) error { return report.WriteFile(path, p) })
	defer tell()
	to, width := c.out, c.outWidth()
	if c.start {
		to, width = c.err, c.width // standard output is the program's
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, report.Write(out, report.JSON, p))
	} else {
		failed = errors.Join(failed, report.WriteTextTop(out, p, width, c.top))
	}
	return errors.Join(failed, out.Flush())
}
