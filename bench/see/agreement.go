package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// An agreement is how far both profilers agree about one program.
type agreement struct {
	jdk             int
	program         string
	debug           bool // with debug information between safepoints
	event           string
	sonde, async    *profile
	bySelf, byTotal []row
}

type agreements []*agreement

// debugOptions make compilers keep what is inlined where, at all instructions.
var debugOptions = []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}

// The periods differ, so that the profilers do not interrupt each other at the same moment again and again.
const (
	sondePeriod   = 997 * time.Microsecond
	asyncPeriod   = 1013 * time.Microsecond
	asyncWallTime = 10 * time.Millisecond
)

// measure compares the profilers on one JDK.
func (all *agreements) measure(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	var failures []error
	for _, s := range subjects {
		for _, debug := range []bool{true, false} {
			if !isWanted(*programs, s.name) || ctx.Err() != nil {
				continue
			}
			if err := all.sample(ctx, jdk, classes, s, debug); err != nil {
				failures = append(failures, fmt.Errorf("JDK %d, %s: %w", jdk.Major, s.name, err))
			}
		}
	}
	return errors.Join(failures...)
}

// sample compares both in one process: on the processor, and with debug information by the clock, too.
func (all *agreements) sample(ctx context.Context, jdk jvmtest.JDK, classes string, s subject, debug bool) error {
	var options []string
	events := []string{"cpu"}
	if debug {
		options, events = debugOptions, []string{"cpu", "wall"}
	}
	program, err := s.start(jdk, classes, options)
	if err != nil {
		return err
	}
	defer program.Close()
	if err := process.Pause(ctx, *warm); err != nil {
		return err
	}
	async, err := openAsyncProfiler(ctx, program.PID())
	if err != nil {
		return err
	}
	defer async.conn.Close()
	for _, event := range events {
		progress("JDK %d, %s, %s", jdk.Major, s.name, event)
		a := &agreement{jdk: jdk.Major, program: s.name, debug: debug, event: event}
		if err := a.sample(ctx, program.PID(), async); err != nil {
			return err
		}
		*all = append(*all, a)
	}
	return nil
}

func (a *agreement) sample(ctx context.Context, pid int, async *asyncProfiler) (err error) {
	interval := asyncPeriod
	if a.event == "wall" {
		interval = asyncWallTime
	}
	if err := async.start(ctx, a.event, interval); err != nil {
		return err
	}
	s, err := sampler.Start(ctx, pid, sampler.Options{Source: sampler.Kernel, Period: sondePeriod, Waiting: a.event == "wall"})
	if err != nil {
		return err
	}
	waited := process.Pause(ctx, *length)
	batch, err := s.Poll(ctx)
	if err := errors.Join(waited, err, s.Close(ctx)); err != nil {
		return err
	}
	isWall := a.event == "wall" // waiting threads: Sonde has their Java frames only
	a.sonde, a.async = newProfile(isWall), newProfile(isWall)
	if err := async.stop(ctx, a.async); err != nil {
		return err
	}
	a.sonde.addSonde(batch.Samples, batch.Period)
	if a.sonde.samples == 0 || a.async.samples == 0 {
		return fmt.Errorf("there are %d samples of Sonde and %d of async-profiler: sample longer", a.sonde.samples, a.async.samples)
	}
	a.bySelf, a.byTotal = compare(&a.sonde.self, &a.async.self), compare(&a.sonde.total, &a.async.total)
	return nil
}

// name says what was sampled and how.
func (a *agreement) name() string {
	with := "without"
	if a.debug {
		with = "with"
	}
	return fmt.Sprintf("JDK %d, %s, %s, %s debug information", a.jdk, a.program, a.event, with)
}

