package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A profile is where the time of a program went, as one profiler saw it. It has the samples of the program's own
// threads with a Java method on their stack.
type profile struct {
	javaOnly   bool            // leave out all other frames
	root       string          // if not "", only stacks with a method that begins so count, and only from it inwards
	hooked     map[string]bool // with a root: the methods with hooks
	samples    int
	self       tally
	total      tally                      // of the stacks that reach the method in which a thread begins
	threads    map[jfr.ThreadKind]float64 // weight of all samples, by the kind of their thread
	interrupts int                        // samples that were left out because they interrupted the other profiler
}

func newProfile(javaOnly bool) *profile {
	return &profile{javaOnly: javaOnly, self: tally{methods: map[string]float64{}}, total: tally{methods: map[string]float64{}}, threads: map[jfr.ThreadKind]float64{}}
}

// A tally is the weight of methods.
type tally struct {
	methods map[string]float64
	whole   float64            // of all samples
	squares float64            // sum of the squares of the weights of samples
	uneven  map[string]float64 // likewise by method, if weights differ much
	stated  map[string]float64 // by method, how far its time may be off beyond the error of sampling
}

// A frame is a method, or a kind of other code.
type frame struct {
	name   string
	isJava bool
}

// The kinds of other code.
var (
	kernelFrame  = frame{name: "(kernel)"}
	vmFrame      = frame{name: "(JVM)"}
	libraryFrame = frame{name: "(native libraries)"}
)

// add adds a stack, innermost frame first.
func (p *profile) add(thread string, frames []frame, isComplete bool, one float64) {
	kind := (&jfr.Thread{Name: thread}).Kind()
	p.threads[kind] += one
	if p.root != "" {
		root := slices.IndexFunc(frames, func(f frame) bool { return strings.HasPrefix(f.name, p.root) })
		frames = p.shown(frames[:root+1])
	}
	inner := slices.IndexFunc(frames, func(f frame) bool { return f.isJava })
	if kind != jfr.ProgramThread || inner < 0 {
		return
	}
	if p.javaOnly {
		frames = frames[inner:]
	}
	p.samples++
	p.self.add(one, map[string]bool{frames[0].name: true})
	on, outermost := map[string]bool{}, ""
	for _, f := range frames {
		if f.isJava {
			on[f.name], outermost = true, f.name
		}
	}
	if p.root != "" || isComplete && (strings.HasSuffix(outermost, ".run()V") || strings.HasSuffix(outermost, ".main([Ljava/lang/String;)V")) {
		p.total.add(one, on)
	}
}

// shown returns the frames that a tree shows: methods without hooks only below the innermost one with a hook.
func (p *profile) shown(frames []frame) []frame {
	inner := slices.IndexFunc(frames, func(f frame) bool { return p.hooked[f.name] })
	if inner < 0 {
		return frames
	}
	return append(slices.Clone(frames[:inner]), slices.DeleteFunc(slices.Clone(frames[inner:]), func(f frame) bool { return !p.hooked[f.name] })...)
}

func (t *tally) add(one float64, methods map[string]bool) {
	t.whole += one
	t.squares += one * one
	for method := range methods {
		t.methods[method] += one
	}
}

// share returns the part of a method in the whole.
func (t *tally) share(method string) float64 {
	return t.methods[method] / t.whole
}

// count returns the number of samples of equal weight that say as much as these.
func (t *tally) count() float64 { return t.whole * t.whole / t.squares }

// incomplete returns the part of stacks whose outermost frames are missing.
func (p *profile) incomplete() float64 { return 1 - p.total.whole/p.self.whole }

// inJVM returns the part of all samples that are of threads of the JVM.
func (p *profile) inJVM() float64 {
	var all float64
	for _, w := range p.threads {
		all += w
	}
	return 1 - p.threads[jfr.ProgramThread]/all
}

