package suggest

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

const (
	// period is how often the recorder looks: twice as often as it does by itself, as an
	// observation is short and shares come from counts.
	period    = 10 * time.Millisecond
	pollEvery = 250 * time.Millisecond
	// dumpEvery is how often threads that wait are looked at.
	dumpEvery = 250 * time.Millisecond
	// late is how long is waited at the end for samples: the JVM writes them once a
	// second.
	late = 1500 * time.Millisecond
	// unbounded is a window's length that no observation reaches.
	unbounded = 24 * time.Hour
)

// A look is what samples say of a JVM in a while.
type look struct {
	table    *hotspots.Table
	paths    []Path
	inlining inlining
	queue    *queue
	use      float64 // processors that the program used
	took     time.Duration
	bias     string
}

// A watcher takes samples.
type watcher struct {
	sampler  *sampler.Sampler
	dumps    *sampler.Sampler // nil where threads that wait are not looked at
	window   *hotspots.Window
	look     *look
	meter    *cost.Meter
	first    cost.Reading
	notice   func(string)
	began    time.Time
	deadline time.Time
}

// watch begins to take samples.
func watch(ctx context.Context, o *Options, waits bool) (*watcher, error) {
	w := &watcher{window: hotspots.NewWindow(unbounded), look: &look{inlining: make(inlining), queue: newQueue()}, notice: o.notice}
	var err error
	options := sampler.Options{Source: o.Source}
	if o.Source != sampler.ThreadDumps {
		options.Period = period
	}
	if w.sampler, err = sampler.Start(ctx, o.PID, options); err != nil {
		return nil, err
	}
	w.look.bias = w.sampler.Bias()
	if waits {
		// That threads wait is told by nothing else; without it the rest goes on.
		w.dumps, err = sampler.Start(ctx, o.PID, sampler.Options{Source: sampler.ThreadDumps, Waiting: true, Period: dumpEvery})
		if err != nil {
			w.notice("which threads wait is not known: " + err.Error())
		}
	}
	w.began = time.Now()
	w.meter = cost.Watch(w.sampler.JVM())
	if w.first, err = w.meter.Read(); err != nil {
		_ = w.close(ctx)
		return nil, err
	}
	return w, nil
}

func (w *watcher) jvm() *process.JVM { return w.sampler.JVM() }

// poll takes in what has come.
func (w *watcher) poll(ctx context.Context) error {
	batch, err := w.sampler.Poll(ctx)
	for _, note := range batch.Notes {
		w.notice(note)
	}
	samples := batch.Samples[:0]
	for _, s := range batch.Samples {
		if isOfProgram(s) && !s.At.Before(w.began) && (w.deadline.IsZero() || !s.At.After(w.deadline)) {
			samples = append(samples, s)
			w.look.inlining.add(s)
		}
	}
	w.window.Add(batch.At, samples, batch.Period, batch.Times)
	if w.dumps != nil {
		waiting, failed := w.dumps.Poll(ctx)
		if failed == nil {
			w.look.queue.take(waiting)
		}
	}
	return err
}

// over ends the time that counts: samples that were taken later do not.
func (w *watcher) over() error {
	w.deadline = time.Now()
	w.look.took = w.deadline.Sub(w.began)
	now, err := w.meter.Read()
	if err != nil {
		return err
	}
	since := w.first.Until(now)
	if since.Elapsed > 0 {
		w.look.use = since.Rest.Seconds() / since.Elapsed.Seconds()
	}
	return nil
}

// result is what was seen.
func (w *watcher) result() *look {
	w.look.table = w.window.Table(time.Now())
	w.look.paths = pathsOf(w.look.table)
	return w.look
}

func (w *watcher) close(ctx context.Context) (err error) {
	if w.dumps != nil {
		err = w.dumps.Close(ctx)
	}
	w.meter.Close()
	return errors.Join(err, w.sampler.Close(ctx))
}
