package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// stacks are the stacks below roots that were sampled since a moment. They show what methods without
// hooks do, and what threads wait for.
type stacks struct {
	isRoot   func(classfile.MethodRef) bool
	isHooked func(classfile.MethodRef) bool // nil if work that was handed to other threads is not followed
	stop     context.CancelFunc
	ended    chan struct{}

	lock  sync.Mutex
	since time.Time
	seen  map[string]*cct.Stack
	bias  string
	clock threadClock
	lost  int // samples whose stack is not complete
	all   int
}

const (
	stackPeriod = 10 * time.Millisecond
	pollStacks  = 100 * time.Millisecond
	// mostStacks bounds the memory for different stacks; further ones are not kept.
	mostStacks = 200_000
)

// startStacks begins to sample. The error says why that is not possible.
func startStacks(ctx context.Context, pid int, isRoot, isHooked func(classfile.MethodRef) bool) (*stacks, error) {
	sampler, err := sampler.Start(ctx, pid, sampler.Options{Period: stackPeriod, Waiting: true})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &stacks{
		isRoot: isRoot, isHooked: isHooked, stop: stop, ended: make(chan struct{}), since: time.Now(), seen: make(map[string]*cct.Stack),
		bias: sampler.Bias(), clock: threadClock{numbers: make(map[uint64]int64)},
	}
	go s.run(ctx, sampler)
	return s, nil
}

func (s *stacks) run(ctx context.Context, sampler *sampler.Sampler) {
	defer close(s.ended)
	defer func() { _ = sampler.Close(context.WithoutCancel(ctx)) }() // it has changed nothing
	tick := time.NewTicker(pollStacks)
	defer tick.Stop()
	for {
		batch, err := sampler.Poll(ctx)
		s.add(batch)
		if err != nil {
			return // the JVM has ended, or the run
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// close ends sampling. It may be called for nil and more than once.
func (s *stacks) close() {
	if s != nil {
		s.stop()
		<-s.ended
	}
}

// restart forgets what was seen.
func (s *stacks) restart() {
	if s == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.since, s.seen, s.lost, s.all = time.Now(), make(map[string]*cct.Stack), 0, 0
	s.clock.first = s.clock.last
}

func (s *stacks) add(batch sampler.Batch) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.clock.last = batch
	if s.clock.first.Times == nil {
		s.clock.first = batch
	}
	for _, sample := range hotspots.WithoutHooks(batch.Samples) {
		if sample.Stack == nil || sample.At.Before(s.since) {
			continue
		}
		s.all++
		methods, isHanded := s.below(sample.Stack.Frames)
		if methods == nil {
			if sample.Stack.Broken || sample.Stack.Truncated {
				s.lost++
			}
			continue
		}
		period := sample.Period
		if period == 0 {
			period = batch.Period
		}
		one := cct.Stack{Methods: methods, Handed: isHanded, Wait: string(sample.Wait), Samples: 1, Nanos: float64(period)}
		if t := sample.Thread; t != nil && !t.Virtual {
			one.Thread = uint64(max(0, t.JavaID))
			s.clock.numbers[one.Thread] = t.OSID
		}
		s.put(one)
	}
}

func (s *stacks) put(one cct.Stack) {
	var key strings.Builder
	fmt.Fprintf(&key, "%d %t %s", one.Thread, one.Handed, one.Wait)
	for _, m := range one.Methods {
		key.WriteByte(0)
		key.WriteString(m.Key())
	}
	known := s.seen[key.String()]
	switch {
	case known != nil:
		known.Samples += one.Samples
		known.Nanos += one.Nanos
	case len(s.seen) < mostStacks:
		s.seen[key.String()] = &one
	}
}

// below returns the methods from the outermost root on, the root first, and last the kind of other
// code if that runs; nil if there is no root. If work may be handed over, a stack without a root
// begins with its outermost hooked method.
func (s *stacks) below(frames []jfr.Frame) (methods []cct.Method, isHanded bool) {
	from := outermost(frames, s.isRoot)
	if isHanded = from < 0 && s.isHooked != nil; isHanded {
		from = outermost(frames, s.isHooked)
	}
	for _, f := range slices.Backward(frames[:from+1]) {
		if f.IsJava() {
			methods = append(methods, hotspots.Label(f))
		}
	}
	inner := slices.IndexFunc(frames, jfr.Frame.IsJava) // of Java methods
	if methods == nil || inner == 0 || frames[inner].Kind == jfr.Native {
		return methods, isHanded
	}
	if code := otherCode[frames[inner-1].Kind]; code != "" {
		methods = append(methods, cct.Method{Name: code})
	}
	return methods, isHanded
}

// outermost returns the index of the outermost frame of certain methods; -1 if there is none.
func outermost(frames []jfr.Frame, is func(classfile.MethodRef) bool) int {
	for i, f := range slices.Backward(frames) {
		if f.IsJava() && is(hotspots.Label(f).Ref()) {
			return i
		}
	}
	return -1
}

// otherCode are names for code that is not Java. Stubs, which copy arrays for example, belong to the
// method that uses them, and native code to its native method.
var otherCode = map[jfr.FrameKind]string{jfr.VM: "(the JVM)", jfr.Library: "(native code)", jfr.Kernel: "(the kernel)"}

// list returns the stacks, and a note on what they miss.
func (s *stacks) list() (stacks []cct.Stack, note string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, one := range s.seen {
		stack := *one
		if stack.Wait == "" {
			stack.Unsure = stack.Nanos * s.clock.ready(stack.Thread) / 2
			stack.Nanos += stack.Unsure
		}
		stacks = append(stacks, stack)
	}
	slices.SortFunc(stacks, func(a, b cct.Stack) int { return compareStacks(&a, &b) })
	if s.bias != "" {
		note = "stacks were sampled " + s.bias
	}
	if few := float64(s.all) * 0.01; float64(s.lost) > few {
		note = strings.TrimPrefix(note+fmt.Sprintf("; %d of %d sampled stacks are not complete, and are left out", s.lost, s.all), "; ")
	}
	return stacks, note
}

// A threadClock knows for how long threads were ready to run without a processor. Samples of running
// threads stand for processor time, but calls take longer if threads have to wait for a processor. The kernel does not say
// what for: a thread that has used up its share waits in the middle of a call, but one that was woken waits before it, and a
// server is mostly woken. So none or all of that time can be that of calls.
type threadClock struct {
	first, last sampler.Batch
	numbers     map[uint64]int64 // of threads of the JVM, by ID
}

// ready returns the time in which a thread was ready to run without a processor, relative to its processor time.
func (c *threadClock) ready(thread uint64) float64 {
	number, known := c.numbers[thread]
	ran, ready := c.last.Times[number]-c.first.Times[number], c.last.Ready[number]-c.first.Ready[number]
	if !known || ran < time.Millisecond || ready < 0 {
		return 0
	}
	return float64(ready) / float64(ran)
}

// compareStacks orders stacks, so that the same ones give the same sums.
func compareStacks(a, b *cct.Stack) int {
	order := cmp.Or(
		slices.CompareFunc(a.Methods, b.Methods, func(a, b cct.Method) int { return strings.Compare(a.Key(), b.Key()) }),
		cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Wait, b.Wait))
	if order == 0 && a.Handed {
		return 1 // the other is not
	}
	return order
}

// isTooCostly reports whether putting hooks in would cost more work than the budget allows for the
// whole run, as with JVMs that discard all compiled code when the first class is changed.
func (r *run) isTooCostly() bool {
	jvm, err := process.Local.Inspect(r.PID)
	if !r.Spare || r.Timing != cct.Auto || err != nil || jvm.Agents.Answer == process.No {
		return false
	}
	length := cmp.Or(r.Duration, overhead.Amortised)
	loss, _ := overhead.Loss(jvm)
	if loss <= time.Duration(r.Budget*float64(length)) {
		return false
	}
	r.why = fmt.Sprintf("no hooks were put in: the first change of a class makes this JVM discard all its compiled code, which would cost about %s of work, more than %s of %s; --hooks puts them in anyway",
		format.Duration(loss.Round(100*time.Millisecond)), format.Percent(r.Budget), format.Duration(length))
	return true
}

// runWithoutHooks profiles a JVM by sampled stacks alone. Nothing enters the JVM.
func (r *run) runWithoutHooks(ctx context.Context) (*cct.Profile, error) {
	var err error
	if r.jvm, err = process.Local.Inspect(r.PID); err != nil {
		return nil, err
	}
	if r.stacks, err = startStacks(ctx, r.PID, r.patterns.Match, nil); err != nil {
		return nil, err
	}
	defer r.stacks.close()
	r.Timing, r.began = cct.Stacks, time.Now()
	r.enter(Running)
	if r.Started != nil {
		r.Started()
	}
	var over <-chan time.Time
	if r.Duration > 0 {
		timer := time.NewTimer(r.Duration)
		defer timer.Stop()
		over = timer.C
	}
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		select {
		case <-report.C:
			r.report()
			continue
		case <-over:
		case <-ctx.Done():
		case <-r.stacks.ended:
		}
		return r.sampledResult()
	}
}