// A row compares the shares of a method.
type row struct {
	method        string
	sonde, async  float64
	uncertainty   float64 // of the difference: one of twenty is larger by chance in 5 % of tables
	isWithinError bool
}

const (
	hottest = 20
	// simultaneous is how many standard deviations all of twenty differences stay within, in 95 % of tables.
	simultaneous = 3.02
)

// rounding is how far sums of the same shares may be apart.
const rounding = 1e-9

// compare compares the methods that are hottest in the mean of both.
func compare(sonde, async *tally) (rows []row) {
	methods := maps.Clone(sonde.methods)
	maps.Copy(methods, async.methods)
	for method := range methods {
		r := row{method: method, sonde: sonde.share(method), async: async.share(method)}
		pooled := (r.sonde*sonde.count() + r.async*async.count()) / (sonde.count() + async.count())
		pooled = min(max(pooled, 0), 1)
		r.uncertainty = simultaneous*math.Sqrt((1-pooled)*(max(pooled/sonde.count(), sonde.uneven[method]/(sonde.whole*sonde.whole))+pooled/async.count())) + sonde.stated[method]/sonde.whole
		r.isWithinError = math.Abs(r.sonde-r.async) <= r.uncertainty+rounding
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.sonde+b.async, a.sonde+a.async), cmp.Compare(a.method, b.method))
	})
	return rows[:min(hottest, len(rows))]
}

// hidden is the end of the name of a hidden class, which the profilers write differently.
var hidden = regexp.MustCompile(`[+./]0x[0-9a-f]+(/[0-9]+)?`)

func javaFrame(name string) frame { return frame{hidden.ReplaceAllString(name, ""), true} }

// signals are functions of the kernel in which async-profiler interrupts a thread, and lets it go on.
var signals = []string{"asm_sysvec_irq_work", "arch_do_signal_or_restart", "__do_sys_rt_sigreturn", "perf_ioctl", "perf_read"}

func isAsyncProfiler(f jfr.Frame) bool {
	return strings.Contains(f.Method.Class, "asyncProfiler") || f.Kind == jfr.Kernel && slices.Contains(signals, f.Method.Name)
}

// addSonde adds samples of Sonde, except those that interrupted async-profiler.
func (p *profile) addSonde(samples []jfr.Sample, period time.Duration) {
	for _, s := range samples {
		if slices.ContainsFunc(s.Stack.Frames, isAsyncProfiler) {
			p.interrupts++
			continue
		}
		var frames []frame
		for _, f := range s.Stack.Frames {
			switch f.Kind {
			case jfr.Stub:
			case jfr.Kernel:
				frames = append(frames, kernelFrame)
			case jfr.VM:
				frames = append(frames, vmFrame)
			case jfr.Library:
				frames = append(frames, libraryFrame)
			default:
				frames = append(frames, javaFrame(f.Method.Class+"."+f.Method.Name+f.Method.Descriptor))
			}
		}
		p.add(s.Thread.Name, frames, !s.Stack.Broken && !s.Stack.Truncated, cmp.Or(s.Period, period).Seconds())
	}
}

// asyncVersion is that of .ci/setup.
const asyncVersion = "4.6"

// An asyncProfiler is async-profiler in a JVM.
type asyncProfiler struct {
	conn    *attach.Conn
	library string
}

func openAsyncProfiler(ctx context.Context, pid int) (*asyncProfiler, error) {
	library, err := filepath.Abs(".tools/asyncprofiler/" + asyncVersion + "/libasyncProfiler.so")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(library); err != nil {
		return nil, fmt.Errorf("%w: .ci/setup asyncprofiler fetches it", err)
	}
	conn, err := attach.Open(ctx, pid)
	return &asyncProfiler{conn, library}, err
}

func (a *asyncProfiler) execute(ctx context.Context, command string) error {
	reply, err := a.conn.Execute(ctx, "load", a.library, "true", command)
	if err == nil && strings.TrimSpace(reply.Text) != "return code: 0" {
		err = fmt.Errorf("async-profiler answered %q by %q", command, reply.Text)
	}
	return err
}

