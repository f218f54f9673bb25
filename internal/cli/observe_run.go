package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// run observes, writes what is proposed, and tries it where that is asked for.
func (c *observing) run(ctx context.Context) error {
	if len(c.inputs) > 0 {
		p, err := suggest.ReadArchives(ctx, c.inputs, c.Most)
		if err != nil {
			return err
		}
		return c.write(p, nil)
	}
	if _, err := inspect(c.PID); err != nil {
		return err
	}
	defer outliveReader()()
	view := newObserveView(c)
	c.Notice, c.Progress, c.Waiting = view.remark, view.progress, view.waiting
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	p, t, err := c.observe(ctx)
	endCache()
	view.close()
	if p == nil {
		return interruptedBefore(ctx, "there was anything to propose", err)
	}
	return errors.Join(c.write(p, t), err)
}

// observe looks at the JVM, and tries what is proposed where that is asked for. What was
// found is given also where trying it failed.
func (c *observing) observe(ctx context.Context) (*suggest.Proposal, *suggest.Trial, error) {
	p, err := c.look(ctx, c.Options)
	if err != nil || !c.apply {
		return p, nil, err
	}
	t, err := c.try(ctx, c.Options, p)
	if err != nil {
		return p, nil, fmt.Errorf("applying what is proposed: %w", err)
	}
	return p, t, nil
}

// write writes the file of probes, and what people or programs read of it.
func (c *observing) write(p *suggest.Proposal, t *suggest.Trial) error {
	isFile := c.output != "" && c.output != standardOutput
	if isFile {
		if err := os.WriteFile(c.output, p.YAML(), 0o644); err != nil {
			return outputError(c.output, err)
		}
	}
	if c.json {
		return writeJSON(c.out, describeProposal(p, t))
	}
	to, width := c.out, c.outWidth()
	if !isFile && !c.apply || c.output == standardOutput {
		to, width = c.err, c.width
		if _, err := c.out.Write(p.YAML()); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	writeProposal(out, p, width)
	if t != nil {
		c.writeTrial(out, p, t, width)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if isFile {
		_, err := fmt.Fprintf(c.err, "wrote %s: %s\n", printable(c.output), count(len(p.Lines()), "probe", "probes"))
		return err
	}
	return nil
}

// writeTrial tells what the probes cost and covered.
func (c *observing) writeTrial(w io.Writer, p *suggest.Proposal, t *suggest.Trial, width int) {
	_, _ = fmt.Fprintln(w)
	rows := runningRows(t.Results, p.Set())
	for i := range rows {
		rows[i].PerSecond = float64(rows[i].Calls) / t.Applied.Seconds()
	}
	writeTable(w, applyColumns, runningTexts(rows), width)
	_, _ = fmt.Fprintln(w)
	for _, line := range trialLines(p, t) {
		_, _ = fmt.Fprintln(w, line)
	}
}
