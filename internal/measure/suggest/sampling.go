package suggest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
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

// A Path is how running threads got where they were: the methods of a stack, the
// innermost first, and the weight of the samples that showed it.
type Path struct {
	Methods []Method
	Weight  float64
}

// pathsOf are the ways that samples show. Frames of Sonde's hooks, and of what those
// call, are no part of the program.
func pathsOf(t *hotspots.Table) (paths []Path) {
	for _, stack := range t.Stacks() {
		path := Path{Weight: stack.Weight}
		for _, m := range stack.Methods {
			path.Methods = append(path.Methods, methodOf(m))
		}
		path.Methods = path.Methods[innermost(path.Methods):]
		if len(path.Methods) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// innermost is where the program's own frames begin.
func innermost(methods []Method) int {
	for i := len(methods) - 1; i >= 0; i-- {
		if methods[i].isOurs() {
			return i + 1
		}
	}
	return 0
}

// above are the methods that have called the leaf of a path, each once, the innermost
// first.
func (p *Path) above() (methods []Method) {
	for _, m := range p.Methods[1:] {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// all are the methods of a path, each once, the innermost first.
func (p *Path) all() (methods []Method) {
	for _, m := range p.Methods {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// Coverage is the share of all weight whose paths have a method above their leaf that
// covers.
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

// ownThreads are those of the JVM and of Sonde: what they do is no work of the program.
var ownThreads = []string{
	"sonde-", "Attach Listener", "Signal Dispatcher", "JFR ", "Reference Handler", "Finalizer", "Common-Cleaner", "Notification Thread", "Service Thread",
	"Monitor Deflation Thread", "C1 CompilerThread", "C2 CompilerThread", "process reaper",
}

// isOfProgram tells threads of the program from those of the JVM and of Sonde.
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

// inlining is how often methods were seen compiled into their callers.
type inlining map[Method]struct{ seen, inlined int }

func (in inlining) add(s jfr.Sample) {
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := methodOf(frame.Method)
		n := in[m]
		n.seen++
		if frame.Kind == jfr.Inlined {
			n.inlined++
		}
		in[m] = n
	}
}

// isMostly reports whether a method is part of its callers most of the time: a hook
// would keep it from that.
func (in inlining) isMostly(m Method) bool { return 2*in[m].inlined > in[m].seen }

// Waits are how many threads waited in a method on average, for what.
type Waits struct {
	Blocked float64 // for a monitor or a lock that another thread has
	Network float64 // for a socket
	Files   float64
}

// waits is how many threads wait, for whatever.
func (w Waits) waits() float64 { return w.Blocked + w.Network + w.Files }

// A queue is where thread dumps show threads waiting.
type queue struct {
	dumps int
	waits map[Method]Waits // by what calls the JDK to wait; descriptors are not known
}

func newQueue() *queue { return &queue{waits: make(map[Method]Waits)} }

// What the JDK does between the program and a wait.
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
	// Those that accept, or look for the next event, have nothing to do.
	idleWaits = []string{"sun/nio/ch/NioSocketImpl.accept", "java/net/ServerSocket", "sun/nio/ch/ServerSocketChannelImpl.", "sun/nio/ch/SelectorImpl."}
)

// add takes in one thread of a dump.
func (q *queue) add(s jfr.Sample) {
	var between []string // what of the JDK is below the program
	var first *Method
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := methodOf(frame.Method).anyOverload()
		if first == nil && !isLibrary(m.Class) && !m.carries() && !m.isOurs() {
			first = &m
		}
		if first == nil {
			between = append(between, m.Class+"."+m.Name)
		}
	}
	if first == nil {
		return // a thread of a pool that has nothing to do
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
	for _, name := range names {
		if hasPrefix(name, prefixes) {
			return true
		}
	}
	return false
}

// of is what is known of a method.
func (q *queue) of(m Method) Waits {
	w := q.waits[m.anyOverload()]
	if q.dumps > 0 {
		n := float64(q.dumps)
		w.Blocked, w.Network, w.Files = w.Blocked/n, w.Network/n, w.Files/n
	}
	return w
}

// methods are those in which enough threads wait to count.
func (q *queue) methods() (found []Method) {
	for m := range q.waits {
		if q.of(m).waits() >= leastWait {
			found = append(found, m)
		}
	}
	return found
}

// take adds the dumps that came. Threads that run are in other samples.
func (q *queue) take(batch sampler.Batch) {
	for i, s := range batch.Samples {
		if i == 0 || !s.At.Equal(batch.Samples[i-1].At) { // those of one dump have one time
			q.dumps++
		}
		if isOfProgram(s) {
			q.add(s)
		}
	}
}