func (a *asyncProfiler) start(ctx context.Context, event string, interval time.Duration) error {
	// Samples of idle threads are not summed up: each counts.
	return a.execute(ctx, fmt.Sprintf("start,event=%s,interval=%d,threads,nobatch%s", event, interval.Nanoseconds(), *further))
}

// stop adds what it has seen to a profile.
func (a *asyncProfiler) stop(ctx context.Context, p *profile) (err error) {
	file, err := os.CreateTemp("", "sonde-bench-*.collapsed")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	if err := a.execute(ctx, "stop,collapsed,threads,sig,ann,lib,file="+file.Name()); err != nil {
		return err
	}
	return p.addCollapsed(file)
}

// record starts to sample with the time of each sample. It ends by "stop,file=" and the name of the file.
func (a *asyncProfiler) record(ctx context.Context) (file string, err error) {
	f, err := os.CreateTemp("", "sonde-bench-*.jfr")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), a.execute(ctx, fmt.Sprintf("start,event=cpu,interval=%d,jfr,file=%s", asyncPeriod.Nanoseconds(), f.Name())))
}

// addRecording adds the samples of a recording of async-profiler that are of a certain time.
func (p *profile) addRecording(ctx context.Context, file string, from, to time.Time) error {
	_, err := jfr.ReadFile(ctx, file, false, func(samples []jfr.Sample) {
		for _, s := range samples {
			if s.At.Before(from) || s.At.After(to) {
				continue
			}
			var frames []frame
			for _, f := range s.Stack.Frames {
				if f.Kind.IsJava() {
					frames = append(frames, javaFrame(f.Method.Class+"."+f.Method.Name+f.Method.Descriptor))
				} else {
					frames = append(frames, libraryFrame)
				}
			}
			p.add(s.Thread.Name, frames, true, 1)
		}
	})
	return err
}

var errNotCollapsed = errors.New("not a stack of async-profiler")

// addCollapsed adds stacks that async-profiler has written with the options threads, sig, ann and lib:
//
//	[worker tid=7];A.run()V_[0];A.f(Ljava/lang/String|)V_[j];libjvm.so`JVM_Now 12
func (p *profile) addCollapsed(r io.Reader) error {
	lines := bufio.NewScanner(r)
	const longest = 1 << 22
	lines.Buffer(nil, longest)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		count, err := strconv.Atoi(lines.Text()[at+1:])
		words := strings.Split(lines.Text()[:max(at, 0)], ";")
		thread, isThread := strings.CutPrefix(words[0], "[")
		if err != nil || !isThread || len(words) < 2 {
			return fmt.Errorf("%w: %q", errNotCollapsed, lines.Text())
		}
		thread, _, _ = strings.Cut(thread, " tid=")
		var frames []frame
		isComplete := true
		for _, word := range slices.Backward(words[1:]) {
			f, isStub := asyncFrame(word)
			switch {
			case f.name != "":
				frames = append(frames, f)
			case !isStub:
				isComplete = false
			}
		}
		for range count {
			p.add(thread, frames, isComplete, 1)
		}
	}
	return lines.Err()
}

var annotated = regexp.MustCompile(`^(.+)_\[([01ijk])\]$`)

// asyncFrame returns a frame without a name for a stub of the JVM, and for a note that a stack could not be walked.
func asyncFrame(word string) (f frame, isStub bool) {
	library, _, isLibrary := strings.Cut(word, "`")
	switch found := annotated.FindStringSubmatch(word); {
	case found != nil && found[2] == "k":
		return kernelFrame, false
	case found != nil:
		return javaFrame(strings.ReplaceAll(found[1], "|", ";")), false
	case library == "libjvm.so":
		return vmFrame, false
	case isLibrary || word == "[unknown]":
		return libraryFrame, false
	}
	return frame{}, !strings.HasPrefix(word, "[")
}
