package suggest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	// period is half the recorder's default, as an observation is short and shares come
	// from counts.
	period    = 10 * time.Millisecond
	pollEvery = 250 * time.Millisecond
	// dumpEvery is the time between two looks at waiting threads.
	dumpEvery = 250 * time.Millisecond
	// late is how long to wait for samples at the end: the JVM writes them once a second.
	late = 1500 * time.Millisecond
	// unbounded is a window's length that no observation reaches.
	unbounded = 24 * time.Hour
)

// A look takes samples of a JVM for some time.
type look struct {
	sampler  *sampler.Sampler
	dumps    *sampler.Sampler // nil if waiting threads are not looked at
	window   *hotspots.Window
	meter    *cost.Meter
	first    cost.Reading
	notice   func(string)
	began    time.Time
	deadline time.Time // later samples do not count; zero until over

	table    *hotspots.Table
	paths    []hotspots.Path
	inlining inlining
	queue    *queue
	use      float64 // processors that the program used
	took     time.Duration
	bias     string
}

func (o *Options) watch(ctx context.Context, waits bool) (l *look, err error) {
	l = &look{window: hotspots.NewWindow(unbounded), inlining: make(inlining), queue: newQueue(), notice: o.notice}
	options := sampler.Options{Source: o.Source}
	if o.Source != sampler.ThreadDumps {
		options.Period = period
	}
	if l.sampler, err = sampler.Start(ctx, o.PID, options); err != nil {
		return nil, err
	}
	l.bias = l.sampler.Bias()
	if waits {
		// Nothing else shows waiting threads; if it fails, the rest goes on.
		l.dumps, err = sampler.Start(ctx, o.PID, sampler.Options{Source: sampler.ThreadDumps, Waiting: true, Period: dumpEvery})
		if err != nil {
			l.notice("waiting threads could not be found: " + err.Error())
		}
	}
	l.began = time.Now()
	l.meter = cost.Watch(l.sampler.JVM())
	if l.first, err = l.meter.Read(); err != nil {
		_ = l.close(ctx)
		return nil, err
	}
	return l, nil
}

func (l *look) poll(ctx context.Context) error {
	batch, err := l.sampler.Poll(ctx)
	for _, note := range batch.Notes {
		l.notice(note)
	}
	samples := batch.Samples[:0]
	for _, s := range hotspots.WithoutHooks(batch.Samples) {
		if isOfProgram(s) && !s.At.Before(l.began) && (l.deadline.IsZero() || !s.At.After(l.deadline)) {
			samples = append(samples, s)
			l.inlining.add(s)
		}
	}
	l.window.Add(batch.At, samples, batch.Period, batch.Times)
	if l.dumps != nil {
		waiting, failed := l.dumps.Poll(ctx)
		if failed == nil {
			l.queue.take(waiting)
		}
	}
	return err
}

// follow takes samples for a time, and waits for late ones.
func (l *look) follow(ctx context.Context, long time.Duration, ended <-chan struct{}) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	until := time.Now().Add(long)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return session.ErrEnded
		case <-ticker.C:
		}
		if now := time.Now(); now.After(until) && l.deadline.IsZero() {
			if err := l.over(); err != nil {
				return err
			}
		}
		if err := l.poll(ctx); err != nil {
			return err
		}
		if !l.deadline.IsZero() && time.Since(l.deadline) >= late {
			l.table = l.window.Table(time.Now())
			l.paths = slices.DeleteFunc(l.table.Stacks(), func(p hotspots.Path) bool { return len(p.Methods) == 0 })
			return nil
		}
	}
}

// over ends the time that counts: later samples do not.
func (l *look) over() error {
	l.deadline = time.Now()
	l.took = l.deadline.Sub(l.began)
	now, err := l.meter.Read()
	if err != nil {
		return err
	}
	since := l.first.Until(now)
	if since.Elapsed > 0 {
		l.use = since.Rest.Seconds() / since.Elapsed.Seconds()
	}
	return nil
}

func (l *look) close(ctx context.Context) (err error) {
	if l.dumps != nil {
		err = l.dumps.Close(ctx)
	}
	l.meter.Close()
	return errors.Join(err, l.sampler.Close(ctx))
}

// above returns the methods that have called the leaf of a path, each once, the innermost
// first.
func above(p *hotspots.Path) []classfile.MethodRef { return unique(p.Methods[1:]) }