// sampledResult returns what stacks have shown, where there are no hooks.
func (r *run) sampledResult() (*cct.Profile, error) {
	p := &cct.Profile{
		Target: cct.Target{PID: r.jvm.PID, Command: r.jvm.Main, JDK: r.jvm.Version}, Roots: r.Roots, Timing: cct.Stacks,
		Merged: &cct.Node{Method: -1}, Began: r.began, Took: time.Since(r.began),
	}
	if r.why != "" {
		p.Notes = append(p.Notes, r.why)
	}
	r.stacks.complete(p)
	p.Categorize(nil)
	return p, nil
}

// complete adds the stacks to a profile. It may be called for nil.
func (s *stacks) complete(p *cct.Profile) {
	if s == nil {
		return
	}
	stacks, note := s.list()
	p.AddStacks(stacks)
	if note != "" {
		p.Notes = append(p.Notes, note)
	}
	if p.Timing != cct.Stacks {
		return // hooks measured the times of calls
	}
	var all, unsure float64
	for _, one := range stacks {
		all, unsure = all+one.Nanos, unsure+one.Unsure
	}
	if unsure > notable*all {
		p.Notes = append(p.Notes, fmt.Sprintf("the threads often waited for a processor, in these calls or between them, which samples do not show: the times may be %s higher or lower", format.Percent(unsure/all)))
	}
}

// notable is the part of a time that is worth a note.
const notable = 0.05
