package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/hotspot"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/perfevents"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

const (
	// stackCopied is how much of a stack the kernel copies with each sample.
	stackCopied = 32 << 10
	// defaultWalkEvery is the longest time between a sample and the walk over it, if none is stated.
	defaultWalkEvery = 50 * time.Millisecond
	// threadsEvery is the interval at which the threads of the JVM are listed.
	threadsEvery = time.Second
	// lookPart bounds the share of one processor that looks at waiting threads take to 1/lookPart.
	lookPart = 50
	// A thread that waits is looked at as often as one in lookRatio samples of a running one.
	lookRatio = 5
	// waitTries is how often a thread that waits is looked at if it runs meanwhile: on a busy machine, a short wait is over before its stack is read.
	waitTries = 8
	// mostHeld bounds the samples that nobody has asked for yet.
	mostHeld = 1 << 20
)

// kernelSamples are samples that the kernel takes of running threads. Their stacks are walked here, by
// reading the JVM's memory; the JVM does nothing and does not notice. Samplers of one JVM that want the same share them.
type kernelSamples struct {
	jvm     *process.JVM
	shared  sharedKey
	period  time.Duration
	every   time.Duration
	walks   time.Duration // the longest time between a sample and the walk over it
	events  *perfevents.Events
	walker  *hotspot.Walker
	kernel  *kernelNames
	threads threadTable
	running map[*jfr.Thread]seenRunning
	boot    time.Time // when the kernel's clock was zero
	cancel  context.CancelFunc
	ended   chan struct{}

	had map[hotspot.ThreadKey]uint64 // what each thread had allocated at the last look; nil before the first

	lock   sync.Mutex
	views  []*kernelView
	total  Allocation
	failed error
}

// A kernelView is what one sampler has of the samples.
type kernelView struct {
	*kernelSamples
	waiting bool // include waiting threads
	samples []jfr.Sample
	lost    int
	noted   map[string]bool
}

// A sharedKey says which samplers share their samples.
type sharedKey struct {
	pid               int
	started           uint64        // in ticks
	period, walkEvery time.Duration // as in Options
}

// sharing are the samples that are being taken, and a lock that is held while samplers begin and end.
var sharing = struct {
	sync.Mutex
	samples map[sharedKey]*kernelSamples
}{samples: make(map[sharedKey]*kernelSamples)}

func startKernel(ctx context.Context, jvm *process.JVM, options Options) (samples, error) {
	key := sharedKey{jvm.PID, jvm.StartTicks(), cmp.Or(options.Period, DefaultKernelPeriod), options.WalkEvery}
	sharing.Lock()
	defer sharing.Unlock()
	k := sharing.samples[key]
	if k == nil || k.hasFailed() {
		var err error
		if k, err = takeSamples(ctx, jvm, key); err != nil {
			return nil, err
		}
		sharing.samples[key] = k
	}
	view := &kernelView{kernelSamples: k, waiting: options.Waiting, noted: map[string]bool{}}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.views = append(k.views, view)
	return view, nil
}

// takeSamples begins to sample a JVM.
func takeSamples(ctx context.Context, jvm *process.JVM, key sharedKey) (*kernelSamples, error) {
	memory := hotspot.ProcessMemory{PID: jvm.PID}
	libraries, err := hotspot.OpenLibraries(jvm.PID)
	if err != nil {
		return nil, noKernel(jvm, err)
	}
	k := &kernelSamples{
		jvm: jvm, shared: key, period: key.period, every: max(min(DefaultSpacing, lookRatio*key.period), key.walkEvery), walks: cmp.Or(key.walkEvery, defaultWalkEvery),
		ended: make(chan struct{}),
	}
	if k.walker, err = hotspot.NewWalker(memory, libraries); err != nil {
		return nil, noKernel(jvm, err)
	}
	kernel := readKernelNames() // takes its time, and the first samples must not wait
	k.events, err = perfevents.Open(jvm.PID, perfevents.Options{Frequency: max(1, int(time.Second/key.period)), Stack: stackCopied, Kernel: true})
	if err != nil {
		return nil, noKernel(jvm, err)
	}
	if !k.events.KernelExcluded {
		k.kernel = kernel
	}
	if k.boot, err = monotonicOrigin(); err != nil {
		return nil, errors.Join(err, k.events.Close())
	}
	k.threads = threadTable{clock: newClock(jvm), walker: k.walker}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel = cancel
	go k.run(running)
	return k, nil
}