// unique returns methods, each once, in their order.
func unique(methods []classfile.MethodRef) (found []classfile.MethodRef) {
	for _, m := range methods {
		if !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	return found
}

func weightOf(paths []hotspots.Path) (whole float64) {
	for i := range paths {
		whole += paths[i].Weight
	}
	return whole
}

// isOfProgram reports whether a sample is of a thread of the program, and not of the JVM or
// Sonde.
func isOfProgram(s jfr.Sample) bool {
	if s.Thread == nil || s.Stack == nil || len(s.Stack.Frames) == 0 || !s.Thread.IsOfProgram() || strings.HasPrefix(s.Thread.Name, "sonde-") {
		return false
	}
	outermost := s.Stack.Frames[len(s.Stack.Frames)-1].Method
	return outermost == nil || !strings.HasPrefix(outermost.Class, "sonde/")
}

// inlining is how often methods were seen, and of those inlined into their callers.
type inlining map[classfile.MethodRef]struct{ seen, inlined int }

func (in inlining) add(s jfr.Sample) {
	for _, frame := range s.Stack.Frames {
		if !frame.IsJava() {
			continue
		}
		m := frame.Method.Ref()
		n := in[m]
		n.seen++
		if frame.Kind == jfr.Inlined {
			n.inlined++
		}
		in[m] = n
	}
}

// isMostly reports whether a method is mostly inlined: a hook would prevent that.
func (in inlining) isMostly(m classfile.MethodRef) bool { return 2*in[m].inlined > in[m].seen }

// Waits are how many threads waited in a method on average, and for what.
type Waits struct {
	Blocked float64 // for a monitor or a lock that another thread holds
	Network float64 // for a socket
	Files   float64
}

func (w Waits) waits() float64 { return w.Blocked + w.Network + w.Files }

// A queue is where thread dumps show waiting threads.
type queue struct {
	dumps int
	waits map[classfile.MethodRef]Waits // sums by the method that calls the JDK to wait; descriptors are not known
}

func newQueue() *queue { return &queue{waits: make(map[classfile.MethodRef]Waits)} }

// Methods of the JDK between the program and a wait.
var (
	lockWaits = []string{
		"java/util/concurrent/locks/ReentrantLock.lock", "java/util/concurrent/locks/ReentrantLock.tryLock", "java/util/concurrent/locks/ReentrantReadWriteLock$",
		"java/util/concurrent/locks/StampedLock.", "java/util/concurrent/Semaphore.acquire", "java/util/concurrent/Semaphore.tryAcquire",
	}
	networkWaits = []string{
		"java/net/Socket", "java/net/SocketInputStream.", "sun/nio/ch/NioSocketImpl.", "sun/nio/ch/SocketChannelImpl.", "sun/nio/ch/DatagramChannelImpl.",
		"sun/nio/ch/SocketDispatcher.", "jdk/internal/net/http/HttpClientImpl.send", "jdk/internal/net/http/HttpClientFacade.send", "sun/nio/ch/Net.poll",
	}
	fileWaits = []string{
		"java/io/FileInputStream.read", "java/io/FileOutputStream.write", "java/io/RandomAccessFile.", "sun/nio/ch/FileChannelImpl.", "sun/nio/ch/FileDispatcherImpl.",
		"java/io/FileDescriptor.sync", "java/io/UnixFileSystem.", "sun/nio/fs/UnixNativeDispatcher.",
	}
	// Threads that accept, or wait for the next event, have nothing to do.
	idleWaits = []string{"sun/nio/ch/NioSocketImpl.accept", "java/net/ServerSocket", "sun/nio/ch/ServerSocketChannelImpl.", "sun/nio/ch/SelectorImpl."}
)

// add takes in a thread of a dump.
func (q *queue) add(s jfr.Sample) {
	var between []string // methods of the JDK below the program's
	var first *classfile.MethodRef
	for _, frame := range s.Stack.Frames {
		if !frame.IsJava() {
			continue
		}
		m := anyOverload(frame.Method.Ref())
		if first == nil && !callgraph.IsJDK(m.Class) && !passesOn(m.Class) && !isOurs(m.Class) {
			first = &m
		}
		if first == nil {
			between = append(between, m.Class+"."+m.Name)
		}
	}
	if first == nil {
		return // an idle thread of a pool
	}
	w := q.waits[*first]
	met := func(prefixes []string) bool {
		return slices.ContainsFunc(between, func(name string) bool { return callgraph.HasPrefix(name, prefixes) })
	}
	switch {
	case s.State == blocked || strings.Contains(s.State, "WAITING") && met(lockWaits):
		w.Blocked++
	case met(idleWaits):
		return
	case met(networkWaits):
		w.Network++
	case met(fileWaits):
		w.Files++
	default:
		return
	}
	q.waits[*first] = w
}

const blocked = "STATE_BLOCKED"

func (q *queue) of(m classfile.MethodRef) Waits {
	w := q.waits[anyOverload(m)]
	if q.dumps > 0 {
		n := float64(q.dumps)
		w.Blocked, w.Network, w.Files = w.Blocked/n, w.Network/n, w.Files/n
	}
	return w
}

// methods returns the methods in which enough threads wait to matter.
func (q *queue) methods() (found []classfile.MethodRef) {
	for m := range q.waits {
		if q.of(m).waits() >= minWait {
			found = append(found, m)
		}
	}
	return found
}

// take adds new dumps. Running threads are in other samples.
func (q *queue) take(batch sampler.Batch) {
	for i, s := range batch.Samples {
		if i == 0 || !s.At.Equal(batch.Samples[i-1].At) { // all threads of a dump have the same time
			q.dumps++
		}
		if isOfProgram(s) {
			q.add(s)
		}
	}
}
