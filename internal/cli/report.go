package cli

import (
	"bufio"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/results"
)

// A reporting is a `sonde report` command line.
type reporting struct {
	streams
	pack string
	sort string
	top  int
	json bool
}

const (
	usualReportTop  = 30
	usualReportSort = "total"
)

func newReport(s streams) *cobra.Command {
	c := &reporting{streams: s}
	command := &cobra.Command{
		Use:     "report ARENA|PID",
		Short:   "Tell what a pack has measured, also when the JVM has ended",
		Long:    reportLong,
		Example: reportExamples,
		Args:    exactly("ARENA|PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.json && !cmd.Flags().Changed("top") {
				c.top = 0
			}
			if err := c.check(); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` that the program was started with: it has the names of probes and tags")
	flags.StringVar(&c.sort, "sort", usualReportSort, "calls, total, self, mean, max, threw or name")
	flags.IntVar(&c.top, "top", usualReportTop, "show so many rows of a table; 0 for all, as with --json")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

func (c *reporting) check() error {
	switch {
	case reportOrders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(reportOrders)), ", "))
	case c.top < 0:
		return usage("--top must not be negative")
	}
	return nil
}

// run tells what a file, or where it is a number a process, has.
func (c *reporting) run(ctx context.Context, of string) error {
	h, err := c.find(ctx, of)
	if err != nil {
		return err
	}
	defer h.Close()
	return c.write(h)
}

func (c *reporting) find(ctx context.Context, of string) (*results.Harvest, error) {
	if strings.Trim(of, "0123456789") != "" { // a file of a number's name is ./4711
		h, err := results.Open(ctx, of, c.pack)
		return h, fileRemedy(err, of)
	}
	pid, err := strconv.Atoi(of)
	if err != nil || pid <= 0 {
		return nil, usage("%q is no process number, and no arena's path", of)
	}
	h, err := results.OfProcess(ctx, pid, c.pack)
	return h, insideRemedy(err, pid, c.pack)
}

// write writes the report.
func (c *reporting) write(h *results.Harvest) error {
	r, err := newReported(h, c.sort)
	if err != nil {
		return err
	}
	if c.json {
		return writeJSON(c.out, r.describe(c.top))
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	r.writeHead(out)
	r.writeTables(out, c.top, c.outWidth())
	r.writeFoot(out)
	return out.Flush()
}