// monotonicOrigin returns when the kernel's clock was zero.
func monotonicOrigin() (origin time.Time, err error) {
	best := time.Hour
	for range 10 { // other threads may run between two readings
		var now unix.Timespec
		from := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return origin, err
		}
		if took := time.Since(from); took < best {
			best, origin = took, from.Add(took/2-time.Duration(now.Nano()))
		}
	}
	return origin, nil
}

// noKernel explains why the kernel does not sample a JVM.
func noKernel(jvm *process.JVM, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return &Error{PID: jvm.PID, Kind: ErrNoKernel, Detail: fmt.Sprintf("%v: %s", known.Kind, known.Detail), Cause: known.Cause}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, hotspot.ErrMemory) {
		return &Error{PID: jvm.PID, Kind: ErrNoKernel, Detail: "this user may not read its memory: " + memoryRemedy(jvm), Cause: err}
	}
	return &Error{PID: jvm.PID, Kind: ErrNoKernel, Detail: err.Error()}
}

func memoryRemedy(jvm *process.JVM) string {
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(text)) != "0" && os.Geteuid() != 0 {
		return "run Sonde as root, or with CAP_SYS_PTRACE, or set kernel.yama.ptrace_scope to 0"
	}
	return jvm.Access()
}

func (k *kernelSamples) run(ctx context.Context) {
	defer close(k.ended)
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	looked := time.Now().Add(-k.every)
	look := time.Now()
	for {
		limit := k.walks
		if k.isWaiting() {
			limit = max(time.Millisecond, min(limit, time.Until(look)))
		}
		err := k.events.Wait(ctx, limit)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = k.drain()
		}
		if err != nil {
			k.lock.Lock()
			k.failed = err
			k.lock.Unlock()
			return
		}
		if now := time.Now(); k.isWaiting() && now.After(look) {
			before := threadTime()
			found := k.waits(now)
			for i := range found {
				found[i].Period = now.Sub(looked)
			}
			k.add(found, 0, true)
			// Regular looks would meet a program that waits regularly at the same place each time.
			spacing := max(k.every, (threadTime()-before)*lookPart)
			looked, look = now, now.Add(spacing/2+rand.N(spacing))
		}
	}
}

// threadTime returns the processor time of this thread; 0 if the kernel does not report it.
func threadTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// drain walks the stacks of the samples that have arrived.
func (k *kernelSamples) drain() error {
	if err := k.walker.Begin(); err != nil {
		return err
	}
	var found []jfr.Sample
	lost, err := k.events.Read(func(s *perfevents.Sample) {
		if sample, ok := k.sample(s); ok {
			found = append(found, sample)
		}
	})
	k.add(found, lost, false)
	return err
}

// isWaiting reports whether a sampler wants waiting threads.
func (k *kernelSamples) isWaiting() bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	return slices.ContainsFunc(k.views, func(v *kernelView) bool { return v.waiting })
}

func (k *kernelSamples) hasFailed() bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.failed != nil
}

// add gives samples of running or of waiting threads to the samplers that want them.
func (k *kernelSamples) add(found []jfr.Sample, lost int, areWaiting bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, v := range k.views {
		if areWaiting && !v.waiting {
			continue
		}
		fit := min(len(found), max(0, mostHeld-len(v.samples)))
		v.samples = append(v.samples, found[:fit]...)
		v.lost += lost + len(found) - fit
	}
}

