package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A round is one class retransformed once, seen from both sides.
type round struct {
	JDK     string
	Program int    // of this JDK
	Round   int    // of this program
	Class   string // "" where none was
	Call    time.Duration
	Batch   cost.Cost // from just before to just after the call
	Loss    cost.Loss
	Dip     dip
}

// measure runs one program through its rounds and tells each as it ends.
func measure(ctx context.Context, jdk jvmtest.JDK, o options, classes []string, tell func(round)) ([]round, error) {
	p, err := startProgram(jdk, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	conn, err := attach.Open(ctx, p.process.Process.Pid)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	meter := cost.Watch(conn.JVM())
	defer meter.Close()
	if err := pause(ctx, o.warm); err != nil {
		return nil, err
	}
	var rounds []round
	for i, class := range classes {
		r := round{JDK: jdk.Version, Round: i, Class: class}
		if err := r.measure(ctx, p, conn, meter, o); err != nil {
			return nil, fmt.Errorf("round %d: %w", i, err)
		}
		rounds = append(rounds, r)
		tell(r)
	}
	return rounds, nil
}

func (r *round) measure(ctx context.Context, p *program, conn *attach.Conn, meter *cost.Meter, o options) error {
	if err := quiesce(ctx, meter); err != nil {
		return err
	}
	if _, err := p.ask("mark"); err != nil {
		return err
	}
	const before, every = 2 * time.Second, 100 * time.Millisecond
	baseline, start, err := cost.Observe(ctx, meter, before, every)
	if err != nil {
		return err
	}
	words, err := p.ask("now")
	if err != nil {
		return err
	}
	from, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil {
		return err
	}
	if r.Class != nothing {
		if err := conn.LoadAgent(ctx, p.agent(), r.Class); err != nil {
			return err
		}
		if r.Call, err = callTime(p); err != nil {
			return err
		}
	}
	end, err := meter.Read()
	if err != nil {
		return err
	}
	r.Batch = start.Until(end)
	if r.Loss, err = cost.Settle(ctx, meter, start, baseline, cost.Rule{Bound: patience}); err != nil {
		return err
	}
	const after = 2 * time.Second
	meanwhile := max(o.follow, r.Loss.Unsettled)
	if err := pause(ctx, meanwhile+after-time.Since(start.At)); err != nil {
		return err
	}
	if words, err = p.ask("notes"); err != nil {
		return err
	}
	notes, err := parseNotes(words)
	if err != nil {
		return err
	}
	r.Dip, err = dipOf(notes, time.Duration(from), time.Duration(from)+meanwhile)
	return err
}

// patience bounds the wait for compilers on a machine that is busy elsewhere.
const patience = time.Minute

// quiesce waits until the program's code is compiled: a round that begins while
// the compilers still work has nothing to compare with.
func quiesce(ctx context.Context, meter *cost.Meter) error {
	now, err := meter.Read()
	if err != nil {
		return err
	}
	loss, err := cost.Settle(ctx, meter, now, cost.Idle, cost.Rule{Bound: patience})
	if err == nil && !loss.Settled {
		err = fmt.Errorf("its compilers did not come to rest within %v: the machine is too busy, or --copies too many", patience)
	}
	return err
}

// callTime is how long the agent's call took, by its own account.
func callTime(p *program) (time.Duration, error) {
	words, err := p.await("retransformed")
	if err != nil {
		return 0, err
	}
	var times [2]int64
	for i := range times {
		if times[i], err = strconv.ParseInt(words[len(words)-2+i], 10, 64); err != nil {
			return 0, err
		}
	}
	return time.Duration(times[1] - times[0]), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(max(d, 0)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