func (all agreements) report(r *harness.Report) {
	r.Note("## Agreement with async-profiler %s", asyncVersion)
	summary := r.Table("sampled", "samples", "left out", "incomplete stacks", "in threads of the JVM", "agree by self", "agree by total", "largest difference")
	r.Note("%s", agreementLegend)
	for _, a := range all {
		rows := slices.Concat(a.bySelf, a.byTotal)
		var largest float64
		for _, one := range rows {
			largest = max(largest, one.sonde-one.async, one.async-one.sonde)
		}
		both := func(value func(*profile) any) string { return fmt.Sprintf("%v, %v", value(a.sonde), value(a.async)) }
		summary.Row(a.name(), both(func(p *profile) any { return p.samples }), a.sonde.interrupts,
			both(func(p *profile) any { return percent(p.incomplete()) }), both(func(p *profile) any { return percent(p.inJVM()) }),
			agreeing(a.bySelf), agreeing(a.byTotal), percent(largest))
		isMet := !slices.ContainsFunc(rows, func(one row) bool { return !one.isWithinError })
		r.Bar(harness.Judge(isMet), "%s: the twenty hottest methods agree, by self and by total", a.name())
	}
	r.Note("Methods whose shares differ by more than sampling explains, in percent:")
	all.list(r, func(_ *agreement, one row) bool { return !one.isWithinError })
	r.Note("%s", explanation)
	if *listAll {
		r.Note("All of the hottest methods:")
		all.list(r, func(*agreement, row) bool { return true })
	} else if len(all) > 0 {
		first := all[slices.IndexFunc(all, func(a *agreement) bool { return a.jdk == all[len(all)-1].jdk })]
		r.Note("The hottest methods of one run, in percent; -all lists those of all runs:")
		all.list(r, func(a *agreement, _ row) bool { return a == first })
	}
}

func (all agreements) list(r *harness.Report, isShown func(*agreement, row) bool) {
	table := r.Table("sampled", "by", "method", "Sonde", "async-profiler", "difference", "agrees")
	for _, a := range all {
		for _, one := range a.bySelf {
			if isShown(a, one) {
				one.add(table, a.name(), "self")
			}
		}
		for _, one := range a.byTotal {
			if isShown(a, one) {
				one.add(table, a.name(), "total")
			}
		}
	}
}

func (one row) add(table *harness.Table, name, by string) {
	agrees := "no"
	if one.isWithinError {
		agrees = "yes"
	}
	method, _, isMethod := strings.Cut(strings.ReplaceAll(one.method, "/", "."), "(")
	if !isMethod || method == "" {
		method = one.method
	}
	table.Row(name, by, method, fmt.Sprintf("%.2f", 100*one.sonde), fmt.Sprintf("%.2f", 100*one.async),
		fmt.Sprintf("%+.2f ± %.2f", 100*(one.sonde-one.async), 100*one.uncertainty), agrees)
}

func agreeing(rows []row) string {
	n := 0
	for _, one := range rows {
		if one.isWithinError {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(rows))
}

func percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

const agreementLegend = `Pairs are of Sonde and async-profiler, which sampled the same process at the same time, each about 1,000 times for a
second of processor time of a thread ("cpu"), or all threads by the clock ("wall": Sonde looks at waiting threads every 0.1 s, async-profiler every
0.01 s at all). Shares are of the samples of the program's own threads with a Java method on the stack. A method agrees if its shares differ by no more
than the error of sampling: two proportions, 95 % for all twenty methods together. The twenty are the hottest in the mean of both. By self: the
innermost frame; code that is not Java counts by its kind, stubs of the JVM count for the method that calls them, and with "wall" only Java frames
count. By total: anywhere on the stack; only stacks that reach the first method of their thread count, the others are "incomplete". Left out:
samples of Sonde that interrupted async-profiler, or the kernel in sending its signals. Debug information: -XX:+DebugNonSafepoints, with
which the JVM knows for each instruction, not only at safepoints, which inlined method it belongs to.`

// explanation has what follows from the code of both, whatever a run shows.
const explanation = `Reasons for differences. (1) Neighbouring inlined methods: the compilers describe a range of instructions by its end, so
the JVM and Sonde take the first description after an instruction. async-profiler takes one at the instruction, which is that of the range before. With its
option features=agct (-async ,features=agct), by which the JVM walks the stacks, such methods agree: TransactionStore.getOperationId of H2 on JDK 17 had 0.42 % and 0.44 %, without it
0.96 % and 0.34 %. (2) Threads that are ready but wait for a processor: with "wall", async-profiler counts them where they stopped, and Sonde does not
count them. (3) Threads of the JVM: both count their processor time; with "wall", async-profiler also counts them while they wait.
(4) The kernel: Sonde also sees the end of timer interrupts that async-profiler causes. (5) Attaching async-profiler turns on debug information for all
that is compiled later.`
