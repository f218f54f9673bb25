package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report"
)

// run walks, shows how that goes, and writes what was found.
func (c *walking) run(ctx context.Context) error {
	defer outliveReader()()
	view := newWalkView(c)
	c.Notice, c.Progress, c.Waiting = view.remark, view.progress, view.waiting
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	result, err := c.climb(ctx, c.Options)
	endCache()
	view.close()
	if result == nil {
		return interruption(ctx, err)
	}
	if len(result.Spots) == 0 {
		return errors.Join(c.coldError(ctx, result), err)
	}
	return errors.Join(c.write(result), err)
}

// coldError says why there is nothing to show.
func (c *walking) coldError(ctx context.Context, result *climb.Climb) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before a hot spot was found: no hook was put in, nothing is left behind")
	case result.Sampled.Samples == 0:
		return fmt.Errorf("no thread of process %d ran while %s were sampled: walk while it works, or longer with --sampling", c.PID, durationText(c.Sampling))
	}
	return fmt.Errorf("no hot spot among %s: sample longer with --sampling", count(result.Sampled.Samples, "sample", "samples"))
}

// write writes the result to where it was asked for.
func (c *walking) write(result *climb.Climb) error {
	tell, failed := c.writeOutputs(c.outputs, func(path string) error { return report.WriteClimbFile(path, result) })
	defer tell()
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, report.WriteClimb(out, report.JSON, result))
	} else {
		failed = errors.Join(failed, report.WriteClimbText(out, result, c.outWidth()))
	}
	return errors.Join(failed, out.Flush())
}
