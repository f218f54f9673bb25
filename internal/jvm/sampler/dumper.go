package sampler

import (
	"context"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

const (
	// DefaultSpacing is how far apart thread dumps are, or farther.
	DefaultSpacing = 100 * time.Millisecond
	// dumpPart is the part of the time that dumps may take: one that takes 10 ms
	// is followed by 190 ms without. All threads stand while a dump is made.
	dumpPart = 20
)

// A dumper takes thread dumps, one after the other, until it is closed.
type dumper struct {
	jvm    jvm
	every  time.Duration
	reader *dumpReader
	cancel context.CancelFunc
	ended  chan struct{}

	lock    sync.Mutex
	samples []jfr.Sample
	dumps   int
	spacing time.Duration
	failed  error
}

// startDumper takes the first dump at once, so that a JVM that takes none is told
// apart.
func startDumper(ctx context.Context, j jvm, every time.Duration, waiting bool) (*dumper, error) {
	d := &dumper{jvm: j, every: every, reader: newDumpReader(waiting), ended: make(chan struct{}), spacing: every}
	pause, err := d.dump(ctx)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	go d.run(running, pause)
	return d, nil
}

func (d *dumper) run(ctx context.Context, pause time.Duration) {
	defer close(d.ended)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		pause, err := d.dump(ctx)
		if err != nil {
			d.lock.Lock()
			d.failed = err
			d.lock.Unlock()
			return
		}
		timer.Reset(pause)
	}
}

// dump takes one and returns how long to leave the JVM alone.
func (d *dumper) dump(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	began := time.Now()
	reply, err := d.jvm.Execute(ctx, "threaddump")
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	if reply.Code != 0 {
		return 0, &Error{d.jvm.JVM().PID, ErrRefused, firstLine(reply.Text)}
	}
	samples := d.reader.read(reply.Text, began)
	pause := max(d.every-took, (dumpPart-1)*took)
	d.lock.Lock()
	defer d.lock.Unlock()
	d.samples = append(d.samples, samples...)
	d.dumps++
	// Each dump stands for the time until the next.
	d.spacing += (took + pause - d.spacing) / time.Duration(min(d.dumps, 10))
	return pause, nil
}

// take returns the samples since the last call, and how far apart dumps are.
func (d *dumper) take() (samples []jfr.Sample, spacing time.Duration, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	samples, d.samples = d.samples, nil
	return samples, d.spacing, d.failed
}

// close waits until no dump is under way.
func (d *dumper) close() {
	d.cancel()
	<-d.ended
}
