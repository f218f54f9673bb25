package suggest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

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

// A look is what samples show of a JVM in some time.
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
	dumps    *sampler.Sampler // nil if waiting threads are not looked at
	window   *hotspots.Window
	look     *look
	meter    *cost.Meter
	first    cost.Reading
	notice   func(string)
	began    time.Time
	deadline time.Time // later samples do not count; zero until over
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
		// Nothing else shows waiting threads; if it fails, the rest goes on.
		w.dumps, err = sampler.Start(ctx, o.PID, sampler.Options{Source: sampler.ThreadDumps, Waiting: true, Period: dumpEvery})
		if err != nil {
			w.notice("waiting threads could not be found: " + err.Error())
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

// poll takes in new samples.
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

// follow takes samples for a time, and waits for those that come late.
func (w *watcher) follow(ctx context.Context, long time.Duration, ended <-chan struct{}) error {
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
		if now := time.Now(); now.After(until) && w.deadline.IsZero() {
			if err := w.over(); err != nil {
				return err
			}
		}
		if err := w.poll(ctx); err != nil {
			return err
		}
		if !w.deadline.IsZero() && time.Since(w.deadline) >= late {
			return nil
		}
	}
}

// over ends the time that counts: later samples do not.
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

// result returns what was seen.
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

// A Path is a stack of running threads: its methods, the innermost first, and the weight
// of the samples that showed it.
type Path struct {
	Methods []Method
	Weight  float64
}

// pathsOf returns the stacks of samples, without frames of Sonde's hooks and what those
// call.
func pathsOf(t *hotspots.Table) (paths []Path) {
	for _, stack := range t.Stacks() {
		path := Path{Weight: stack.Weight}
		for _, m := range stack.Methods {
			path.Methods = append(path.Methods, Method(m.Ref()))
		}
		path.Methods = path.Methods[innermost(path.Methods):]
		if len(path.Methods) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// innermost returns the index of the program's innermost frame.
func innermost(methods []Method) int {
	for i := len(methods) - 1; i >= 0; i-- {
		if methods[i].isOurs() {
			return i + 1
		}
	}
	return 0
}

// above returns the methods that have called the leaf of a path, each once, the innermost
// first.
func (p *Path) above() []Method { return unique(p.Methods[1:]) }

// all returns the methods of a path, each once, the innermost first.
func (p *Path) all() []Method { return unique(p.Methods) }

func unique(methods []Method) (found []Method) {
	for _, m := range methods {
		if !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	return found
}

// Coverage returns the share of all weight whose paths have a covering method above their
// leaf.
func Coverage(paths []Path, covers func(Method) bool) float64 {
	var covered, whole float64
	for i := range paths {
		whole += paths[i].Weight
		if len(paths[i].Methods) > 1 && slices.ContainsFunc(paths[i].Methods[1:], covers) {
			covered += paths[i].Weight
		}
	}
	if whole == 0 {
		return 0
	}
	return covered / whole
}

// ownThreads are prefixes of the names of threads of the JVM and of Sonde.
var ownThreads = []string{
	"sonde-", "Attach Listener", "Signal Dispatcher", "JFR ", "Reference Handler", "Finalizer", "Common-Cleaner", "Notification Thread", "Service Thread",
	"Monitor Deflation Thread", "C1 CompilerThread", "C2 CompilerThread", "process reaper",
}

// isOfProgram reports whether a sample is of a thread of the program, and not of the JVM or
// Sonde.
func isOfProgram(s jfr.Sample) bool {
	if s.Thread == nil || s.Stack == nil || len(s.Stack.Frames) == 0 {
		return false
	}
	if slices.ContainsFunc(ownThreads, func(name string) bool { return strings.HasPrefix(s.Thread.Name, name) }) {
		return false
	}
	outermost := s.Stack.Frames[len(s.Stack.Frames)-1].Method
	return outermost == nil || !strings.HasPrefix(outermost.Class, "sonde/")
}

// inlining is how often methods were seen, and of those inlined into their callers.
type inlining map[Method]struct{ seen, inlined int }

func (in inlining) add(s jfr.Sample) {
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := Method(frame.Method.Ref())
		n := in[m]
		n.seen++
		if frame.Kind == jfr.Inlined {
			n.inlined++
		}
		in[m] = n
	}
}

// isMostly reports whether a method is mostly inlined: a hook would prevent that.
func (in inlining) isMostly(m Method) bool { return 2*in[m].inlined > in[m].seen }

// Waits are how many threads waited in a method on average, and for what.
type Waits struct {
	Blocked float64 // for a monitor or a lock that another thread holds
	Network float64 // for a socket
	Files   float64
}

// waits returns how many threads wait for anything.
func (w Waits) waits() float64 { return w.Blocked + w.Network + w.Files }

// A queue is where thread dumps show waiting threads.
type queue struct {
	dumps int
	waits map[Method]Waits // sums by the method that calls the JDK to wait; descriptors are not known
}

func newQueue() *queue { return &queue{waits: make(map[Method]Waits)} }

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
	var first *Method
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := Method(frame.Method.Ref()).anyOverload()
		if first == nil && !isLibrary(m.Class) && !m.passesOn() && !m.isOurs() {
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
	switch met := func(names []string) bool { return anyPrefix(between, names) }; {
	case s.State == blocked || isWaiting(s.State) && met(lockWaits):
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

func isWaiting(state string) bool { return strings.Contains(state, "WAITING") }

func anyPrefix(names, prefixes []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return hasPrefix(name, prefixes) })
}

// of returns the waits in a method.
func (q *queue) of(m Method) Waits {
	w := q.waits[m.anyOverload()]
	if q.dumps > 0 {
		n := float64(q.dumps)
		w.Blocked, w.Network, w.Files = w.Blocked/n, w.Network/n, w.Files/n
	}
	return w
}

// methods returns the methods in which enough threads wait to matter.
func (q *queue) methods() (found []Method) {
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
