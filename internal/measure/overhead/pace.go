package overhead

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Pace follows how fast the code of a program runs: changing classes makes HotSpot discard compiled
// code, and until it has compiled it again the program runs in the interpreter and in code of the
// first compiler. Samples of the kernel show how much of its time a program spends there, before the
// change and after.
type Pace struct {
	pid     int
	sampler *sampler.Sampler // nil if the kernel does not sample this JVM
	began   time.Time
	before  []paceSample

	changed   time.Time // the last change of classes
	after     []paceSample
	compilers Settling
	runs      int // windows in a row that showed the former pace

	account
}

// A paceSample is a sample of Java code.
type paceSample struct {
	at    time.Time
	kind  jfr.FrameKind // of the innermost compiled or interpreted method
	stack *jfr.Stack
	// inHook says that a hook was executing. Those inlined into methods of the program do not count: where the
	// program is not at a safepoint, nobody knows which of its instructions belong to a hook.
	inHook bool
}

// settling are the options of samples that are taken only while the program settles.
var settling = sampler.Options{Source: sampler.Kernel, Period: 2 * time.Millisecond}

const (
	// paceBefore is how long the program is watched before classes change, and enoughBefore how many
	// samples end that earlier. A program that has little of a busy machine is watched for
	// paceBeforeMost, until it has fewSamples; one that has almost none after half of that is idle.
	paceBefore     = time.Second
	paceBeforeMost = 4 * time.Second
	enoughBefore   = 400
	fewSamples     = 2 * enoughNow
	idleSamples    = 5
	// paceWindow is the time whose samples are compared with those before. It grows to paceWindowMost while it has fewer than enoughNow, and
	// with the time since the change, of which it is at least one in pacePart: of many short windows of a slow program, some look fast.
	paceWindow     = 500 * time.Millisecond
	paceWindowMost = 5 * time.Second
	pacePart       = 5
	enoughNow      = 60
	// paceRuns is how many windows in a row must show the former pace.
	paceRuns = 2
	// A share of slow code counts as the former one if it is larger by less than this.
	paceTolerance = 0.03
)

// WatchPace begins to watch a JVM. Where the kernel does not sample it, only its compilers are
// watched. The caller must call Close.
func WatchPace(ctx context.Context, pid int) *Pace {
	p := &Pace{pid: pid, began: time.Now()}
	p.sample(ctx, settling)
	return p
}

// sample takes samples with other options from now on.
func (p *Pace) sample(ctx context.Context, options sampler.Options) {
	p.stop(ctx)
	if s, err := sampler.Start(ctx, p.pid, options); err == nil {
		p.sampler = s
	}
}

func (p *Pace) stop(ctx context.Context) {
	if p.sampler != nil {
		_ = p.sampler.Close(ctx) // it has changed nothing
		p.sampler = nil
	}
}

// Close ends the watch. A nil Pace watches nothing.
func (p *Pace) Close(ctx context.Context) {
	if p != nil {
		p.end()
		p.stop(ctx)
	}
}

