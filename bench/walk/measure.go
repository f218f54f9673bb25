package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A figure is what one course showed.
type figure struct {
	course *course
	speeds []float64     // between batches, against when it is left alone; by window
	lost   time.Duration // processor time that brought nothing, to batches
	all    time.Duration // the same over the whole course, whatever it was lost to
	done   float64       // operations meanwhile
}

// A result is what one program on one JDK showed.
type result struct {
	jdk, program string
	alone        []float64 // speeds in windows in which nobody touched it
	walked, all  []figure
}

// A turn is a program's way through all phases.
type turn struct {
	*pair
	options options
	result  *result
	before  span // when it was last left alone
}

// measure has one program walked and instrumented in turn.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, o options) (*result, error) {
	p, err := startPair(ctx, jdk, s, classes)
	if err != nil {
		return nil, err
	}
	defer p.close()
	t := &turn{pair: p, options: o, result: &result{jdk: jdk.Version, program: s.name}}
	if err := p.run(ctx, o.warm); err != nil {
		return nil, err
	}
	if t.before, err = t.rest(ctx, 0); err != nil {
		return nil, err
	}
	for phase := range o.phases {
		fmt.Fprintf(os.Stderr, "%s JDK %s, %s, phase %d\n", time.Now().Format("15:04:05"), jdk.Version, s.name, phase+1)
		if err := t.phase(ctx); err != nil {
			return t.result, err
		}
	}
	return t.result, nil
}

// phase walks the program, then has hooks in all of it for as long.
func (t *turn) phase(ctx context.Context) error {
	pid := t.touched.PID()
	walk, err := walked(ctx, pid, t.options.stay)
	if err != nil {
		return err
	}
	if err := t.account(ctx, walk, &t.result.walked); err != nil {
		return err
	}
	track, err := t.seen()
	if err != nil {
		return err
	}
	all, err := instrumented(ctx, pid, walk.classes, func() error { return t.run(ctx, track.used(walk.span)) })
	if err != nil {
		return err
	}
	return t.account(ctx, all, &t.result.all)
}

// rest leaves the program alone, and tells when it was, after it has settled.
func (t *turn) rest(ctx context.Context, settle time.Duration) (span, error) {
	if err := t.run(ctx, settle); err != nil {
		return span{}, err
	}
	since := time.Now()
	err := t.run(ctx, t.options.rest)
	return span{since, time.Now()}, err
}

// account leaves the program alone after a course, and compares.
func (t *turn) account(ctx context.Context, c *course, into *[]figure) error {
	after, err := t.rest(ctx, t.options.settle)
	if err != nil {
		return err
	}
	track, err := t.seen()
	if err != nil {
		return err
	}
	f, plain, err := track.figure(c, t.before, after, t.options.settle)
	if err != nil {
		return err
	}
	*into = append(*into, f)
	if t.options.timeline {
		track.printTimeline(os.Stderr, c, plain)
	}
	for _, share := range track.shares(after) {
		t.result.alone = append(t.result.alone, share/plain)
	}
	t.before = after
	return nil
}

var errNoWindows = errors.New("there are no windows to compare: let it rest or stay longer")

// figure compares a course with the times before and after it, in which the program
// was left alone.
func (t track) figure(c *course, before, after span, settle time.Duration) (f figure, plain float64, err error) {
	// What they differ by when both are alone may drift: the mean holds in between.
	plain = (spread.Median(t.shares(before)) + spread.Median(t.shares(after))) / 2
	var disturbed, settling []span
	for _, d := range c.disturbed {
		settled := t.after(d.span.until, settle)
		disturbed = append(disturbed, span{d.span.from, settled})
		if d.hooked {
			settling = append(settling, span{d.span.until, settled})
		}
	}
	between := t.shares(c.span.without(union(disturbed))...)
	if math.IsNaN(plain) || len(between) == 0 {
		return figure{}, 0, errNoWindows
	}
	f.course = c
	for _, share := range between {
		f.speeds = append(f.speeds, share/plain)
	}
	for _, s := range union(disturbed) {
		for _, part := range s.without(settling) {
			f.lost += t.lost(part, plain)
		}
	}
	for _, s := range settling {
		f.lost += t.lost(s, spread.Median(between))
	}
	f.all = t.lost(span{c.span.from, t.after(c.span.until, settle)}, plain)
	if part := t.within(c.span); len(part) > 1 {
		f.done = part[len(part)-1].touched.done - part[0].touched.done
	}
	return f, plain, nil
}