func (k *kernelSamples) sample(s *perfevents.Sample) (jfr.Sample, bool) {
	thread := k.threads.find(s.TID)
	if thread.IsSondes() {
		return jfr.Sample{}, false
	}
	stack := &jfr.Stack{}
	for _, address := range s.Kernel {
		stack.Frames = append(stack.Frames, k.kernel.frame(address))
	}
	end := hotspot.UnknownCode
	if s.HasRegisters {
		var regs unwind.Registers
		for number, value := range s.DWARF() {
			regs.Set(number, value)
		}
		var frames []jfr.Frame
		frames, end = k.walker.Walk(regs, &hotspot.Stack{Begin: s.SP(), Bytes: s.Stack})
		stack.Frames = append(stack.Frames, frames...)
	}
	stack.Truncated = end == hotspot.TooDeep || end == hotspot.InHeap
	stack.Broken = end == hotspot.UnknownCode
	if end == hotspot.InHeap || isCarried(stack) {
		thread = jfr.VirtualThreads
	}
	at := k.boot.Add(s.At)
	if k.isWaiting() && !stack.Broken {
		if k.running == nil || len(k.running) > mostThreadNames {
			k.running = map[*jfr.Thread]seenRunning{}
		}
		k.running[thread] = seenRunning{at, stack}
	}
	return jfr.Sample{At: at, Source: jfr.CPUTime, Period: s.Period, State: StateRunnable, Thread: thread, Stack: stack}, true
}

// A seenRunning is the last sample of a running thread.
type seenRunning struct {
	at    time.Time
	stack *jfr.Stack
}

// recently is how old the last sample of a thread may be that holds a lock.
const recently = 100 * time.Millisecond

// waits returns a sample of each Java thread that waits.
func (k *kernelSamples) waits(now time.Time) (found []jfr.Sample) {
	threads := k.threads.list(now)
	k.addAllocated(threads, now)
	held := map[int]*jfr.Stack{}
	for _, t := range threads {
		thread := k.threads.named(&t)
		if thread.IsSondes() {
			continue
		}
		frames, end := k.waitOf(&t)
		if len(frames) == 0 {
			continue
		}
		stack := &jfr.Stack{Frames: frames, Truncated: end == hotspot.TooDeep || end == hotspot.InHeap, Broken: end == hotspot.UnknownCode}
		sample := jfr.Sample{At: now, Source: jfr.WallClock, Wait: stack.WaitIn(), Thread: thread, Stack: stack}
		if end == hotspot.InHeap || isCarried(stack) {
			sample.Thread = jfr.VirtualThreads
		}
		if t.IsContended() {
			sample.Wait = jfr.Monitor
		}
		switch sample.Wait {
		case jfr.Monitor:
			sample.State = statePrefix + "BLOCKED"
		case jfr.Running:
			sample.Wait, sample.State = outsideWait(stack), StateRunnable
		case jfr.IO:
			sample.State = StateRunnable
		case jfr.Sleeping:
			sample.State = statePrefix + "TIMED_WAITING"
		default:
			sample.State = statePrefix + "WAITING"
		}
		if sample.Wait == jfr.Monitor || sample.Wait == jfr.Parked {
			sample.Lock = k.lockOf(&t, threads, held, now)
		}
		found = append(found, sample)
	}
	return found
}

// outsideWait returns what a thread waits for whose innermost Java method may also work. Only native methods wait for I/O; those of the
// JDK that have nothing to do with it, and all others, wait for the JVM.
func outsideWait(s *jfr.Stack) jfr.Wait {
	for _, f := range s.Frames {
		if !f.IsJava() {
			continue
		}
		if f.Kind == jfr.Native && (isOfClasses(f, ioClasses) || !isOfClasses(f, jdkClasses)) {
			return jfr.IO
		}
		return jfr.InJVM
	}
	return jfr.UnknownWait
}

