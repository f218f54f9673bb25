package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/waterfall"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const endedLimit = "limit"

const (
	// readEvery is often enough that a ring of the usual size holds what a thread
	// traces in between, some 100,000 calls a second: more is not worth what it costs.
	readEvery = 20 * time.Millisecond
	// readsAtOnce is how often rings are read again at once where there is something:
	// busy threads have filled them meanwhile.
	readsAtOnce = 3
	// settleTime is what other threads have, when a transaction has ended, to end what
	// they do for it before it is shown. What comes later is in the end's reports.
	settleTime = 500 * time.Millisecond
	// ringBytes is what a thread's ring holds, some 2,700 calls; lateRingBytes where all
	// calls of a transaction are in it until its end has decided.
	ringBytes     = 128 << 10
	lateRingBytes = 256 << 10
)

// A traceRun is a `sonde trace` at work.
type traceRun struct {
	*tracing
	visit
	ringReader
	names    *watchNames
	redact   *trace.Redactor
	terminal waterfall.Terminal
	kept     []*trace.Transaction
	beyond   uint64
	settling settling
	looked   cost.Reading // of the compilers, the last while the program settles
	early    uint64       // transactions that began before it had settled
	sum      ringSum
	told     bool // the list has its title
	drawn    time.Time
}

func (c *tracing) run(ctx context.Context) error {
	defer outliveReader()()
	r := &traceRun{
		tracing: c, redact: trace.NewRedactor(c.allow), terminal: c.terminal(),
		visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}},
	}
	if err := r.enter(ctx, "trace", arena.On|arena.Timed, 0); err != nil {
		return err
	}
	s := r.visit.session
	defer func() { _ = s.Release() }()
	r.ringReader.session = s
	r.names = &watchNames{names: r.watching.Watch}
	if err := s.SetRings(c.ringBytes(), uint32(c.levels)); err != nil {
		return r.abandon(ctx, err)
	}
	options := trace.Options{
		Names: r.names, Redact: r.redact, Clock: trace.Clock{Wall: time.Now(), Nanos: uint64(s.Now())},
	}
	if c.wanted.HandOff {
		options.Settle = settleTime
	}
	r.assembler = trace.NewAssembler(options)
	r.tellTraced()
	r.measureCost(ctx)
	if r.settling.ended = !c.keepsSlow(); !r.settling.ended {
		reading, err := s.Read()
		if err != nil {
			return r.abandon(ctx, err)
		}
		r.looked = reading
		r.screen.say("no call is kept until the JVM has compiled again what has hooks now, as calls are slow until then")
	}
	return r.finish(ctx, r.watch(ctx))
}

func (c *tracing) ringBytes() uint32 {
	if c.slowerThan > 0 {
		return lateRingBytes
	}
	return ringBytes
}

// terminal is what the list and waterfalls are written for.
func (c *tracing) terminal() waterfall.Terminal {
	width := c.outWidth()
	return waterfall.Terminal{Width: width, Colours: hasColours(width)}
}

// tellTraced says how much below the methods is traced.
func (r *traceRun) tellTraced() {
	for _, p := range r.watching.report.Probes {
		if p.Traced > 0 {
			text := fmt.Sprintf("%s below traced as well, %s deep", count(p.Traced, "method", "methods"), count(r.levels, "level", "levels"))
			if p.Untraced > 0 {
				text += fmt.Sprintf("; %s more are not, the farthest: fewer --levels trace the nearest whole", grouped(p.Untraced))
			}
			r.screen.say("%s", text)
		}
		for _, capture := range p.Redacted {
			r.screen.say("note: --capture %s sounds like a secret and is not read: --allow NAME shows it", printable(capture))
		}
	}
}

// measureCost learns what hooks take of each call. It is done when they have just gone
// in, and again at the end, when a JVM has compiled what they made new.
func (r *traceRun) measureCost(ctx context.Context) {
	r.cost.measure(ctx)
	inner, err := r.visit.session.ClockCost(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.remark("what the clock costs could not be measured, so times hold it: " + oneLine(err))
		}
		return
	}
	cost := trace.Cost{Inner: inner}
	if all := r.cost.get(); all != nil {
		cost.Outer = max(0, all.Median-inner)
	}
	r.assembler.SetCost(cost)
}

// watch shows transactions as they end. It tells why it ended.
func (r *traceRun) watch(ctx context.Context) string {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return endedInterrupted
		case <-r.visit.session.Done():
			return r.endedBy()
		case <-ticker.C:
			if r.duration > 0 && r.settling.ended && time.Since(r.began) >= r.duration {
				return endedDuration
			}
			r.lookAtCompilers()
			if err := r.step(); errors.Is(err, syscall.EPIPE) {
				return endedUnread
			}
			if len(r.kept) == r.limit {
				r.switchOff(ctx)
				return endedLimit
			}
		}
	}
}

// step reads what is there, and shows what has become whole.
func (r *traceRun) step() error {
	for range readsAtOnce {
		isMore, err := r.read()
		if err != nil {
			return nil //nolint:nilerr // the end will say it
		}
		if !isMore {
			break
		}
	}
	err := r.keep(r.assembler.Take(uint64(r.visit.session.Now())))
	r.drawProgress()
	return err
}

// keep takes transactions as far as they are wanted.
func (r *traceRun) keep(taken []*trace.Transaction) error {
	if len(taken) == 0 {
		return nil
	}
	r.names.refresh()
	for _, t := range taken {
		if r.isDisturbed(t) {
			r.early++
			continue
		}
		if len(r.kept) == r.limit {
			r.beyond++
			continue
		}
		t.Resolve(r.names, r.redact)
		r.kept = append(r.kept, t)
		if err := r.tell(t); err != nil {
			return err
		}
	}
	return nil
}

// switchOff ends tracing by a flag, before the hooks are taken out.
func (r *traceRun) switchOff(ctx context.Context) {
	if err := r.watching.SetLevel(ctx, probeName, probeset.Count); err != nil && ctx.Err() == nil {
		r.remark(oneLine(err))
	}
}
