package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
)

func (c *profiling) run(ctx context.Context) error {
	// A program that sonde run --hold keeps from beginning begins now.
	return c.measure(ctx, func() error {
		jvm, err := inspect(c.PID)
		if err == nil {
			_, err = targetfs.LetGo(jvm)
		}
		return err
	})
}

// measure profiles a JVM and writes what came of it. begin is called when nothing
// of the root can be missed any more.
func (c *profiling) measure(ctx context.Context, begin func() error) error {
	defer outliveReader()()
	view := newProfileView(c)
	c.Notice, c.Progress, c.Unmatched, c.Waiting = view.remark, view.progress, view.unmatched, view.waiting
	c.Started = func() {
		if err := begin(); err != nil {
			view.remark(oneLine(err))
		}
	}
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	result, err := profile.Run(ctx, c.Options)
	endCache()
	view.close()
	if result == nil {
		return interruption(ctx, err)
	}
	if problem := c.uncalled(result, view.last); problem != nil {
		return errors.Join(problem, err)
	}
	return errors.Join(c.write(result), err)
}

// uncalled says why there is nothing to show, where that is so.
func (c *profiling) uncalled(p *cct.Profile, last profile.Progress) error {
	if len(p.Merged.Children) > 0 {
		return nil
	}
	roots, took := strings.Join(c.Roots, ", "), durationText(p.Took.Round(time.Millisecond))
	for _, left := range p.LeftAlone {
		if c.isRoot(left) {
			return fmt.Errorf("%s has no hook, as %s: nothing was measured", leftName(session.LeftAlone(left)), left.Reason)
		}
	}
	if last.Hooks == 0 {
		return fmt.Errorf("no method that matches %s was loaded within %s: nothing was measured; check the pattern, or measure while it runs", roots, took)
	}
	for _, note := range p.Notes {
		if strings.HasSuffix(note, session.WhyLowerBound) {
			return fmt.Errorf("no call of %s was counted within %s; %s: take the method that calls it as root", roots, took, session.WhyLowerBound)
		}
	}
	return fmt.Errorf("%s was not called within %s: measure longer, or while it is used (calls that began before are not seen: take a method below as root)", roots, took)
}

// isRoot tells whether what was left alone is, or holds, a root.
func (c *profiling) isRoot(left cct.LeftAlone) bool {
	name, descriptor, _ := strings.Cut(left.Method, "(")
	if left.Method == "" {
		return c.roots.MatchClass(left.Class)
	}
	return c.roots.Match(left.Class, name, "("+descriptor)
}