// addAllocated adds what threads have allocated since the last look.
func (k *kernelSamples) addAllocated(threads []hotspot.Thread, now time.Time) {
	has := make(map[hotspot.ThreadKey]uint64, len(threads))
	var fresh uint64
	for i := range threads {
		t := &threads[i]
		if k.threads.named(t).IsSondes() {
			continue
		}
		key := t.Key()
		before := k.had[key]
		has[key] = max(before, t.Allocated) // a buffer may be replaced while it is read
		fresh += has[key] - before
	}
	isFirst := k.had == nil
	k.had = has
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.total.At = now; !isFirst {
		k.total.Bytes += fresh
	}
}

// lockOf returns what a thread waits for; nil if it is not known. Stacks of holders are read once for all that wait.
func (k *kernelSamples) lockOf(t *hotspot.Thread, threads []hotspot.Thread, held map[int]*jfr.Stack, now time.Time) *jfr.Lock {
	lock := k.walker.LockOf(t, threads)
	if lock.Class == "" && lock.Holder == nil {
		return nil
	}
	made := &jfr.Lock{Class: lock.Class}
	if lock.Holder == nil {
		return made
	}
	made.Holder = k.threads.named(lock.Holder)
	stack, known := held[lock.Holder.ID]
	if !known {
		holder := *lock.Holder
		if frames, end := k.waitOf(&holder); len(frames) > 0 && end != hotspot.UnknownCode {
			stack = &jfr.Stack{Frames: frames, Truncated: end != hotspot.Complete}
		} else if last := k.running[made.Holder]; now.Sub(last.at) < recently {
			stack = last.stack
		}
		held[lock.Holder.ID] = stack
	}
	made.Held = stack
	return made
}

// waitOf returns the stack of a thread that waits, without frames if it does not. A stack counts only
// if the thread has not run while it was read. If it has, it is looked at again: to leave it out
// would make short waits rarer than they are.
func (k *kernelSamples) waitOf(t *hotspot.Thread) (frames []jfr.Frame, end hotspot.End) {
	for range waitTries {
		ran := k.threads.ran(t)
		if ran < 0 || k.threads.runs(t) || !k.walker.Reread(t) {
			break
		}
		frames, end = k.walker.WalkWaiting(t)
		if k.threads.ran(t) == ran {
			return frames, end
		}
	}
	return nil, hotspot.UnknownCode
}

// isCarried reports whether a stack is that of a virtual thread, on the stack of another.
func isCarried(stack *jfr.Stack) bool {
	return slices.ContainsFunc(stack.Frames, func(f jfr.Frame) bool {
		return f.IsJava() && f.Method.Class == "jdk/internal/vm/Continuation" && f.Method.Name == "enterSpecial"
	})
}

func (k *kernelView) poll(_ context.Context, b *Batch) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	b.Samples, k.samples = k.samples, nil
	b.Allocation = k.total
	b.Period = k.period
	b.Lost, k.lost = k.lost, 0
	note := func(text string) {
		if !k.noted[text] {
			k.noted[text] = true
			b.Notes = append(b.Notes, text)
		}
	}
	if k.events.KernelExcluded {
		note("time in the kernel is not sampled, because it needs root, CAP_PERFMON or kernel.perf_event_paranoid=1")
	}
	if b.Lost > 0 {
		note("the kernel dropped samples for lack of space: all shares are affected equally")
	}
	if errors.Is(k.failed, perfevents.ErrEnded) {
		return &Error{PID: k.jvm.PID, Kind: ErrEnded}
	}
	return k.failed
}

func (k *kernelView) remains() string { return "" }

func (k *kernelView) close(context.Context, bool) error {
	sharing.Lock()
	defer sharing.Unlock()
	k.lock.Lock()
	k.views = slices.DeleteFunc(k.views, func(v *kernelView) bool { return v == k })
	others := len(k.views)
	k.lock.Unlock()
	if others > 0 {
		return nil
	}
	if sharing.samples[k.shared] == k.kernelSamples {
		delete(sharing.samples, k.shared)
	}
	k.cancel()
	<-k.ended
	return k.events.Close()
}
