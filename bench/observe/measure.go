package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const command = "bench/observe"

// A pair is a program and its twin.
type pair struct{ *twin.Pair[*program] }

// measure has one program observed, and what is proposed applied.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, folder string, o options) (*result, error) {
	start, err := s.prepare(jdk, folder)
	if err != nil {
		return nil, err
	}
	both, err := twin.Start(ctx, func(name string) (*program, error) {
		place, err := placeFor(folder, name)
		if err != nil {
			return nil, err
		}
		return start(place)
	})
	if err != nil {
		return nil, err
	}
	p := pair{both}
	defer p.Close()
	say := func(what string) {
		fmt.Fprintf(os.Stderr, "%s JDK %s, %s: %s\n", time.Now().Format("15:04:05"), jdk.Version, s.name, what)
	}
	say("warming up")
	if _, err := p.Run(ctx, o.warm); err != nil {
		return nil, err
	}
	looking := suggest.Defaults()
	looking.PID, looking.Command, looking.Budget, looking.For = p.Touched.pid(), command, o.budget, o.look
	looking.Progress = func(at suggest.Progress) { say(string(at.Stage)) }
	proposal, err := suggest.Run(ctx, looking)
	if err != nil {
		return nil, err
	}
	r := &result{Program: s.name, Budget: o.budget, Expected: proposal.Cost, ExpectedCoverage: proposal.Coverage, Probes: len(proposal.Choices), YAML: string(proposal.YAML())}
	if err := p.compare(ctx, proposal.Set(), o, r, say); err != nil {
		return nil, err
	}
	trial, err := suggest.Try(ctx, looking, proposal)
	if err != nil {
		return nil, err
	}
	r.Reckoned, r.Coverage, r.Samples, r.Methods, r.CallsPerSecond = trial.Cost, trial.Coverage, trial.Samples, trial.Methods, float64(trial.Calls)/trial.Took.Seconds()
	for _, bare := range trial.Bare {
		r.Bare = append(r.Bare, fmt.Sprintf("%.1f %% below %s", 100*bare.Share, bare.Method))
	}
	return r, nil
}

var errNoWindows = errors.New("there are no windows to compare: let it rest longer with -rest")

// compare has the set applied in turn with leaving the program alone. What both differ by
// when nobody touches them may drift: the mean of before and after holds in between.
func (p pair) compare(ctx context.Context, set *probeset.Set, o options, r *result, say func(string)) error {
	before, err := p.alone(ctx, o)
	if err != nil {
		return err
	}
	for phase := range o.phases {
		say(fmt.Sprintf("probes applied, phase %d", phase+1))
		with, err := p.applied(ctx, set, o)
		if err != nil {
			return err
		}
		after, err := p.alone(ctx, o)
		if err != nil {
			return err
		}
		if len(before) == 0 || len(after) == 0 || len(with) == 0 {
			return errNoWindows
		}
		plain := (spread.Median(before) + spread.Median(after)) / 2
		for _, share := range with {
			r.Speeds = append(r.Speeds, share/plain)
		}
		for _, share := range after {
			r.Alone = append(r.Alone, share/plain)
		}
		before = after
	}
	return nil
}

// alone leaves the program alone, after it has settled.
func (p pair) alone(ctx context.Context, o options) ([]float64, error) {
	if _, err := p.Run(ctx, o.settle); err != nil {
		return nil, err
	}
	rested, err := p.Run(ctx, o.rest)
	if err != nil {
		return nil, err
	}
	track, err := p.Seen()
	return track.Shares(rested), err
}

// applied has the set applied as sonde apply does, without samples.
func (p pair) applied(ctx context.Context, set *probeset.Set, o options) (shares []float64, err error) {
	s, err := session.Open(ctx, p.Touched.pid(), session.Settings{Command: command})
	if err != nil {
		return nil, err
	}
	w := liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads})
	defer func() {
		w.Close()
		_, closing := s.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, closing, s.Release())
	}()
	if _, err := w.Apply(ctx, set); err != nil {
		return nil, err
	}
	return p.alone(ctx, o)
}