// Rest ends the time before the change. It waits until there are enough samples of a busy program.
func (p *Pace) Rest(ctx context.Context) {
	if p == nil {
		return
	}
	defer func() { p.changing = time.Now() }()
	for p.sampler != nil {
		p.before = append(p.before, p.poll(ctx)...)
		passed := time.Since(p.began)
		enough := len(p.before) >= enoughBefore || passed >= paceBefore && len(p.before) >= fewSamples || passed >= paceBeforeMost
		idle := passed > paceBeforeMost/2 && len(p.before) < idleSamples
		if enough || idle || process.Pause(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
}

// Stacks returns the sampled stacks of the time before the change.
func (p *Pace) Stacks() (stacks []*jfr.Stack) {
	if p != nil {
		for _, s := range p.before {
			stacks = append(stacks, s.stack)
		}
	}
	return stacks
}

// poll returns the samples of Java code in threads of the program since the last call.
func (p *Pace) poll(ctx context.Context) (found []paceSample) {
	if p.sampler == nil {
		return nil
	}
	batch, err := p.sampler.Poll(ctx)
	if err != nil {
		p.stop(ctx)
		return nil
	}
	for _, s := range batch.Samples {
		if kind := kindOf(s); kind != jfr.UnknownKind {
			found = append(found, paceSample{at: s.At, kind: kind, stack: s.Stack, inHook: slices.ContainsFunc(s.Stack.Frames, isHook)})
		}
	}
	return found
}

// kindOf returns how the Java code of a sample ran; UnknownKind if it has none. Hooks do not count: they are
// called often, and so are compiled long before the methods that call them.
func kindOf(s jfr.Sample) jfr.FrameKind {
	if s.Stack == nil || s.Thread == nil || s.Thread.Kind() != jfr.ProgramThread {
		return jfr.UnknownKind
	}
	for _, f := range s.Stack.Frames {
		if f.IsJava() && f.Kind != jfr.Inlined && f.Kind != jfr.Native && !agent.IsHookClass(f.Method.Class) {
			return f.Kind
		}
	}
	return jfr.UnknownKind
}

func isHook(f jfr.Frame) bool {
	return f.IsJava() && f.Kind != jfr.Inlined && agent.IsHookClass(f.Method.Class)
}

// A Slowness is the share of samples in slow code: in the interpreter, and there or in code of the
// first compiler.
type Slowness struct {
	Samples     int       `json:"samples"`
	Interpreted cct.Share `json:"interpreted"`
	Slow        cct.Share `json:"slow"`
}

func slownessOf(samples []paceSample) Slowness {
	var t tally
	t.add(samples)
	return t.slowness()
}

type tally struct{ samples, interpreted, slow, inHooks int }

func (t *tally) add(samples []paceSample) {
	t.samples += len(samples)
	for _, s := range samples {
		if s.inHook {
			t.inHooks++
		}
		switch s.kind {
		case jfr.Interpreted:
			t.interpreted++
			t.slow++
		case jfr.C1:
			t.slow++
		}
	}
}

func (t tally) slowness() Slowness {
	n := float64(t.samples)
	return Slowness{Samples: t.samples, Interpreted: cct.ShareOf(float64(t.interpreted), n, n), Slow: cct.ShareOf(float64(t.slow), n, n)}
}

// isFormer reports whether a program runs as it did before: its shares of slow code are not larger,
// as far as the samples show.
func (s Slowness) isFormer(before Slowness) bool {
	former := func(now, before cct.Share) bool {
		return now.Low <= before.High && now.Part <= max(before.Part+paceTolerance, before.High)
	}
	return former(s.Interpreted, before.Interpreted) && former(s.Slow, before.Slow)
}

// A Recovery is how a program came back to its former pace.
type Recovery struct {
	Settled bool          `json:"settled"` // false if the wait ended before
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	By      string        `json:"by"` // what was compared
	Before  *Slowness     `json:"before,omitempty"`
	Now     *Slowness     `json:"now,omitempty"`
}

// String says how far a program is from its former pace.
func (r Recovery) String() string {
	if r.Now == nil {
		return "judged by the work of its compilers"
	}
	return fmt.Sprintf("at least %.0f %% of its former speed (%.2g %% of its time in slow code, %.2g %% before)",
		100*speedOf(*r.Before, *r.Now).Value, 100*r.Now.Slow.Part, 100*r.Before.Slow.Part)
}

// Disturbed says that results describe a program that is slower than without Sonde; "" if they do not.
func (r *Recovery) Disturbed() string {
	if r == nil || r.Settled {
		return ""
	}
	return fmt.Sprintf("DISTURBED: these times are of a program that is still slower than before Sonde changed its classes: %v (waited %.1f s; --settle waits longer)", r, r.Seconds)
}

// What a Recovery compares.
const (
	ByHooked    = "samples in hooked methods"
	ByProgram   = "samples of the program"
	ByCompilers = "work of the compilers"
)

// Changed says that classes have just been changed.
func (p *Pace) Changed() {
	p.changed, p.after, p.runs, p.compilers = time.Now(), nil, 0, Settling{Rule: ForResults}
	if p.firstChanged.IsZero() {
		p.firstChanged = p.changed
	}
	if p.isFollowing() { // results begin again later
		p.end()
		p.sample(context.Background(), settling)
	}
}

// latest removes samples that no comparison needs any more.
func latest(samples []paceSample) []paceSample {
	now := time.Now()
	return slices.DeleteFunc(samples, func(s paceSample) bool { return now.Sub(s.at) > paceWindowMost })
}

// Look takes in what happened since the last look and says whether the program runs as before the
// change. isHooked says which methods have hooks: if there are enough samples with them, only those
// are compared.
func (p *Pace) Look(ctx context.Context, isHooked func(classfile.MethodRef) bool, since cost.Cost) Recovery {
	fresh := p.poll(ctx)
	if p.left.IsZero() {
		p.goingIn.add(fresh)
	} else {
		p.comingOut.add(fresh)
	}
	p.after = latest(append(p.after, fresh...))
	p.compilers.Add(since)
	found := p.compare(isHooked)
	found.Took = time.Since(p.changed)
	found.Seconds = found.Took.Seconds()
	switch {
	case found.By == ByCompilers:
		found.Settled = p.compilers.State == Settled
	case found.Now.isFormer(*found.Before):
		p.runs++
		found.Settled = p.runs >= paceRuns && found.Took >= paceWindow
	default:
		p.runs = 0
	}
	p.by = found.By
	return found
}

// Settle waits until the program runs as before its classes were changed, which has just happened.
// progress is called at each look.
func (p *Pace) Settle(ctx context.Context, limit time.Duration, isHooked func(classfile.MethodRef) bool,
	read func() (cost.Reading, error), progress func(Recovery)) (found Recovery) {
	p.Changed()
	last, err := read()
	for err == nil && process.Pause(ctx, SettleInterval) == nil {
		var now cost.Reading
		if now, err = read(); err != nil {
			break
		}
		found = p.Look(ctx, isHooked, last.Until(now))
		last = now
		if found.Settled || found.Took >= limit {
			break
		}
		progress(found)
	}
	return found
}

// compare compares the latest samples with those before.
func (p *Pace) compare(isHooked func(classfile.MethodRef) bool) Recovery {
	for _, by := range []string{ByHooked, ByProgram} {
		before, now := inScope(p.before, by, isHooked), window(inScope(p.after, by, isHooked), time.Since(p.changed)/pacePart)
		if len(before) >= enoughNow && len(now) >= enoughNow {
			was, is := slownessOf(before), slownessOf(now)
			return Recovery{By: by, Before: &was, Now: &is}
		}
	}
	return Recovery{By: ByCompilers}
}

// window returns the latest samples, of at least some time.
func window(samples []paceSample, least time.Duration) []paceSample {
	now := time.Now()
	least = max(least, paceWindow)
	from := len(samples)
	for from > 0 && now.Sub(samples[from-1].at) < paceWindowMost && (now.Sub(samples[from-1].at) < least || len(samples)-from < enoughNow) {
		from--
	}
	return samples[from:]
}

// inScope returns the samples that a comparison uses.
func inScope(samples []paceSample, by string, isHooked func(classfile.MethodRef) bool) (kept []paceSample) {
	if by != ByHooked {
		return samples
	}
	for _, s := range samples {
		if slices.ContainsFunc(s.stack.Frames, func(f jfr.Frame) bool { return f.IsJava() && isHooked(f.Method.Ref()) }) {
			kept = append(kept, s)
		}
	}
	return kept
}
